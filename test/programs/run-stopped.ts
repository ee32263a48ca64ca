// A run that is stopped: without a value its promise rejects, but nobody has to catch that.

import { run, sleep } from 'polyphony'

process.on('unhandledRejection', () => console.log('UNHANDLED'))

function* cleansUp() {
  try {
    yield* sleep()
  } finally {
    yield* sleep(10)
    console.log('cleaned up')
  }
}

/** Lets the runs begin: one that is stopped before that never runs a line (S05). */
const begun = () => new Promise((resolve) => setImmediate(resolve))

const early = run(cleansUp)
console.log(await early.stop())

const forgotten = run(cleansUp)
await begun()
console.log(await forgotten.stop())

const watched = run(cleansUp, { name: 'watched' })
await begun()
watched.stop()
await watched.catch((error) => console.log(error.code, error.message))

const valued = run(cleansUp)
await begun()
valued.stop('given')
console.log('resolves to', await valued)

const controller = new AbortController()
const aborted = run(cleansUp, { signal: controller.signal })
setTimeout(() => controller.abort('no longer wanted'), 5)
await aborted.catch((error) => console.log(error.code))
console.log('reason', aborted.fiber.stopReason)

const disposed = run(cleansUp)
await begun()
await disposed[Symbol.asyncDispose]()
console.log('disposed', disposed.fiber.state)

const finished = run(() => 'result')
console.log(await finished, await finished.stop())
