// Time in four words: after, every, moveOnAfter, cancelAfter.

import {
  after,
  Cancel,
  cancelAfter,
  every,
  Fiber,
  main,
  moveOnAfter,
  type Routine,
  sleep,
  spin,
} from 'polyphony'

/** Takes a while, and cleans up however it ends. */
function* performQuery(ms: number): Routine<string> {
  try {
    yield* sleep(ms)
    return `an answer after ${ms} ms`
  } finally {
    console.log(`the query of ${ms} ms is closed`)
  }
}

main(function* () {
  // Once, later, in a fiber of its own:
  const notice = after(10, () => console.log('the user was notified'))

  // Again and again, without drift. It waits in its fiber, so it gets one of its own:
  let ticks = 0
  const clock = spin(() =>
    every(20, () => {
      console.log(`tick ${++ticks}`)
      return ticks < 3
    }),
  )
  yield* Fiber.await(notice, clock)

  // At most so long, then go on with something else:
  console.log(yield* moveOnAfter(1000, () => performQuery(10), 'no answer'))
  console.log(yield* moveOnAfter(10, () => performQuery(1000), 'no answer'))

  // At most so long, or it is an error:
  try {
    yield* cancelAfter(10, () => performQuery(2000))
  } catch (error) {
    if (error instanceof Cancel) console.log(error.message)
  }
})
