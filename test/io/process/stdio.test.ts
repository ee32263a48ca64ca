// Standard input, output and error, with streams in their place. As the shell sees them: test/programs/stdio.test.ts.

import { PassThrough, Writable } from 'node:stream'
import { gets, type IOError, stderr, stdin, stdout } from 'polyphony/io'
import {
  assert,
  describe,
  moveOnAfter,
  run,
  scope,
  sleep,
  spin,
  test,
  thrownBy,
  turn,
  untilWaiting,
  use,
} from '../../prelude.js'
import { waitingFor } from '../scripted.js'

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

/** What Node would write to the system: taken at once, or when `go` is called. */
class Output extends Writable {
  text = ''
  isSlow = false
  go = () => {}
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.go = () => {
      this.text += chunk
      done()
    }
    if (!this.isSlow) this.go()
  }
}

/** Puts a stream into the place of process.stdout or process.stderr until it is asked for. */
function replace(name: 'stdout' | 'stderr'): { output: Output; count: () => number } {
  const output = new Output()
  let opened = 0
  const { get, ...rest } = Object.getOwnPropertyDescriptor(process, name) as PropertyDescriptor
  const open = () => {
    opened++
    Object.defineProperty(process, name, { ...rest, get })
    return output
  }
  Object.defineProperty(process, name, { ...rest, get: open })
  return { output, count: () => opened }
}

// Each is opened once, so these tests are one story.
describe('standard output', () => {
  test('is opened by the first write, once; a write is over when the system has the bytes', function* () {
    const { output, count } = replace('stdout')
    assert.deepEqual([stdout.stats().writers, count()], [0, 0])
    yield* stdout.write('one ', Buffer.from('two '))
    yield* stdout.write('')
    output.isSlow = true
    const writers = [
      yield* waitingFor(() => stdout.write('three ')),
      yield* waitingFor(() => stdout.write('four ')),
    ]
    assert.deepEqual(
      [writers[0]?.waitsFor, output.text, stdout.tryWrite('x')],
      ['stdout.write()', 'one two ', false],
    )
    output.go()
    yield* sleep(1)
    assert.deepEqual([writers[0]?.state, writers[1]?.state], ['dead', 'waiting'])
    yield* (writers[1] as any).stop()
    output.isSlow = false
    output.go()
    yield* sleep(1)
    assert.deepEqual([output.text, count(), stdout.tryWrite('')], ['one two three four ', 1, true])
  })

  test('end, close, destroy and use leave it open; an error is told by the write, and by each after it', async () => {
    const { output } = replace('stderr')
    await run(function* () {
      yield* stderr.end('ended')
      yield* stderr.close()
      yield* scope(() => use(stderr))
      stderr.destroy()
    })
    assert.equal(await stderr[Symbol.asyncDispose]().then(() => 'over'), 'over')
    await run(function* () {
      yield* stderr.write(', still there')
      assert.deepEqual([output.text, output.writableEnded], ['ended, still there', false])
      output.isSlow = true
      const writer = spin(() => thrownBy(stderr.write('x')))
      yield* untilWaiting(writer)
      output.destroy(Object.assign(new Error('broken pipe'), { code: 'EPIPE' }))
      for (const { code, message } of [(yield* writer) as IOError, yield* thrownBy(stderr.write('y'))]) {
        assert.deepEqual([code, message], ['EPIPE', 'stderr.write() failed: broken pipe (EPIPE)'])
      }
    })
  })

  test('cannot be read from', function* () {
    assert.equal(
      (yield* thrownBy((stdout as any).gets())).message,
      'stdout.gets() failed: stdout cannot be read from',
    )
  })
})
