// S29: an isolated fiber fails and nobody awaits it. It is reported at once, and main goes on.

import { main, sleep, spin } from 'polyphony'

main(function* () {
  spin({ name: 'lonely', link: false }, function* () {
    throw new Error('nobody listens')
  })
  yield* sleep(1)
  console.log('main goes on')
})
