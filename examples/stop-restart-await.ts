// A fiber under control: stopped in the middle of its sleep, started again by the same handle, awaited to its end.
// Its `finally` runs both times.

import { main, sleep, spin } from 'polyphony'

main(function* () {
  const fiber = spin(function* () {
    try {
      console.log('going to sleep')
      yield* sleep(200)
      console.log('done sleeping')
    } finally {
      console.log('stopped')
    }
  })

  yield* sleep(20)
  yield* fiber.stop()
  fiber.restart()
  yield* fiber.await()
})
