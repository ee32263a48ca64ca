// A fiber whose state is steered by the values it is resumed with. It is a small object with two methods, written
// as a loop.

import { Fiber, main, transfer } from 'polyphony'

type Message = 'increment' | 'reset'

main(function* () {
  const caller = Fiber.current
  const counter = new Fiber(function* (message: Message) {
    for (let count = 0; ; ) {
      count = message === 'reset' ? 0 : count + 1
      console.log(`count = ${count}`)
      message = yield* transfer<Message>(caller)
    }
  })

  for (let i = 0; i < 3; i++) yield* transfer(counter, 'increment')
  yield* transfer(counter, 'reset')
  for (let i = 0; i < 3; i++) yield* transfer(counter, 'increment')
})
