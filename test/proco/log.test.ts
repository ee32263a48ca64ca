// What a logger is told, in which words, and what happens if it fails or uses the executor.

import { Proco } from 'polyphony/proco'
import { assert, reports, sleep, test, thrownBy } from '../prelude.js'
import { type Any, type Futures, forHandlers, states, tally } from './handlers.js'

/** A logger and what it was told, without what a level that is not wanted was. */
function listening(levels = /./) {
  const lines: string[] = []
  const say = (level: string) => (message: string) => levels.test(level) && lines.push(`${level} ${message}`)
  const logger = { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') }
  return { logger, lines }
}
const silent = { debug() {}, info() {}, warn() {}, error() {} }

test('info: start, exit and end with counts; debug: each dispatch', function* () {
  const { logger, lines } = listening()
  const options = { threads: 2, queues: 2, batch: true, name: 'mill' } as const
  const proco: Any = new Proco({ logger, ...options }).start(() => sleep(1))
  for (const n of [1, 2, 3]) proco.trySubmit(n)
  proco.exit().then(() => {})
  yield* proco.exit()
  proco.start(() => sleep(1))
  proco.trySubmit(1)
  proco.kill()
  assert.deepEqual(lines, [
    'info mill: started: 2 threads, 2 queues of 1000, in batches',
    'info mill: exiting: 3 items to go',
    'debug mill: dispatched 2 items of queue 0',
    'debug mill: dispatched 1 item of queue 1',
    'info mill: exited: 3 accepted, 3 done, 0 failed, 0 cancelled',
    'info mill: started: 2 threads, 2 queues of 1000, in batches',
    'info mill: killed: 1 accepted, 0 done, 0 failed, 1 cancelled',
  ])
})

const setups: [options: object, words: string][] = [
  [{}, '1 thread, 1 queue of 1000'],
  [{ interval: 20, queueSize: 5, batchSize: 9 }, '1 thread, 1 queue of 5, every 20 ms'],
  [{ batch: true, batchSize: 9 }, '1 thread, 1 queue of 1000, in batches of at most 9'],
  [{ batch: true, results: 'each' }, '1 thread, 1 queue of 1000, in batches with a result for each item'],
]
for (const [options, words] of setups) {
  test(`the words at the start: ${words}`, function* () {
    const { logger, lines } = listening()
    new Proco({ ...options, logger }).start(() => {})
    assert.deepEqual(lines, [`info proco: started: ${words}`])
  })
}

const answers: [line: string | undefined, answer: () => unknown][] = [
  ['warn proco: the handler returned 1 result for 2 items', () => [1]],
  ['warn proco: the handler returned 3 results for 2 items', () => [1, 2, 3]],
  ['warn proco: the handler returned 0 results for 2 items', () => undefined],
  ['error proco: the handler failed with 2 items: "a string"', () => Promise.reject('a string')],
  [
    'error proco: the handler failed with 2 items: RangeError: too much',
    () => {
      throw new RangeError('too much')
    },
  ],
  [undefined, () => [new Error('each'), 1]],
]
for (const [line, answer] of answers) {
  test(`a handler that fails, or returns too few or too many results: ${line ?? 'nothing else'}`, function* () {
    const { logger, lines } = listening(/warn|error/)
    const proco: Any = Proco.logger(logger).batch(true).results('each').new()
    proco.start(answer as () => any)
    for (const n of [1, 2]) proco.trySubmit(n)
    yield* proco.exit()
    assert.deepEqual(lines, line === undefined ? [] : [line])
  })
}

test('an item that is cancelled or times out is no failure of the handler', function* () {
  const { logger, lines } = listening(/warn|error/)
  const proco: Any = new Proco({ logger }).start(() => sleep(100))
  const future = yield* proco.submitAsync(1)
  yield* sleep(1)
  future.cancel()
  yield* thrownBy(proco.submit(2, { timeout: 5 }))
  yield* proco.exit()
  assert.deepEqual(lines, [])
})

test('S70 a logger that throws is reported, and harms no item', function* () {
  const fail = () => {
    throw new Error('no space left')
  }
  const proco: Any = new Proco({ logger: { debug: fail, info: fail, warn: fail, error: fail } })
  const handler = (n: number) => (n < 0 ? Promise.reject(n) : n)
  proco.start(handler)
  assert.equal(yield* proco.submit(1), 1)
  assert.equal(yield* thrownBy(proco.submit(-1)), -1)
  yield* proco.exit()
  proco.start(handler)
  const future = proco.trySubmit(1)!
  proco.kill()
  assert.equal(future.state, 'cancelled')
  const said = reports().filter((each) => /: the logger of proco failed: .*no space left/.test(each))
  assert.equal(said.length, 8)
})

for (const act of ['cancel', 'kill'] as const) {
  forHandlers(`a logger that does ${act} at a dispatch: no handler is called for that item`, function* (as) {
    const handled: unknown[] = []
    const futures: Futures = []
    const debug = () => void (futures[0]!.done || (act === 'kill' ? proco.kill() : futures[0]!.cancel()))
    const proco: Any = Proco.logger({ ...silent, debug }).new()
    proco.start(as((n) => handled.push(n)))
    for (const n of [1, 2]) futures.push(proco.trySubmit(n)!)
    yield* sleep(1)
    assert.equal(states(futures), act === 'kill' ? 'cancelled cancelled' : 'cancelled done')
    assert.deepEqual(handled, act === 'kill' ? [] : [2])
    assert.equal(tally(proco), act === 'kill' ? '2 accepted, 2 cancelled' : '2 accepted, 1 done, 1 cancelled')
    yield* proco[Symbol.asyncDispose]()
  })
}

test('console is a logger; the methods are called on it', () => {
  const own = {
    lines: [] as string[],
    ...silent,
    info(message: string) {
      this.lines.push(message)
    },
  }
  assert.ok(Proco.logger(console).new())
  Proco.logger(own).new().start(() => {}).kill() // biome-ignore format: one line
  assert.equal(own.lines.length, 2)
})
