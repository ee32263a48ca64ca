// Control carries a value. The first transfer to a raw fiber gives its body an argument; every later one is what the
// `transfer` that it waits in returns.

import { Fiber, main, transfer } from 'polyphony'

main(function* () {
  const umpire = Fiber.current
  const ping: Fiber = new Fiber(function* (peer: Fiber) {
    for (let round = 0; round < 3; round++) console.log(yield* transfer<string>(peer, 'ping'))
    yield* transfer(umpire)
  })
  const pong: Fiber = new Fiber(function* (message: string) {
    for (;;) {
      console.log(message)
      message = yield* transfer<string>(ping, 'pong')
    }
  })

  yield* transfer(ping, pong)
})
