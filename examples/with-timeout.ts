// A time limit made by hand: a second fiber sleeps, then raises an error in the first, at the line where it waits.
// (`cancelAfter` is the real one: it costs no fiber, and cannot strike after the work is done.)

import { Fiber, main, type Op, type Routine, sleep, spin } from 'polyphony'

function* withTimeout<T>(ms: number, body: () => Op<T>): Routine<T> {
  const worker = Fiber.current
  const timer = spin(function* () {
    yield* sleep(ms)
    worker.raise('timeout')
  })
  try {
    return yield* body()
  } finally {
    timer.terminate()
  }
}

function* download(ms: number) {
  yield* sleep(ms) // stands for the network
  return `downloaded in ${ms} ms`
}

main(function* () {
  console.log(yield* withTimeout(60_000, () => download(10)))
  try {
    console.log(yield* withTimeout(10, () => download(60_000)))
  } catch (error) {
    console.log(`too late: ${error}`)
  }
})
