// Proco in a minute: anybody hands in numbers, and every tenth of a second those that have come together are added up.

import { main, sleep } from 'polyphony'
import { Proco } from 'polyphony/proco'

main(function* () {
  const proco = Proco.interval(100) // a look into the queue every 100 ms
    .threads(4) // at most four handlers at a time
    .batch(true) // each gets all that is there
    .new<number, number>()

  proco.start(function* (numbers) {
    yield* sleep(1) // stands for the work
    return numbers.reduce((sum, number) => sum + number)
  })

  // Hand in and wait: there was nobody else.
  console.log(`on its own: ${yield* proco.submit(7)}`)

  // Hand in and go on. This waits only while the queue is full.
  const future = yield* proco.submitAsync(10)
  const another = yield* proco.submitAsync(20)
  console.log(`handed in: ${future.state}`)

  // Wait for the batch with the item. Both were in the same one, so they have the same result.
  console.log(`together: ${yield* future.get()}, ${yield* another.get()}`)

  const last = yield* proco.submitAsync(5)
  yield* proco.exit() // handles what is left, then ends
  console.log(`after exit: ${yield* last.get()}, ${proco.state}`)
})
