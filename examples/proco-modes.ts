// Item by item, or in batches; waiting for the result, or taking a future for it.

import { all, main } from 'polyphony'
import { Proco } from 'polyphony/proco'

main(function* () {
  // The handler gets one item.
  const regular = Proco.new().start((word: string) => word.toUpperCase())
  console.log(yield* regular.submit('one'))
  const future = yield* regular.submitAsync('two')
  console.log(future.state, future.done)
  console.log(yield* future.get(), future.state, future.done)
  yield* regular.exit()

  // The handler gets an array, and what it returns is the result of each of its items. Without an interval it never waits
  // for more to come: it takes what is there when it is free.
  const batches = Proco.batch(true)
    .new()
    .start((words: string[]) => words.join(' '))
  console.log(yield* all(['red', 'green', 'blue'].map((word) => batches.submit(word))))
  yield* batches.exit()

  // No more than two at once.
  const pairs = Proco.batch(true)
    .batchSize(2)
    .new()
    .start((words: string[]) => words.join(' '))
  console.log(yield* all(['red', 'green', 'blue'].map((word) => pairs.submit(word))))
  yield* pairs.exit()

  // The handler returns an array, too: a result of its own for each item.
  const each = Proco.batch(true)
    .results('each')
    .new()
    .start((words: string[]) => words.map((word) => `${word}, one of ${words.length}`))
  console.log(yield* all(['red', 'green', 'blue'].map((word) => each.submit(word))))
  yield* each.exit()
})
