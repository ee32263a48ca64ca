// The side of a stream that sends: writes that wait in line, that are cut before they began, and what a close, an end, a cut and
// a broken channel do with them.

import { pair, StreamClosed } from 'polyphony/io'
import {
  assert,
  describe,
  Fiber,
  moveOnAfter,
  sleep,
  spin,
  started,
  test,
  thrownBy,
  untilWaiting,
} from '../../prelude.js'
import { pattern } from '../../shared/stream.js'
import { scripted, waitingFor } from '../scripted.js'

const FILL = 'x'.repeat(64 * 1024)

/** A channel that takes nothing until it is told, and a stream that is full. */
function* full(does = {}) {
  const sent: string[] = []
  const write = (_: unknown, chunk: string | Uint8Array) => {
    sent.push(`${chunk}`)
    return false
  }
  const made = scripted({ does: { write, ...does } })
  const first = spin({ link: false }, () => made.stream.write(FILL))
  yield* untilWaiting(first)
  return { ...made, sent, first }
}

describe('writes in line', () => {
  test('one that is cut before it began leaves nothing; the others keep their order', function* () {
    const { stream, receiver, sent, first } = yield* full()
    const writers: Fiber[] = []
    for (const text of ['a', 'b', 'c', 'd']) writers.push(yield* waitingFor(() => stream.write(text, text)))
    assert.deepEqual([stream.stats().writers, stream.stats().unsent, sent.length], [5, FILL.length, 1])
    yield* writers[1]!.stop()
    yield* writers[2]!.kill()
    assert.equal(yield* moveOnAfter(1, () => stream.write('e'), 'cut'), 'cut')
    receiver.drained()
    yield* first
    receiver.drained()
    yield* Fiber.await(writers[0]!, writers[3]!)
    assert.equal(sent.slice(1).join(''), 'aadd')
    assert.deepEqual([stream.stats().writers, stream.stats().unsent], [0, 0])
  })

  test('3,000 that are cut leave nothing, and one that has begun is sent whole', function* () {
    const { stream, receiver, sent, first } = yield* full()
    for (let i = 0; i < 3000; i++) yield* moveOnAfter(1, () => stream.write(FILL))
    assert.deepEqual(
      [stream.stats().unsent, stream.stats().written, sent.length],
      [FILL.length, FILL.length, 1],
    )
    yield* first.stop()
    receiver.drained()
    assert.equal(stream.tryWrite('after'), true)
    assert.equal(sent.at(-1), 'after')
  })

  test('end() and close() come after writes in line', function* () {
    for (const verb of ['end', 'close'] as const) {
      const { stream, receiver, sent, calls } = yield* full()
      const writer = spin(() => stream.write('in line'))
      yield* untilWaiting(writer)
      const last = spin(() => stream[verb]())
      yield* untilWaiting(last)
      assert.deepEqual(calls, ['write'])
      receiver.drained()
      assert.deepEqual([calls, sent[1]], [['write', 'write', verb], 'in line'])
      receiver.drained()
      if (verb === 'end') receiver.finished()
      else receiver.closed()
      yield* Fiber.await(writer, last)
    }
  })

  test('destroy() and a broken channel tell each of them', function* () {
    for (const isBroken of [false, true]) {
      const { stream, receiver, first } = yield* full()
      const writers: Fiber<any>[] = []
      for (let i = 0; i < 3; i++) writers.push(yield* waitingFor(() => thrownBy(stream.write('in line'))))
      const ending = spin(() => thrownBy(stream.end()))
      yield* untilWaiting(ending)
      if (isBroken) receiver.failed(Object.assign(new Error('it broke'), { code: 'EBROKEN' }))
      else stream.destroy()
      const errors = yield* Fiber.await(...writers, ending)
      const code = isBroken ? 'EBROKEN' : 'STREAM_CLOSED'
      assert.deepEqual(
        errors.map((error) => error.code),
        [code, code, code, code],
      )
      assert.equal(new Set(errors).size, 4)
      assert.equal((yield* first.join()).type, 'error')
      assert.deepEqual([stream.stats().writers], [0])
    }
  })

  test('a close that waits for them, and whose channel then throws: the closer is told, not the channel', function* () {
    const close = () => {
      throw Object.assign(new Error('it broke'), { code: 'EBROKEN' })
    }
    const { stream, receiver, first } = yield* full({ close, destroy: (given: any) => given.closed() })
    const writer = spin({ link: false }, () => stream.write('in line'))
    yield* untilWaiting(writer)
    const closing = spin(() => thrownBy(stream.close()))
    yield* untilWaiting(closing)
    assert.doesNotThrow(() => receiver.drained())
    assert.equal((yield* closing).code, 'EBROKEN')
    yield* first.join()
    assert.equal((yield* writer.join()).type, 'error')
  })

  test('a write after close() has begun is refused', function* () {
    const { stream } = yield* full()
    const closing = spin({ link: false }, () => stream.close())
    yield* untilWaiting(closing)
    assert.ok((yield* thrownBy(stream.write('late'))) instanceof StreamClosed)
    assert.ok((yield* thrownBy(stream.end())) instanceof StreamClosed)
    assert.equal(stream.tryWrite('late'), false)
    yield* closing.stop()
  })
})

test('writes that wait for room are handed over in their order, as there is room; the end of them is the last', function* () {
  const [a, b] = pair()
  const words = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(70_000))
  const writers = words.map((word) => spin(() => a.write(word)))
  const end = spin(() => a.end('z'))
  yield* sleep(1)
  assert.deepEqual(
    [a.stats().written, a.stats().writers],
    [70_000, 5],
    'the first was handed over, the others wait',
  )
  yield* (writers[1] as Fiber).stop()
  assert.equal(`${yield* b.readAll()}`, `${words[0]}${words[2]}${words[3]}z`)
  yield* Fiber.await(end, ...writers.filter((_, i) => i !== 1))
})

describe('close() with writes that wait for room', () => {
  /** Two streams, the first of which has no room, and a write that waits for it. */
  function* crowded() {
    const [a, b] = pair()
    const sent = pattern(100_000)
    const first = spin({ link: false }, () => a.write(sent))
    const second = spin({ link: false }, () => a.write('after'))
    yield* sleep(1)
    return { a, b, sent, first, second }
  }

  test('sends them first, and refuses those that come later', function* () {
    const { a, b, sent, first, second } = yield* crowded()
    const closing = spin(() => a.close())
    yield* sleep(1)
    for (const op of [a.write('too late'), a.end()]) {
      const error = yield* thrownBy(op)
      assert.ok(error instanceof StreamClosed, String(error))
    }
    assert.equal(a.tryWrite('too late'), false)
    assert.equal(closing.state, 'waiting')
    assert.equal(`${yield* b.readAll()}`, `${sent}after`)
    yield* Fiber.await(first, second, closing)
  })

  test('destroys, if the wait is stopped: each write is told', function* () {
    const { a, first, second } = yield* crowded()
    const closing = yield* started(() => a.close())
    yield* closing.stop()
    for (const fiber of [first, second]) assert.ok((yield* thrownBy(fiber)) instanceof StreamClosed)
  })
})
