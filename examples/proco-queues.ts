// One queue and one thread: strictly in order. Several of each: at the same time, and in order where a key asks for it.

import { main, type Routine, sleep } from 'polyphony'
import { type Executor, Proco } from 'polyphony/proco'

let [working, most] = [0, 0]
const handled: string[] = []

function* handle(item: string): Routine<void> {
  most = Math.max(most, ++working)
  yield* sleep(1) // stands for the work
  handled.push(item)
  working--
}

/** Hands in the items, waits until they are handled. */
function* run(items: string[], proco: Executor<string, void>, keyOf?: (item: string) => unknown) {
  handled.length = most = 0
  proco.start(handle)
  for (const item of items) yield* proco.submitAsync(item, { key: keyOf?.(item) })
  yield* proco.exit()
}

main(function* () {
  const items = ['a1', 'b1', 'c1', 'a2', 'b2', 'c2', 'a3', 'b3', 'c3']
  const of = (key: string) => handled.filter((item) => item.startsWith(key)).join(' ')

  yield* run(items, Proco.new())
  console.log(`one queue, one thread: ${most} at a time`)
  console.log(`  ${handled.join(' ')}`)

  // Items go to the queues in turn; whichever thread is free takes the next from whichever queue has one.
  yield* run(items, Proco.threads(5).queues(4).new())
  console.log(`four queues, five threads: no more than five at a time: ${most <= 5}`)
  console.log(`  all ${handled.length} were handled, in an order of their own`)

  // Items with the same key go through the same queue, and one after the other.
  yield* run(items, Proco.threads(5).queues(4).new(), (item) => item[0])
  console.log(`the same with keys: no more than three at a time: ${most <= 3}`)
  for (const key of ['a', 'b', 'c']) console.log(`  ${of(key)}`)
})
