// The first ten Fibonacci numbers, twice. A fiber that is resumed and yields is what JavaScript calls a generator;
// it can only give to whoever called it. Fibers that transfer are equals: this one names the fiber it gives to.

import { Fiber, main, transfer } from 'polyphony'

function* fibonacci() {
  for (let [x, y] = [0, 1]; ; [x, y] = [y, x + y]) yield y
}

main(function* () {
  const numbers = fibonacci()
  for (let i = 0; i < 10; i++) console.log(numbers.next().value)

  const caller = Fiber.current
  const fiber = new Fiber(function* () {
    for (let [x, y] = [0, 1]; ; [x, y] = [y, x + y]) yield* transfer(caller, y)
  })
  for (let i = 0; i < 10; i++) console.log(yield* transfer<number>(fiber))
})
