// Two endless loops that hand control to each other. The third ping hands it to main instead, which ends the game:
// a raw fiber that nobody transfers to any more is simply forgotten.

import { Fiber, main, transfer } from 'polyphony'

main(function* () {
  const umpire = Fiber.current
  const ping: Fiber = new Fiber(function* () {
    for (let round = 1; ; round++) {
      console.log('ping')
      yield* transfer(round < 3 ? pong : umpire)
    }
  })
  const pong: Fiber = new Fiber(function* () {
    for (;;) {
      console.log('pong')
      yield* transfer(ping)
    }
  })

  yield* transfer(ping)
  console.log('game over')
})
