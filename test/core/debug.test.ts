// Debug mode: stacks that go on through the places of spins, and ops that were made and never waited for.

import { EventEmitter } from 'node:events'
import { BaseOp, settle } from 'polyphony/op'
import { libraryPlaces, setDebug, userStack } from '#core/debug'
import { numbers } from '../interop/outside.js'
import {
  assert,
  createLocal,
  describe,
  each,
  Fiber,
  iterate,
  moveOnAfter,
  type Op,
  on,
  Queue,
  receive,
  reports,
  scope,
  sleep,
  snooze,
  spin,
  suspend,
  test,
  until,
  use,
  virtual,
} from '../prelude.js'

/** Runs a body in debug mode and gives what it returns. */
function inDebugMode<T>(body: () => Op<T>): Promise<T> {
  setDebug(true)
  return (virtual(body) as Promise<T>).finally(() => setDebug(false))
}

function* startInner() {
  spin('inner', function* () {
    throw new Error('broken\nnode:fs') // a message of two lines
  })
  yield* sleep(10)
}
/** The stack of an error that a child of a child throws. */
function* longStack() {
  const outer = spin('outer', startInner)
  const outcome = yield* outer.join()
  return outcome.type === 'error' ? String((outcome.error as Error).stack) : outcome.type
}

describe('the stack of an error', () => {
  test('goes on through the place of each spin, once, without frames of the library', async () => {
    const stack = await inDebugMode(longStack)
    assert.match(
      stack,
      /^Error: broken\nnode:fs\n[\s\S]*-- inner was spun\n.*startInner[\s\S]*-- outer was spun\n.*longStack/,
    )
    assert.deepEqual(stack.match(/\w+ was spun/g), ['inner was spun', 'outer was spun', 'main was spun'])
    assert.doesNotMatch(stack, /dist\/core|node:internal/)
    assert.doesNotMatch(await virtual(longStack), /was spun/, 'without debug mode it is as Node made it')
  })

  test('stays as it is if it cannot be changed, and the error leaves its fiber as any other', () =>
    inDebugMode(function* () {
      const own = Object.assign(new Error('own'), { stack: 5 })
      const noError = { stack: 'at node:fs' }
      for (const error of [Object.freeze(new Error('ice')), own, noError]) {
        const outcome = yield* spin({ link: false }, () => {
          throw error
        }).join()
        assert.deepEqual(outcome, { type: 'error', error })
      }
      assert.deepEqual([own.stack, noError.stack], [5, 'at node:fs'])
    }))
})

/** What a body made and did not wait for, by the reports of debug mode. */
const forgotten = (body: () => unknown) =>
  inDebugMode(function* () {
    yield* spin('careless', body as () => Op<void>)
    return reports().filter((report) => report.startsWith('floating'))
  })

