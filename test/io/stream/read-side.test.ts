// The side of a stream that receives: bytes that are put back, reads that never wait, and the wait for the end of the other side.

import { BadArgument } from 'polyphony'
import { pair, pipe, StreamClosed } from 'polyphony/io'
import { assert, describe, Fiber, sleep, spin, test, thrownBy, untilWaiting } from '../../prelude.js'
import { scripted } from '../scripted.js'

const bytes = (text: string) => Buffer.from(text)

describe('unread()', () => {
  test('bytes are read next, before what has arrived, in any way to read', function* () {
    const stream = pipe()
    yield* stream.write('one\ntwo\nthree\nfour')
    assert.equal(yield* stream.gets(), 'one')
    stream.unread(bytes('zero\n'))
    assert.equal(yield* stream.gets(), 'zero')
    assert.equal(`${yield* stream.readExactly(2)}`, 'tw') // in the middle of a chunk
    stream.unread(bytes('t'))
    stream.unread(bytes('s'))
    assert.equal(yield* stream.gets(), 'sto')
    stream.unread(bytes('half a '))
    assert.equal(`${yield* stream.readUntil('ee')}`, 'half a three')
    stream.unread(bytes(''))
    assert.equal(stream.stats().unread, 5)
    yield* stream.end()
    assert.equal(`${yield* stream.readAll()}`, '\nfour')
  })

  test('the bytes may be reused afterwards', function* () {
    const stream = pipe()
    const mine = bytes('abc')
    stream.unread(mine)
    mine.fill(0)
    assert.equal(`${yield* stream.read()}`, 'abc')
  })

  test('readers that wait are served, in their order', function* () {
    const stream = pipe()
    const readers = [spin(() => stream.gets()), spin(() => stream.readExactly(3))]
    yield* untilWaiting(...readers)
    stream.unread(bytes('li'))
    stream.unread(bytes('a '))
    yield* sleep(1)
    assert.equal(readers[0]!.state, 'waiting')
    yield* stream.write('ne\nxyz')
    const [line, last] = yield* Fiber.await(...(readers as [Fiber<string>, Fiber<Buffer>]))
    assert.deepEqual([line, `${last}`], ['a line', 'xyz'])
    const reader = spin(() => stream.read())
    yield* untilWaiting(reader)
    stream.unread(bytes('back'))
    assert.equal(`${yield* reader}`, 'back')
  })

  test('after the end, they are read before it; on a closed stream, and with other kinds, it throws', function* () {
    const stream = pipe()
    yield* stream.end('x')
    assert.deepEqual([`${yield* stream.read()}`, yield* stream.read()], ['x', undefined])
    stream.unread(bytes('after'))
    assert.deepEqual(
      [yield* stream.gone(), `${yield* stream.read()}`, yield* stream.read()],
      ['ended', 'after', undefined],
    )
    for (const wrong of ['text', 5, undefined, [1], new ArrayBuffer(1)]) {
      assert.throws(() => stream.unread(wrong as never), BadArgument)
    }
    yield* stream.close()
    assert.throws(() => stream.unread(bytes('x')), StreamClosed)
  })
})

describe('tryRead()', () => {
  test('gives what has arrived, at most max; nothing at the end, and while a fiber waits', function* () {
    const stream = pipe()
    assert.equal(stream.tryRead(), undefined)
    yield* stream.write('abcdef')
    assert.deepEqual([`${stream.tryRead(2)}`, `${stream.tryRead(Infinity)}`], ['ab', 'cdef'])
    const reader = spin(() => stream.readExactly(3))
    yield* untilWaiting(reader)
    yield* stream.write('gh')
    assert.equal(stream.tryRead(), undefined) // the fiber goes first
    yield* stream.end('i')
    assert.equal(`${yield* reader}`, 'ghi')
    assert.equal(stream.tryRead(), undefined)
    for (const wrong of [0, -1, 1.5, Number.NaN, '1'])
      assert.throws(() => stream.tryRead(wrong as number), BadArgument)
    yield* stream.close()
    assert.equal(stream.tryRead(), undefined)
  })

  test('asks the channel for bytes, once', function* () {
    const { stream, receiver, calls } = scripted()
    for (let i = 0; i < 3; i++) assert.equal(stream.tryRead(), undefined)
    assert.deepEqual(calls, ['resume'])
    receiver.received(bytes('abc'), true)
    assert.equal(`${stream.tryRead()}`, 'abc')
    const lazy = scripted({ readAhead: 0 }) // reads only while a fiber waits
    lazy.stream.tryRead()
    assert.deepEqual(lazy.calls, [])
  })

  test('a broken stream: what has arrived, then nothing; read tells why', function* () {
    const { stream, receiver } = scripted()
    stream.tryRead()
    receiver.received(bytes('abc'), true)
    receiver.failed(Object.assign(new Error('it broke'), { code: 'EBROKEN' }))
    assert.equal(`${stream.tryRead()}`, 'abc')
    assert.equal(stream.tryRead(), undefined)
    assert.equal((yield* thrownBy(stream.read())).code, 'EBROKEN')
  })
})

