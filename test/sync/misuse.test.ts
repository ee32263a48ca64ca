// Wrong input, ops that are not waited for with yield*, and a yield* that was forgotten.

import {
  assert,
  BadYield,
  type Call,
  Condition,
  call,
  describe,
  Event,
  every,
  Fiber,
  Mutex,
  type Op,
  Queue,
  ResourcePool,
  type Routine,
  receive,
  receiveLoop,
  Semaphore,
  sleep,
  spin,
  Throttler,
  tap,
  test,
} from '../prelude.js'
import { forgotten } from '../shared/debug.js'
import { anOp } from '../shared/op.js'
import { NO_BODIES, needFiber, refuses } from '../shared/refuses.js'

const create = () => 'it'
const newPool = (options = {}): ResourcePool<string> => new ResourcePool({ limit: 1, create, ...options })
const WRONG_LIMITS = [0, -1, 1.5, Number.NaN, '2', null, -Infinity]
const WRONG_TIMES = [-1, '1s', Number.NaN, null]

describe('refused at the call', () => {
  refuses([
    ['synchronize()', (body) => new Mutex().synchronize(body), NO_BODIES, /synchronize\(\)|function/],
    ['semaphore.acquire()', (body) => new Semaphore(1).acquire(body), NO_BODIES, /acquire\(\)|function/],
    ['pool.acquire()', (body) => newPool().acquire(body), NO_BODIES, /acquire\(\)|function/],
    ['receiveLoop()', (body) => receiveLoop(body), NO_BODIES, /receiveLoop\(\)|function/],
    ['Mutex', (options) => new Mutex(options), [{ nome: 'x' }], /no option "nome"; there are: name/],
    ['Mutex', (options) => new Mutex(options), [{ name: 42 }, { name: '' }, 'name'], /new Mutex\(\)/],
    ['Semaphore', (limit) => new Semaphore(limit), WRONG_LIMITS, /the limit of a semaphore needs a whole/],
    ['Semaphore', (options) => new Semaphore(1, options), [{ nome: 'x' }, { name: '' }], /new Semaphore/],
    [
      'semaphore.limit',
      (limit) => Object.assign(new Semaphore(1), { limit }),
      [...WRONG_LIMITS, undefined],
      /the limit of semaphore needs a whole number above 0, or Infinity, got/,
    ],
    ['Condition', (mutex) => new Condition(mutex), [null, {}, 'mutex'], /needs a Mutex, or nothing/],
    ['Event', (options) => new Event(options), [{ latched: true }], /no option "latched"; .* latch/],
    [
      'Event',
      (options) => new Event(options),
      [{ latch: 1 }],
      /the latch of new Event\(\) needs true or false/,
    ],
    ['Queue', (options) => new Queue(options), [{ limit: 1 }], /there are: capacity, name/],
    ['Queue', (options) => new Queue(options), [5, { name: '' }], /new Queue\(\)/],
    [
      'Queue',
      (capacity) => new Queue({ capacity }),
      WRONG_LIMITS,
      /the capacity of new Queue\(\) needs a whole/,
    ],
    [
      'queue.capacity',
      (capacity) => Object.assign(new Queue(), { capacity }),
      [...WRONG_LIMITS, undefined],
      /the capacity of a queue needs a whole number above 0, or Infinity, got/,
    ],
    [
      'ResourcePool',
      (limit) => newPool({ limit }),
      WRONG_LIMITS,
      /the limit of new ResourcePool\(\) needs a whole number above 0, or Infinity, got/,
    ],
    ['ResourcePool', newPool, [{ max: 3 }], /no option "max"; there are: limit, create, destroy/],
    ['ResourcePool', newPool, [{ name: '' }], /name/],
    ['create', (create) => newPool({ create }), [undefined, 'x', async function* () {}], /the create of new/],
    ['create', (create) => new ResourcePool({ limit: 1 }, create), [undefined, 5], /the create of new/],
    [
      'ResourcePool',
      (second) => new ResourcePool({ limit: 1, create } as any, second),
      [() => 'two'],
      /two functions that create/,
    ],
    ['destroy', (destroy) => newPool({ destroy }), [1, null], /the destroy of new/],
    ['validate', (validate) => newPool({ validate }), [true, null], /the validate of new/],
    ['idleTimeout', (idleTimeout) => newPool({ idleTimeout }), WRONG_TIMES, /the idleTimeout of/],
    ['maxAge', (maxAge) => newPool({ maxAge }), WRONG_TIMES, /the maxAge of/],
    ['acquireTimeout', (acquireTimeout) => newPool({ acquireTimeout }), WRONG_TIMES, /the acquireTimeout of/],
    ['call()', (fiber) => call(fiber, 1), ['fiber', null], /call\(\) needs a fiber to ask, got/],
  ])

  test('call() refuses wrong options', function* () {
    assert.throws(() => call(Fiber.current, 1, { timeOut: 3 } as any), { code: 'BAD_ARGUMENT' })
    assert.throws(() => call(Fiber.current, 1, { timeout: -3 }), /the timeout of call\(\)/)
  })
})

