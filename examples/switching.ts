// Switching by hand. A raw fiber (`new Fiber`) belongs to nobody and runs only when somebody transfers to it.
// When it ends, control goes back the way it came.

import { Fiber, main, transfer } from 'polyphony'

main(function* () {
  const f1: Fiber = new Fiber(function* () {
    console.log('Hi from f1')
    yield* transfer(f2)
    console.log('Hi again from f1')
  })
  const f2: Fiber = new Fiber(function* () {
    console.log('Hi from f2')
    yield* transfer(f1)
  })

  console.log('Hi from main fiber')
  yield* transfer(f1)
  console.log('Bye from main fiber')
})
