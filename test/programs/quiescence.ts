// The first program of the scheduling article: suspend() in main returns when all other work is finished (decision 5).

import { main, sleep, spin, suspend } from 'polyphony'

main(function* () {
  spin(function* () {
    console.log('Going to sleep...')
    yield* sleep(50)
    console.log('Woke up')
  })
  console.log('suspend returned', yield* suspend())
  console.log("We're done")
})
