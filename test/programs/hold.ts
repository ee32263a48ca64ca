// S64: sleep() holds the process, also after one that was stopped. If it did not, the loop would be empty before the timer below, which holds nothing.
// With "let-go" the sleeper is stopped, and the process ends by itself.

import { main, sleep, spin } from 'polyphony'

if (process.argv[2] === 'let-go') {
  main(function* () {
    const sleeper = spin(() => sleep())
    yield* sleep(1)
    yield* sleeper.stop()
    console.log('stopped')
  })
} else {
  setTimeout(() => {
    console.log('still here')
    process.exit(42)
  }, 300).unref()
  main(function* () {
    const other = spin(() => sleep())
    yield* sleep(1)
    yield* other.stop()
    yield* sleep()
  })
}
