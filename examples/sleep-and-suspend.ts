// What runs when. `spin` only makes the fiber runnable; `suspend` lets it run, and returns when nothing else is left
// to happen. So "We're done" comes last.

import { main, sleep, spin, suspend } from 'polyphony'

main(function* () {
  spin(function* () {
    console.log('Going to sleep...')
    yield* sleep(50)
    console.log('Woke up')
  })

  yield* suspend()
  console.log("We're done")
})
