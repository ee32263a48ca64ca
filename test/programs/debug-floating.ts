// With POLYPHONY_DEBUG=1 an op that was made and never yield*ed is reported, with the place where it was made.

import { main, sleep, spin } from 'polyphony'

main(function* () {
  yield* spin('careless', function* () {
    forgetTheStar()
    yield* sleep(1)
  })
  console.log('done')
})

function forgetTheStar(): void {
  sleep(1234)
}
