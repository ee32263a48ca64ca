// supervise waits for all children, then passes on the error of the one that failed.

import { main, sleep, spin, supervise } from 'polyphony'

main(function* () {
  spin('fiber1', function* () {
    yield* sleep(50)
    throw new Error('foo')
  })
  spin('fiber2', () => sleep(50))

  try {
    yield* supervise() // waits, then throws the error of fiber1
  } catch (error) {
    console.log(`supervise threw: ${(error as Error).message}`)
  }
})
