// Standard input, with a stream in its place. As programs in their own processes see it: test/programs/stdio.test.ts.

import { PassThrough } from 'node:stream'
import { gets, stdin } from 'polyphony/io'
import { assert, describe, moveOnAfter, test, thrownBy, turn } from '../prelude.js'
import { waitingFor } from './scripted.js'

describe('standard input', () => {
  test('outside a fiber a wait says so, and what to do', () => {
    for (const op of [gets(), stdin.gets(), stdin.read()]) {
      const message = /^stdin\.\w+\(\) was used outside .*main\(/
      assert.throws(() => op[Symbol.iterator]().next(), { code: 'NOT_IN_FIBER', message })
    }
  })

  // A process has one, so this is one story.
  test('is opened by the first wait; cut waits lose nothing; S17 none begins in a cleanup; it ends once', function* () {
    const input = new PassThrough()
    let opened = 0
    const { get, ...rest } = Object.getOwnPropertyDescriptor(process, 'stdin') as PropertyDescriptor
    const open = () => {
      opened++
      Object.defineProperty(process, 'stdin', { ...rest, get })
      return input
    }
    Object.defineProperty(process, 'stdin', { ...rest, get: open })
    const op = gets()
    assert.equal(opened, 0)
    input.write('one\ntw')
    assert.equal(yield* op, 'one')
    assert.equal(yield* moveOnAfter(10, () => gets(), 'late'), 'late')
    input.write('o\nthree\n')
    assert.equal(yield* stdin.gets(), 'two')
    assert.equal(String(yield* stdin.read()), 'three\n')
    assert.equal(opened, 1)

    let error: any
    const fiber = yield* waitingFor(function* () {
      try {
        yield* gets()
      } finally {
        error = yield* thrownBy(gets())
      }
    })
    assert.equal(fiber.waitsFor, 'stdin.gets()')
    yield* fiber.stop()
    assert.ok(error !== undefined)
    for (let n = 0; n < 3; n++) yield* turn()
    assert.deepEqual([input.isPaused(), input.listenerCount('data')], [true, 0])

    input.end('last')
    assert.deepEqual([yield* gets(), yield* gets(), yield* stdin.read()], ['last', undefined, undefined])
  })
})
