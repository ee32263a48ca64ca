// Fiber.await waits for several fibers and gives their results in the order of the arguments, whoever is first.

import { Fiber, main, sleep, spin } from 'polyphony'

main(function* () {
  const fibers = [0, 1, 2].map((n) =>
    spin(function* () {
      yield* sleep(30 - 10 * n) // the last is the first to be ready
      return n * 10
    }),
  )

  console.log(yield* Fiber.await(...fibers))
})
