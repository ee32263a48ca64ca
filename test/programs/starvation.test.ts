// Timers and sockets beside fibers that never wait (S49). Real ones, so each in a process of its own.

import { describe } from '../prelude.js'
import { ends, lines, runFile } from './run.js'

const KINDS = [
  'snooze',
  'schedule',
  'messages',
  'ready',
  'promise',
  'block',
  'empty-block',
  'loop',
  'spin',
  'children',
  'timers',
  'slow',
]

describe('timers and sockets are served beside fibers that never wait', { concurrency: 2 }, () => {
  for (const kind of KINDS) {
    ends(kind, () => runFile('starvation', { args: [kind] }), {
      stdout: lines(
        'steps: at most 1,024 between two turns of the event loop',
        'socket: all round trips',
        'timer: all fired',
        'timer: in time',
      ),
    })
  }
  ends(
    'many timers that are due at one instant',
    `
    import { Fiber, run, sleep, snooze, spin } from 'polyphony'
    let turns = 0
    let isOver = false
    const count = () => { turns++; if (!isOver) setImmediate(count) }
    await run(function* () {
      for (let i = 0; i < 50_000; i++) spin(() => sleep(1000))
      yield* snooze() // all have begun
      const begin = performance.now()
      while (performance.now() - begin < 1050); // now all of them are due
      setImmediate(count)
      yield* Fiber.current.joinChildren()
    })
    isOver = true
    console.log(turns >= 20 ? 'served' : turns) // 50 batches, at most two between two looks of setImmediate`,
    { stdout: 'served\n' },
  )
})
