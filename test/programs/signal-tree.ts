// A tree that never rests: fibers begin, wait, work, fail, are stopped and restarted, and each that has begun says so when it is
// over. It ends by a signal only. Every line is written at once, so what it has said can be read even if it is cut off.

import { writeSync } from 'node:fs'
import {
  every,
  main,
  moveOnAfter,
  type Op,
  type Routine,
  scope,
  shield,
  sleep,
  snooze,
  spin,
} from 'polyphony'

let count = 0
const say = (text: string) => writeSync(1, `${text}\n`)

/** A line at the begin and one at the end, which may wait a little. */
function* witnessed(kind: string, body: () => Op<unknown>): Routine<void> {
  const name = `${kind}${++count}`
  say(`+ ${name}`)
  try {
    yield* body()
  } finally {
    try {
      if (count % 3 === 0) yield* sleep(2)
      else yield* snooze()
    } finally {
      say(`- ${name}`)
    }
  }
}

function* nest(depth: number): Routine<void> {
  yield* witnessed('nest', function* () {
    if (depth > 0) {
      spin(nest, depth - 1)
      yield* scope(function* () {
        spin(nest, depth - 1)
        yield* moveOnAfter(7, () => witnessed('block', () => sleep()))
      })
    }
    yield* sleep(depth + 1)
  })
}

main(function* () {
  yield* witnessed('main', function* () {
    say('ready')
    spin(function* () {
      for (;;) yield* snooze()
    })
    const again = spin(() => witnessed('again', () => sleep()))
    spin(() => every(3, () => witnessed('shielded', () => shield(() => sleep(1)))))
    for (;;) {
      const child = spin(nest, 2)
      yield* sleep(6)
      child.stop()
      again.restart()
      const failing = spin({ link: false }, function* () {
        yield* witnessed('failing', () => sleep(1))
        throw new Error('expected')
      })
      yield* failing.join()
    }
  })
})
process.on('exit', (code) => say(`exit ${code}`))
