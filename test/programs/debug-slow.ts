// With POLYPHONY_DEBUG=1 a fiber that holds the loop over 100 ms is named.

import { main, sleep, spin } from 'polyphony'

main(function* () {
  yield* spin('hog', function* () {
    yield* sleep(1)
    for (const end = performance.now() + 150; performance.now() < end; );
    yield* sleep(1)
  })
  console.log('done')
})
