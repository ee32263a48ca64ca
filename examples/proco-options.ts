// The options of an executor: by a chain, by an object, or both. Its logger shows what became of them.

import { main } from 'polyphony'
import { type Executor, type Logger, Proco } from 'polyphony/proco'

const say = (message: string) => console.log(message)
const logger: Logger = { debug: () => {}, info: say, warn: say, error: say }

function* tryOut(proco: Executor<any, any, any>) {
  proco.start(() => {})
  yield* proco.exit()
}

main(function* () {
  // What there is when nothing is said: one queue for 1,000 items, one thread, item by item.
  yield* tryOut(new Proco({ logger, name: 'plain' }))

  const chained = Proco.interval(100)
    .threads(8)
    .queues(4)
    .queueSize(100)
    .batch(true)
    .batchSize(10)
    .logger(logger)
    .new({ name: 'chained' })
  yield* tryOut(chained)

  const same = new Proco({
    interval: 100, // milliseconds
    threads: 8,
    queues: 4,
    queueSize: 100, // of each queue
    batch: true,
    batchSize: 10,
    logger,
    name: 'from an object',
  })
  yield* tryOut(same)

  // Each step of the chain is a template that can be kept. What new() is given goes before it.
  const pairs = Proco.threads(2).queues(2).logger(logger)
  yield* tryOut(pairs.new({ name: 'two by two' }))
  yield* tryOut(pairs.batch(true).new({ name: 'three in batches', threads: 3 }))

  for (const options of [{ threads: 0 }, { thread: 8 }]) {
    try {
      new Proco(options)
    } catch (error) {
      console.log((error as Error).message)
    }
  }
})