describe('outside any fiber', () => {
  const mutex = new Mutex()
  const semaphore = new Semaphore(1)
  const pool = newPool({ name: 'db' })
  needFiber([
    [() => [...mutex.lock()], /^mutex\.lock\(\) was used outside/],
    [() => mutex.tryLock(), /^mutex\.tryLock\(\) was used outside/],
    [() => [...mutex.synchronize(() => 1)], /^mutex\.synchronize\(\) was used outside/],
    [() => [...semaphore.acquire(() => 1)], /^semaphore\.acquire\(\) was used outside/],
    [() => [...pool.acquire(() => 1)], /^acquire\(\) of the pool db was used outside/],
    [() => [...pool.close()], /^close\(\) of the pool db was used outside/],
    [() => [...pool.fill()], /^fill\(\) of the pool db was used outside/],
  ])

  test('nothing is taken, and what is not out cannot be given back', () => {
    assert.deepEqual([mutex.isLocked, mutex.isHeld, semaphore.inUse, pool.isClosed], [false, false, 0, false])
    assert.throws(() => mutex.unlock(), /code outside any fiber cannot unlock mutex/)
    assert.throws(() => semaphore.release(), /code outside any fiber cannot release semaphore/)
  })
})

describe('iterated by hand', () => {
  const [mutex, semaphore, pool] = [new Mutex(), new Semaphore(1), newPool()]
  const [queue, event] = [new Queue<string>(), new Event()]
  const isPoolFree = () => pool.stats().inUse + pool.stats().creating === 0
  const rows: [string, () => Op<unknown>, giveBack: () => unknown, isThere: () => boolean][] = [
    ['mutex.lock()', () => mutex.lock(), () => mutex.unlock(), () => !mutex.isLocked],
    [
      'semaphore.acquire()',
      () => semaphore.acquire(),
      () => semaphore.release(),
      () => semaphore.inUse === 0,
    ],
    ['pool.acquire()', () => pool.acquire(() => {}), () => {}, isPoolFree],
    ['queue.shift()', () => queue.shift(), () => queue.tryPush('item'), () => queue.size === 1],
    ['event.await()', () => event.await(), () => event.signal(), () => event.isSignaled],
  ]
  queue.tryPush('item')
  event.signal()
  for (const [name, op, giveBack, isThere] of rows) {
    test(`${name} takes what is there, or is refused and takes nothing`, function* () {
      let [refused, late] = [0, 0]
      const untap = tap((event) => event === 'late' && late++)
      for (let n = 0; n < 200; n++) {
        try {
          const [_] = op() as any
          giveBack()
        } catch (error) {
          assert.ok(error instanceof BadYield)
          refused++ // S50: the budget was spent when it had its answer
        }
        assert.ok(isThere(), 'it was lost')
      }
      untap()
      assert.ok(refused > 0 && refused < 200)
      assert.equal(late, name === 'pool.acquire()' ? 0 : refused) // its resource is not for others to see
    })
  }
})

describe('one op', () => {
  const condition = new Condition()
  const answering = function* (): Routine<void> {
    yield* receiveLoop(function* (question: Call) {
      yield* sleep(9)
      question.reply(1)
    })
  }
  anOp('semaphore.acquire()', () => new Semaphore(2).acquire(() => sleep(10)))
  anOp('call()', () => call(spin(answering), 'question'))
  anOp('condition.wait()', () => {
    spin(() => every(16, () => condition.signal()))
    return condition.wait()
  })
})

describe('a forgotten yield*, in debug mode', () => {
  const waits: [string, () => Op<unknown>][] = [
    ['mutex.lock()', () => new Mutex().lock()],
    ['mutex.synchronize()', () => new Mutex().synchronize(() => 1)],
    ['semaphore.acquire()', () => new Semaphore(1).acquire()],
    ['semaphore.acquire()', () => new Semaphore(1).acquire(() => 1)],
    ['queue.push()', () => new Queue().push(1)],
    ['queue.shift()', () => new Queue().shift()],
    ['the next item of queue', () => new Queue().iterate().next()],
    ['condition.wait()', () => new Condition().wait()],
    ['event.await()', () => new Event().await()],
    ['receive()', () => receive()],
    ['acquire() of a pool', () => newPool().acquire(() => 1)],
    ['fill() of a pool', () => newPool().fill()],
    ['close() of a pool', () => newPool().close()],
    ['a throttler, once in 10 ms', () => new Throttler(100).wait()],
    ['process()', () => new Throttler(100).process(() => 1)],
  ]
  test('is found, also where one op serves all waits', async () => {
    for (const [what, make] of waits) assert.deepEqual(await forgotten(() => void make()), [what])
  })

  test('is not seen in what is waited for, nor in the making of a lock', async () => {
    const found = await forgotten(function* () {
      const [mutex, semaphore, queue, event] = [new Mutex(), new Semaphore(1), new Queue(), new Event()]
      const condition = new Condition(mutex)
      spin(function* () {
        yield* sleep(1)
        yield* mutex.synchronize(() => condition.signal())
        event.signal()
      })
      yield* mutex.synchronize(() => condition.wait())
      yield* semaphore.acquire(() => semaphore.available)
      yield* semaphore.acquire()
      yield* queue.push(1)
      yield* queue.shift()
      yield* event.await()
      const pool = newPool({ destroy: () => {} })
      yield* pool.fill()
      yield* pool.acquire(() => pool.acquire((n) => n))
      yield* pool.close()
      const throttler = new Throttler(100)
      yield* throttler.wait()
      yield* throttler.process(() => 1)
    })
    assert.deepEqual(found, [])
  })
})
