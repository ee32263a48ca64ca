// Ctrl-C is a stop of main with the reason 'SIGINT': a catch sees it, a finally may wait, and children go after their parents.
// Press it twice if you are in a hurry.

import { Fiber, isStop, main, type Routine, sleep, spin } from 'polyphony'

/** Waits for ever; when it is stopped, it takes a moment to put things away. */
function* room(name: string, inside?: () => unknown): Routine<void> {
  try {
    inside?.()
    yield* sleep()
  } finally {
    yield* sleep(20)
    console.log(`${name}: lights out (${Fiber.current.stopReason})`)
  }
}

main(function* () {
  spin('kitchen', room, 'kitchen', () => {
    spin('pantry', room, 'pantry')
  })
  try {
    yield* sleep(1)
    console.log('going to sleep... (Ctrl-C wakes me up)')
    yield* sleep()
  } catch (thrown) {
    if (!isStop(thrown)) throw thrown
    console.log(`got ${Fiber.current.stopReason}, waking up`)
    throw thrown
  }
})
