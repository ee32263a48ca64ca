// Chapter "Streams": what a stream of bytes promises. Here the streams in memory keep it, in virtual time; the same tests
// run against sockets, TLS and streams of Node in test/io/stream.test.ts.

import { LimitExceeded, pair, pipe, type Stream } from 'polyphony/io'
import {
  assert,
  describe,
  moveOnAfter,
  type Op,
  sleep,
  spin,
  test,
  thrownBy,
  untilWaiting,
} from '../prelude.js'
import { keeps, MEMORY, outcomeOf, type Rule } from '../shared/stream.js'

const inMemory = (rule: Rule) => {
  for (const kind of MEMORY) keeps(rule, kind)
}

describe('S71 order', () => {
  inMemory('S71')

  test('write hands its chunks over at its yield*, not before', function* () {
    const stream = pipe()
    const [first, second] = [stream.write('a'), stream.write('b')]
    assert.equal(stream.stats().written, 0)
    yield* second
    yield* first
    assert.equal(`${yield* stream.readExactly(2)}`, 'ba')
  })
})

describe('S72 a cut wait takes nothing with it', () => {
  inMemory('S72')

  test('half a line that a leaving fiber had no use for goes to the next, if that has', function* () {
    const stream = pipe()
    const line = spin(() => stream.gets())
    yield* untilWaiting(line)
    const bytes = spin(() => stream.read())
    yield* untilWaiting(bytes)
    yield* stream.write('half')
    yield* sleep(1)
    assert.equal(bytes.state, 'waiting')
    yield* line.stop()
    assert.equal(`${yield* bytes}`, 'half')
  })

  test('bytes that were handed over before the fiber was struck are received', function* () {
    const [client, server] = pair()
    for (const strike of ['stop', 'kill', 'raise'] as const) {
      let got: unknown
      const reader = spin({ link: false }, function* () {
        got = yield* server.gets()
      })
      yield* untilWaiting(reader)
      yield* client.write('line\n')
      reader[strike]()
      yield* reader.join()
      assert.equal(got, 'line', strike)
    }
  })
})

describe('S73 whose bytes', () => {
  inMemory('S73')
})

describe('S74 room', () => {
  inMemory('S74')

  test('room is 64 KiB, counted in bytes and not in characters', function* () {
    const stream = pipe()
    yield* stream.write('é'.repeat(32 * 1024 - 1), 'x')
    const writer = spin(() => stream.write('x'))
    yield* untilWaiting(writer)
    yield* stream.readExactly(64 * 1024)
    yield* writer
  })

  test('at most 64 KiB and one chunk lie unread, unless a reader asks for more at once', function* () {
    const [client, server] = pair()
    const writer = spin(function* () {
      for (let n = 0; n < 20; n++) yield* client.write(Buffer.alloc(20_000))
    })
    yield* server.readExactly(1)
    yield* sleep(1)
    assert.equal(server.stats().unread, 79_999)
    yield* server.readExactly(399_999)
    yield* writer
  })

  test('tryWrite says false where nothing can be sent, and has sent nothing', function* () {
    const [client, server] = pair()
    server.destroy()
    assert.equal(client.tryWrite('x'), false)
    assert.equal(client.stats().written, 0)
  })
})

describe('S75 the end', () => {
  inMemory('S75')

  test('broken: whole lines that had come can be read, then the IOError, then the rest as bytes', function* () {
    const [client, server] = pair()
    yield* client.write('one\n', 'two\n', 'thr')
    assert.equal(yield* server.gets(), 'one')
    client.destroy()
    assert.equal(yield* server.gets(), 'two')
    assert.equal((yield* thrownBy(server.gets())).code, 'ECONNRESET')
    assert.equal(`${yield* server.read()}`, 'thr')
  })

  test('close throws if what was written cannot be sent', function* () {
    const [client, server] = pair()
    yield* moveOnAfter(1, () => client.write(Buffer.alloc(100_000)))
    const closer = spin(() => thrownBy(client.close()))
    yield* untilWaiting(closer)
    server.destroy()
    assert.equal((yield* closer).code, 'ECONNRESET')
    assert.equal(client.isClosed, true)
  })

  test('when the last bytes of both sides have been taken, the stream closes by itself', function* () {
    const [client, server] = pair()
    yield* server.end()
    assert.equal(yield* client.read(), undefined)
    const ending = spin(() => client.end(Buffer.alloc(100_000)))
    yield* untilWaiting(ending)
    yield* server.readAll()
    yield* ending
    assert.deepEqual([client.isClosed, server.isClosed], [true, true])
  })
})

describe('S76 limits', () => {
  inMemory('S76')

  const MIB = 1024 * 1024
  const most: [what: string, length: number, take: (stream: Stream) => Op<unknown>][] = [
    ['gets takes lines of 1 MiB', MIB, (stream) => stream.gets()],
    ['lines gives lines of 1 MiB', MIB, (stream) => stream.lines().next()],
    ['readUntil takes 1 MiB with the delimiter', MIB - 1, (stream) => stream.readUntil('\n')],
    ['readAll takes 64 MiB', 64 * MIB - 1, (stream) => stream.readAll()],
  ]
  for (const [what, length, take] of most) {
    test(`${what}, and not a byte more`, function* () {
      for (const more of [0, 1]) {
        const stream = pipe()
        const ending = spin(() => outcomeOf(stream.end(Buffer.alloc(length + more), '\n')))
        const error = yield* outcomeOf(take(stream))
        assert.equal(error instanceof LimitExceeded, more === 1, `${error}`)
        stream.destroy()
        yield* ending
      }
    })
  }
})