describe('an op that is made and never waited for', () => {
  test('is reported with its fiber and the place where it was made', async () => {
    Error.stackTraceLimit = 10
    const deep = (n: number): void => void (n > 0 ? deep(n - 1) : sleep(1234))
    const [report, ...others] = await forgotten(function forgetTheStar() {
      deep(12)
    })
    assert.equal(Error.stackTraceLimit, 10)
    assert.match(
      report ?? '',
      /^floating: sleep\(1234\) was made in main > careless and never waited for[\s\S]*forgetTheStar/,
    )
    assert.deepEqual(others, [])
  })

  const emitter = new EventEmitter()
  const ops: Record<string, () => Op<unknown>> = {
    'on(x).next()': () => on(emitter, 'x').next(),
    'the next item': () => iterate(numbers()).next(),
    'each()': () => each([], () => {}),
    'a promise': () => until(Promise.resolve()),
    'use()': () => use(null),
    'with()': () => createLocal(1).with(2, () => {}),
    'scope()': () => scope(() => {}),
    'moveOnAfter(5)': () => moveOnAfter(5, () => {}),
  }
  test('is reported, of whatever kind it is', async () => {
    const found = await forgotten(() => Object.values(ops).forEach((make) => void make()))
    assert.deepEqual(
      found.map((report) => report.split(' was made')[0]),
      Object.keys(ops).map((what) => `floating: ${what}`),
    )
  })

  test('is reported once, also at a source whose op serves every wait', async () => {
    const found = await forgotten(function* () {
      const events = on(emitter, 'x')
      emitter.emit('x')
      for (const source of [events, iterate([1]), iterate(numbers())]) {
        yield* source.next()
        if (Fiber.current.incarnation === 1) source.next()
      }
      if (Fiber.current.incarnation === 1) Fiber.current.restart()
    })
    assert.equal(found.length, 3)
  })

  test('is not one that was waited for, in another fiber or up to a stop, nor one made outside any fiber', async () => {
    setDebug(true)
    const outside = sleep(1)
    const found = await forgotten(function* () {
      yield* snooze()
      yield* outside
      const op = sleep(1)
      yield* spin(() => op)
      const struck = spin(function* () {
        Fiber.current.stop()
        yield* sleep(5)
      })
      yield* struck.join()
      const events = on(emitter, 'x')
      emitter.emit('x')
      yield* events.next()
      events.close() // acts at the call
      for (const make of Object.values(ops).slice(1)) yield* make()
      assert.throws(() => Fiber.await(1 as never), { code: 'BAD_ARGUMENT' })
    })
    assert.deepEqual(found, [])
  })

  test('may be one with private fields that serves every wait', async () => {
    class Ready extends BaseOp<string> {
      readonly #answer = 'ready'
      enter(fiber: any): void {
        settle(fiber, this, this.#answer)
      }
      abort(): void {}
      describe(): string {
        return `an op that is ${this.#answer}`
      }
    }
    const [report, ...others] = await forgotten(function* () {
      const op = new Ready().droppable()
      assert.equal(yield* op.handOut(), 'ready')
      op.handOut()
    })
    assert.match(report ?? '', /^floating: an op that is ready was made/)
    assert.deepEqual(others, [])
  })

  test('the tree shows where a fiber got an op that serves every wait, of its last wait only', async () => {
    const queue = new Queue<number>()
    const stuck = inDebugMode(function* () {
      queue.tryPush(1)
      yield* queue.shift()
      const shifter = spin('shifter', () => queue.shift())
      const sleeper = spin('sleeper', function* () {
        yield* snooze()
        yield* suspend()
      })
      yield* Fiber.await(shifter, sleeper)
    })
    await assert.rejects(stuck, /shifter {2}waiting for .*shift\(\) {2}at .*debug\.test/)
  })

  test('the tree shows where the op that a fiber waits in was made', async () => {
    const stuck = inDebugMode(() => spin('culprit', () => receive()))
    await assert.rejects(stuck, /culprit {2}waiting for receive\(\) {2}at .*debug\.test/)
  })
})

// ---- which frames of a stack are the library's own, by the address from which it was loaded

const user = 'at inner (file:///home/me/my%20app/dist/core/boom.js:2:44)'

/** Where the library was loaded from, frames that are removed then, and frames that stay. */
const rows: Record<string, [url: unknown, hidden: string[], kept: string[]]> = {
  'installed: frames below its dist and src, as addresses and as paths, are removed': [
    'file:///home/me/my%20app/node_modules/polyphony/dist/core/debug.js',
    [
      'at step (file:///home/me/my%20app/node_modules/polyphony/dist/core/step.js:37:28)',
      'at file:///home/me/my%20app/node_modules/polyphony/dist/node/backend.js:36:33',
      'at step (/home/me/my app/node_modules/polyphony/src/core/step.ts:37:28)',
      'at async /home/me/my app/node_modules/polyphony/src/node/run.ts:3:2',
    ],
    [
      user,
      'at inner (/home/me/my app/src/core/boom.ts:2:44)',
      'at inner (/mnt/home/me/my app/node_modules/polyphony/src/boom.ts:2:44)',
      'at inner (file:///home/me/my%20app/node_modules/polyphony-extras/dist/core/step.js:1:1)',
    ],
  ],
  'installed on Windows': [
    'file:///C:/app/node_modules/polyphony/dist/core/debug.js',
    [
      'at step (file:///C:/app/node_modules/polyphony/dist/core/step.js:37:28)',
      'at step (C:\\app\\node_modules\\polyphony\\src\\core\\step.ts:37:28)',
    ],
    ['at inner (C:\\app\\src\\boom.ts:2:44)', 'at inner (file:///C:/app/dist/boom.js:2:44)'],
  ],
  'run from its source': [
    'file:///home/me/polyphony/src/core/debug.ts',
    ['at step (file:///home/me/polyphony/src/core/step.ts:37:28)'],
    ['at inner (file:///home/me/polyphony/test/boom.ts:2:44)'],
  ],
  'in an ES module bundle no frame but those of the engine is removed': [
    'file:///home/me/app/dist/bundle.mjs',
    ['at process.processTimers (node:internal/timers:520:9)', 'at Generator.next (<anonymous>)'],
    ['at inner (file:///home/me/app/dist/bundle.mjs:2:44)', 'at step (/home/me/app/src/step.ts:3:4)'],
  ],
  'in a CommonJS bundle, where a module has no address, likewise': [
    undefined,
    ['at process.processTimers (node:internal/timers:520:9)'],
    ['at inner (/home/me/app/dist/bundle.cjs:2:44)', user],
  ],
}
for (const [title, [url, hidden, kept]] of Object.entries(rows)) {
  test(`frames of the library, ${title}`, () => {
    const lines = (frames: string[]) =>
      ['Error: boom in node:fs', ...frames.map((frame) => `    ${frame}`)].join('\n')
    assert.equal(userStack(lines([...hidden, ...kept]), libraryPlaces(url)), lines(kept))
  })
}
