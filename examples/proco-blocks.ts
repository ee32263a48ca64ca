// An item can be anything, also a piece of code: then Proco runs whatever it is given, up to eight at a time.

import { main, sleep } from 'polyphony'
import { Proco } from 'polyphony/proco'

main(function* () {
  const proco = Proco.threads(8)
    .new()
    .start((block: () => unknown) => block())

  const futures = [
    yield* proco.submitAsync(() => 6 * 7),
    yield* proco.submitAsync(function* () {
      yield* sleep(10)
      return 'a fiber body'
    }),
    yield* proco.submitAsync(async () => {
      await new Promise((resolve) => setTimeout(resolve, 1))
      return 'an async function'
    }),
    yield* proco.submitAsync(() => JSON.parse('{ oops')),
    yield* proco.submitAsync(() => 'the one after the failure'),
  ]
  for (const future of futures) {
    try {
      console.log(yield* future.get())
    } catch (error) {
      console.log(`failed: ${(error as Error).name}`) // its own item, and nothing else
    }
  }

  yield* proco.exit()
  const { accepted, done, failed } = proco.stats()
  console.log(`${accepted} blocks: ${done} done, ${failed} failed`)
})
