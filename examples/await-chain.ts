// Waiting for a fiber gives what its body returned, through as many fibers as you like.
// `yield* a` is short for `yield* a.await()`.

import { main, sleep, spin } from 'polyphony'

main(function* () {
  const a = spin(function* () {
    yield* sleep(10)
    return 'foo'
  })
  const b = spin(() => a.await())

  console.log(yield* b)
})