describe('gone()', () => {
  const broken = Object.assign(new Error('it broke'), { code: 'EBROKEN' })

  test('in memory: an end, a close, and what is unread meanwhile', function* () {
    for (const isClosed of [false, true]) {
      const [near, far] = pair()
      const watchers = [spin(() => near.gone()), spin(() => near.gone())]
      yield* untilWaiting(...watchers)
      yield* far.write('some')
      yield* isClosed ? far.close() : far.end()
      assert.deepEqual(yield* Fiber.await(...watchers), ['ended', 'ended'])
      assert.equal(`${yield* near.readAll()}`, 'some')
    }
  })

  /** Ways to take what has arrived: after each, a stream that is watched reads on. */
  const TAKES: [string, (stream: ReturnType<typeof pipe>) => Generator<any, unknown, any>][] = [
    [
      'read',
      (stream) =>
        (function* () {
          return yield* stream.read()
        })(),
    ],
    [
      'gets',
      (stream) =>
        (function* () {
          return yield* stream.gets()
        })(),
    ],
    [
      'tryRead',
      (stream) =>
        (function* () {
          return stream.tryRead()
        })(),
    ],
    [
      'readExactly',
      (stream) =>
        (function* () {
          return yield* stream.readExactly(5)
        })(),
    ],
    [
      'readUntil',
      (stream) =>
        (function* () {
          return yield* stream.readUntil('\n')
        })(),
    ],
    [
      'readLoop',
      (stream) =>
        (function* () {
          return yield* stream.readLoop(() => false)
        })(),
    ],
  ]
  for (const [what, take] of TAKES) {
    test(`a stream that paused beyond its read-ahead reads on after ${what}()`, function* () {
      const { stream, receiver, calls } = scripted({ readAhead: 5 })
      const watching = spin(() => stream.gone())
      yield* untilWaiting(watching)
      assert.deepEqual(calls, ['resume'])
      assert.equal(receiver.received(bytes('line\n'), true), false)
      yield* take(stream)
      assert.deepEqual(calls, ['resume', 'resume'])
      receiver.ended()
      assert.equal(yield* watching, 'ended')
    })
  }

  test('without a watcher nothing is read on', function* () {
    const { stream, receiver, calls } = scripted({ readAhead: 5 })
    stream.tryRead()
    assert.equal(receiver.received(bytes('line\n'), true), false)
    assert.equal(yield* stream.gets(), 'line')
    assert.deepEqual(calls, ['resume'])
  })

  test('a channel that cannot be resumed for it breaks the stream: the watcher and readers are told', function* () {
    let count = 0
    const resume = () => {
      if (++count > 1) throw broken
    }
    const { stream, receiver } = scripted({ readAhead: 5, does: { resume } })
    const watching = spin(() => stream.gone())
    yield* untilWaiting(watching)
    receiver.received(bytes('line\n'), true)
    assert.equal(`${yield* stream.read()}`, 'line\n') // it had come
    assert.equal(yield* watching, 'lost')
    assert.equal((yield* thrownBy(stream.read())).code, 'EBROKEN')
  })

  test('the hook hears of each way once, whatever the channel reports', function* () {
    const { stream, receiver } = scripted()
    const log: string[] = []
    ;(stream as any).onGone = (how: string) => void log.push(how)
    ;(stream as any).watch()
    receiver.ended()
    receiver.ended()
    receiver.failed(broken)
    receiver.failed(broken)
    receiver.closed()
    receiver.closed()
    assert.deepEqual(log, ['ended', 'lost'])
  })
})
