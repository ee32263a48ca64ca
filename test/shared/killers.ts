// The ways in which the shared suites kill one of three fibers.

import type { Fiber } from 'polyphony'

export const killers: readonly [name: string, kill: (fibers: Fiber<any>[]) => unknown][] = [
  ['a stop', (fibers) => fibers[1]?.stop()],
  ['a kill', (fibers) => fibers[1]?.kill()],
  ['a raise', (fibers) => fibers[1]?.raise('killed')],
  [
    'a stop of two and a kill',
    (fibers) => {
      fibers[0]?.stop()
      fibers[1]?.stop()
      fibers[1]?.kill()
    },
  ],
]
