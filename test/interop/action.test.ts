// Callback APIs as ops: early, late and second answers, cleanups that fail, one op for several waits.

import { action, assert, describe, moveOnAfter, reports, sleep, spin, started, thrownBy } from '../prelude.js'
import { test } from './outside.js'

interface Call {
  settle(value: string): void
  fail(error: unknown): void
}

/** A callback API in the hands of the test. */
function callbacks() {
  const calls: Call[] = []
  const discarded: string[] = []
  const op = () =>
    action<string>((settle, fail) => void calls.push({ settle, fail }), {
      discard: (value) => void discarded.push(value),
    })
  return { op, calls, discarded, last: () => calls.at(-1) as Call }
}

describe('action', () => {
  test('may be answered while its function runs: the first answer counts, and cleanup comes before the fiber goes on', function* () {
    const log: unknown[] = []
    const op = action<string>((settle, fail) => {
      settle('first')
      fail('second')
      log.push('function over')
      return () => log.push('cleaned up')
    })
    log.push(yield* op)
    assert.deepEqual(log, ['function over', 'cleaned up', 'first'])
    for (const error of [new Error('no'), 'text', undefined]) {
      assert.equal(yield* thrownBy(action((_, fail) => fail(error))), error)
    }
  })

  test('a late error is dropped, and a value after it as well; a value that the cleanup settles is late', function* () {
    const { op, last, discarded } = callbacks()
    yield* moveOnAfter(5, op)
    last().fail('late')
    last().settle('after a failure')
    const settling = action<string>((settle) => () => settle('from cleanup'), {
      discard: (value) => void discarded.push(value),
    })
    assert.equal(yield* moveOnAfter(5, () => settling, 'moved on'), 'moved on')
    assert.deepEqual(discarded, ['from cleanup'])
  })

  test('throws what its function throws; a value that it had settled goes to discard', function* () {
    const discarded: string[] = []
    const discard = (value: string) => void discarded.push(value)
    const broken = (answer: (call: Call) => void) =>
      action<string>(
        (settle, fail) => {
          answer({ settle, fail })
          throw new Error('broken')
        },
        { discard },
      )
    const op = broken(({ settle }) => settle('value'))
    for (const each of [op, op, broken(({ fail }) => fail('no'))]) {
      assert.equal((yield* thrownBy(each)).message, 'broken')
    }
    assert.deepEqual(discarded, ['value', 'value'])
  })

  test('each yield* calls the function anew, and an old callback does not answer a new wait', function* () {
    const { op, calls, discarded } = callbacks()
    const same = op()
    yield* moveOnAfter(5, () => same)
    const fiber = yield* started(() => same)
    calls[0]?.settle('of the first')
    assert.equal(fiber.state, 'waiting')
    calls[1]?.settle('of the second')
    assert.deepEqual([yield* fiber, discarded], ['of the second', ['of the first']])
  })

  test('S70 an exception of the cleanup or of discard is reported, and the answer stands', function* () {
    const fails = (message: string) => () => assert.fail(message)
    const op = action<number>((settle) => {
      setImmediate(settle, 42)
      return fails('cleanup is broken')
    })
    assert.equal(yield* op, 42)
    let late!: (value: number) => void
    const discard = fails('discard is broken')
    yield* moveOnAfter(5, () => action<number>((settle) => void (late = settle), { discard }))
    late(1)
    const generator = action<number>((settle) => {
      setImmediate(settle, 1)
      return function* () {} as any
    })
    assert.equal(yield* generator, 1)
    const expected = [
      /cleanup of action\(.*\) in main failed: .*broken/,
      /discard is broken/,
      /function\*, which never ran/,
    ]
    assert.equal(reports().length, 3)
    for (const [i, message] of expected.entries()) assert.match(reports()[i] ?? '', message)
  })

  test('a fiber shows the function whose answer it waits for', function* () {
    const fibers = [spin(() => action(function lookup() {})), spin(() => action(() => {}))]
    yield* sleep(1)
    assert.deepEqual(
      fibers.map(({ waitsFor }) => waitsFor),
      ['action(lookup)', 'action()'],
    )
  })
})
