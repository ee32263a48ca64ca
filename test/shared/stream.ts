// What every stream of bytes promises (S71 to S76), run against those in memory and the real ones. Nothing here untilWaiting by the clock:
// a test untilWaiting for bytes, for a fiber to wait, or for something to have happened.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  cancelAfter,
  each,
  forEach,
  moveOnAfter,
  type Op,
  type Routine,
  run,
  scope,
  snooze,
  spin,
  use,
} from 'polyphony'
import { IOError, LimitExceeded, type Stream, StreamClosed, UnexpectedEnd } from 'polyphony/io'
import { leaks, virtual } from 'polyphony/testing'
import { eventually, thrownBy, turn, untilWaiting } from '../prelude.js'
import { expiring } from './limits.js'

/** A kind of stream. */
export interface AStream {
  /** Two ends: what is written to one can be read from the other. */
  connect(): Op<[Stream, Stream]>
  /** Whether the world takes part: then its time is real. */
  isReal: boolean
  /** Both ends are one: what is written to it can be read from it. */
  isPipe?: boolean
  /** Lets the other side see a reset, if that can be done. */
  reset?: (end: Stream) => void
}

type Conversation = (a: Stream, b: Stream) => Routine<unknown>

/** What an op threw; undefined if nothing. */
function* outcomeOf(op: Op<unknown>): Routine<unknown> {
  try {
    yield* op
  } catch (error) {
    return error
  }
  return undefined
}

/** So many bytes, no two neighbours alike, and no period that a buffer could have. */
export function pattern(length: number, seed = 0): Buffer {
  const bytes = Buffer.allocUnsafe(length)
  for (let i = 0; i < length; i++) bytes[i] = (i * 31 + (i >> 8) * 7 + seed * 101) & 255
  return bytes
}

function* writeAll(stream: Stream, bytes: Buffer, size: number): Routine<void> {
  for (let at = 0; at < bytes.length; at += size) yield* stream.write(bytes.subarray(at, at + size))
  yield* stream.end()
}

const text = (bytes: Uint8Array | undefined) => (bytes === undefined ? undefined : `${bytes}`)

/** More than all buffers on the way hold. */
const MUCH = 16 * 1024 * 1024

export function aStream(name: string, kind: AStream): void {
  /** A test with two ends, which are closed afterwards; nothing may be left behind. */
  function test(promise: string, conversation: Conversation): void {
    const body = function* () {
      const [a, b] = yield* kind.connect()
      try {
        yield* conversation(a, b)
      } finally {
        a.destroy()
        b.destroy()
      }
    }
    it(promise, async () => {
      if (!kind.isReal) return virtual(body)
      const before = leaks()
      await run(body)
      const { fibers, pendingOps, timers } = leaks()
      assert.deepEqual([fibers, pendingOps, timers], [before.fibers, before.pendingOps, before.timers])
    })
  }
  /** A test for streams that go both ways. */
  const testBoth = kind.isPipe ? () => {} : test

  describe(`${name} is a stream: reading`, () => {
    test('S71 read() gives what has come, then undefined again and again', function* (a, b) {
      yield* a.write('hello')
      assert.equal(text(yield* b.read()), 'hello')
      yield* a.end()
      assert.equal(yield* b.read(), undefined)
      assert.equal(yield* b.read(), undefined)
    })

    test('S71 read(max) gives no more than that, and nothing is lost', function* (a, b) {
      yield* a.end('abcdefg')
      const parts: string[] = []
      for (let part: Buffer | undefined; (part = yield* b.read(3)) !== undefined; ) parts.push(`${part}`)
      assert.ok(parts.every((part) => part.length <= 3))
      assert.equal(parts.join(''), 'abcdefg')
    })

    test('read(max) that untilWaiting is given no more than that', function* (a, b) {
      const reader = spin(() => b.read(4))
      yield* untilWaiting(reader)
      yield* a.write('abcdefghi')
      assert.equal(text(yield* reader), 'abcd')
      assert.equal(text(yield* b.readExactly(5)), 'efghi')
    })

    test('what read() gives is the caller’s: what comes next does not change it', function* (a, b) {
      const kept: Buffer[] = []
      for (let n = 0; n < 20; n++) {
        yield* a.write(pattern(500, n))
        kept.push(yield* b.readExactly(250))
        kept.push((yield* b.read()) as Buffer)
        let missing = 250 - (kept.at(-1) as Buffer).length
        while (missing > 0) {
          const more = (yield* b.read()) as Buffer
          missing -= more.length
          kept.push(more)
        }
      }
      const expected = Buffer.concat(Array.from({ length: 20 }, (_, n) => pattern(500, n)))
      assert.ok(Buffer.concat(kept).equals(expected))
    })

    test('readExactly(n) puts together what comes in pieces', function* (a, b) {
      const reader = spin(() => b.readExactly(6))
      for (const part of ['a', 'bc', 'def']) {
        yield* a.write(part)
        yield* eventually(() => b.stats().received >= a.stats().written)
      }
      assert.equal(text(yield* reader), 'abcdef')
      yield* a.write('g')
      assert.equal(text(yield* b.readExactly(1)), 'g')
      assert.equal((yield* b.readExactly(0)).length, 0)
    })

    test('readExactly(n) of a stream that ends before throws UnexpectedEnd, and leaves the bytes', function* (a, b) {
      yield* a.end('abc')
      const error = yield* thrownBy(b.readExactly(5))
      assert.ok(error instanceof UnexpectedEnd)
      assert.match(error.message, /readExactly\(5\): the stream ended after 3 bytes/)
      assert.equal(text(yield* b.readExactly(3)), 'abc')
    })

    test('readUntil() gives everything up to the delimiter, itself included', function* (a, b) {
      yield* a.end('one--two-', '-three')
      assert.equal(text(yield* b.readUntil('--')), 'one--')
      assert.equal(text(yield* b.readUntil(Buffer.from('--'))), 'two--')
      assert.ok((yield* thrownBy(b.readUntil('--'))) instanceof UnexpectedEnd)
      assert.equal(text(yield* b.readAll()), 'three')
      assert.equal(yield* b.readUntil('--'), undefined)
    })

    test('S76 readUntil() throws at its limit, and leaves the bytes', function* (a, b) {
      yield* a.end('abcdef;')
      assert.ok((yield* thrownBy(b.readUntil(';', { limit: 6 }))) instanceof LimitExceeded)
      assert.equal(text(yield* b.readUntil(';', { limit: 7 })), 'abcdef;')
    })

    test('gets() gives lines without their ends, whole characters, and a last line that lacks its end', function* (a, b) {
      const bytes = Buffer.from('one\ntwo\r\n\ncafé\nlast')
      spin(function* () {
        for (const byte of bytes) yield* a.write(Buffer.of(byte))
        yield* a.end()
      })
      const lines: (string | undefined)[] = []
      for (let n = 0; n < 7; n++) lines.push(yield* b.gets())
      assert.deepEqual(lines, ['one', 'two', '', 'café', 'last', undefined, undefined])
    })

    test('S76 a line over its limit is an error, and its bytes stay', function* (a, b) {
      yield* a.write('12345\nnext\n')
      const error = yield* thrownBy(b.gets({ limit: 4 }))
      assert.ok(error instanceof LimitExceeded)
      assert.match(error.message, /longer than 4 bytes/)
      assert.equal(yield* b.gets({ limit: 5 }), '12345')
      assert.equal(yield* b.gets(), 'next')
    })

    test('S76 a line over its limit is an error before its end has come', function* (a, b) {
      const reader = spin(() => thrownBy(b.gets({ limit: 4 })))
      yield* untilWaiting(reader)
      yield* a.write('12345')
      assert.ok((yield* reader) instanceof LimitExceeded)
    })

    test('readAll() gives all that comes until the end; S76 not more than its limit', function* (a, b) {
      const bytes = pattern(300_000)
      const writer = spin(writeAll, a, bytes, 7001)
      assert.ok((yield* thrownBy(b.readAll({ limit: 1000 }))) instanceof LimitExceeded)
      assert.ok((yield* b.readAll()).equals(bytes))
      assert.equal((yield* b.readAll()).length, 0)
      yield* writer
    })

    test('S52 several who wait are served in the order they came, whatever each wants', function* (a, b) {
      const got: unknown[] = []
      const wants: (() => Op<unknown>)[] = [
        () => b.gets(),
        () => b.readExactly(3),
        () => b.readUntil(';'),
        () => b.read(2),
        () => b.gets(),
      ]
      const fibers = wants.map((want) =>
        spin(function* () {
          got.push(`${yield* want()}`)
        }),
      )
      yield* untilWaiting(...fibers)
      assert.equal(b.stats().readers, 5)
      for (const part of ['li', 'ne\nab', 'cx;', 'yzlast', '\n']) yield* a.write(part)
      for (const fiber of fibers) yield* fiber
      assert.deepEqual(got, ['line', 'abc', 'x;', 'yz', 'last'])
      assert.equal(b.stats().readers, 0)
    })

    test('S76 a byte arrives once and in order, in chunks of any size', function* (a, b) {
      const bytes = pattern(700_000)
      const writer = spin(writeAll, a, bytes, 65_537)
      const parts: Buffer[] = []
      const sizes = [1, 7, 4096, 100_000, 65_536, 3]
      for (let n = 0, left = bytes.length; left > 0; n++) {
        const part = yield* b.readExactly(Math.min(left, sizes[n % sizes.length] as number))
        left -= part.length
        parts.push(part)
      }
      assert.ok(Buffer.concat(parts).equals(bytes))
      assert.equal(yield* b.read(), undefined)
      yield* writer
    })

    const cuts: Record<string, (b: Stream, wait: () => Op<unknown>) => Routine<unknown>> = {
      *'a stop'(_, wait) {
        const reader = spin(wait)
        yield* untilWaiting(reader)
        yield* reader.stop()
      },
      *'a kill'(_, wait) {
        const reader = spin(wait)
        yield* untilWaiting(reader)
        yield* reader.kill()
      },
      *'a raise'(_, wait) {
        const reader = spin(() => thrownBy(wait()))
        yield* untilWaiting(reader)
        reader.raise('struck')
        assert.match((yield* reader).message, /struck/)
      },
      *'a time-out'(_, wait) {
        yield* expiring(moveOnAfter, wait)
      },
      *'a cancel'(_, wait) {
        yield* thrownBy(expiring(cancelAfter, wait))
      },
    }
    for (const [how, cut] of Object.entries(cuts)) {
      test(`S72 a wait that is cut by ${how} takes no byte with it`, function* (a, b) {
        yield* a.write('ab')
        yield* eventually(() => b.stats().received === 2 || b.stats().unread === 0)
        const untilWaiting: (() => Op<unknown>)[] = [
          () => b.gets(),
          () => b.readExactly(9),
          () => b.readUntil('!'),
          () => b.readAll(),
        ]
        for (const wait of untilWaiting) yield* cut(b, wait)
        assert.equal(b.stats().readers, 0)
        yield* a.write('cd\n!')
        assert.equal(yield* b.gets(), 'abcd')
        for (const wait of [() => b.read(), () => b.readLoop(() => {})]) {
          yield* b.readExactly(1)
          yield* cut(b, wait)
          yield* a.write('!')
        }
        assert.equal(text(yield* b.readExactly(1)), '!')
      })
    }
  })

  describe(`${name} is a stream: loops`, () => {
    test('readLoop() runs its body for each chunk, until the end', function* (a, b) {
      const bytes = pattern(200_000)
      const writer = spin(writeAll, a, bytes, 30_000)
      const parts: Buffer[] = []
      yield* b.readLoop((chunk) => void parts.push(Buffer.from(chunk)))
      assert.ok(Buffer.concat(parts).equals(bytes))
      yield* writer
    })

    test('readLoop() takes a function*, a plain function, and one that returns an op', function* (a, b) {
      const bodies: ((log: string[]) => (chunk: Buffer) => any)[] = [
        (log) =>
          function* (chunk) {
            yield* snooze()
            log.push(`${chunk}`)
            return false
          },
        (log) => (chunk) => {
          log.push(`${chunk}`)
          return false
        },
        (log) => (chunk) => {
          log.push(`${chunk}`)
          return scope(function* () {
            yield* snooze()
            return false
          })
        },
      ]
      for (const body of bodies) {
        const log: string[] = []
        yield* a.write('chunk')
        yield* b.readLoop(body(log))
        assert.deepEqual(log, ['chunk'])
      }
    })

    test('readLoop() ends when its body returns false, and the rest can be read', function* (a, b) {
      yield* a.end('abcdef')
      let seen = ''
      yield* b.readLoop(
        (chunk) => {
          seen += chunk
          return seen.length < 4
        },
        { max: 2 },
      )
      assert.equal(seen, 'abcd')
      assert.equal(text(yield* b.readAll()), 'ef')
    })

    test('I2 readLoop() gives no more than max at once, whether it waited or not', function* (a, b) {
      const sizes: number[] = []
      yield* a.write('abcde')
      yield* eventually(() => b.stats().received === 5 || b.stats().unread === 0)
      const loop = spin(() => b.readLoop((chunk) => void sizes.push(chunk.length), { max: 3 }))
      yield* eventually(() => sizes.reduce((sum, size) => sum + size, 0) === 5)
      yield* untilWaiting(loop)
      yield* a.end('fghijkl')
      yield* loop
      assert.equal(
        sizes.reduce((sum, size) => sum + size, 0),
        12,
      )
      assert.ok(
        sizes.every((size) => size <= 3),
        `${sizes}`,
      )
    })

    test('an error in the body of readLoop() is thrown there, and the stream goes on', function* (a, b) {
      yield* a.write('one')
      const error = yield* thrownBy(
        b.readLoop(() => {
          throw new Error('in the body')
        }),
      )
      assert.equal(error.message, 'in the body')
      yield* a.write('two')
      assert.equal(text(yield* b.readExactly(3)), 'two')
    })

    test('a readLoop() whose body throws does not keep what comes then', function* (a, b) {
      yield* a.write('one')
      yield* thrownBy(
        b.readLoop(function* () {
          yield* a.write('two')
          throw new Error('in the body')
        }),
      )
      assert.equal(text(yield* b.readExactly(3)), 'two')
    })

    test('a readLoop() that is stopped takes no byte with it', function* (a, b) {
      const seen: string[] = []
      const loop = spin(() => b.readLoop((chunk) => void seen.push(`${chunk}`)))
      yield* a.write('one')
      yield* eventually(() => seen.length === 1)
      yield* loop.stop()
      yield* a.write('two')
      assert.equal(text(yield* b.readExactly(3)), 'two')
      assert.deepEqual(seen, ['one'])
    })

    test('feedLoop() calls a method of its receiver, with the receiver as this', function* (a, b) {
      const parser = {
        text: '',
        feed(chunk: Buffer) {
          this.text += chunk
          return this.text.length < 6
        },
      }
      yield* a.end('abcdefghi')
      yield* b.feedLoop(parser, 'feed', { max: 2 })
      assert.equal(parser.text, 'abcdef')
    })

    test('S73 a body that untilWaiting keeps its chunk whole while others receive', function* (a, b) {
      const [c, d] = yield* kind.connect()
      const bytes = pattern(2000, 1)
      let isThere = false
      let isWhole = false
      const loop = spin(() =>
        b.readLoop(function* (chunk) {
          const before = Buffer.from(chunk)
          isThere = true
          for (let n = 0; n < 10; n++) {
            yield* c.write(pattern(2000, n + 2))
            yield* d.readExactly(2000)
          }
          const other = spin(() => d.readLoop(() => false))
          yield* c.write(pattern(2000, 99))
          yield* other
          isWhole = chunk.equals(before)
          return false
        }),
      )
      yield* untilWaiting(loop)
      yield* a.write(bytes)
      yield* loop
      assert.deepEqual([isThere, isWhole], [true, true])
      c.destroy()
      d.destroy()
    })

    test('S73 chunks that are written on, by bodies that are cut, arrive as they were', function* (a, b) {
      const [c, d] = yield* kind.connect()
      const bytes = pattern(2_000_000)
      const writer = spin(writeAll, a, bytes, 50_000)
      // Nobody reads at d: most of these writes are cut in their wait for room, and go on.
      const loop = spin(function* () {
        yield* b.readLoop(function* (chunk) {
          const writer = spin(() => c.write(chunk))
          yield* snooze() // it hands its chunk over
          yield* writer.stop()
        })
        yield* c.end()
      })
      yield* eventually(() => c.stats().written > 1_000_000)
      assert.ok((yield* d.readAll()).equals(bytes))
      yield* loop
      yield* writer
      c.destroy()
      d.destroy()
    })

    test('a stream is a source: each(), forEach(), lines()', function* (a, b) {
      yield* a.write('one\n')
      yield* each(b, function* (chunk) {
        yield* snooze()
        assert.equal(text(chunk), 'one\n')
        return false
      })
      assert.equal(b.isClosed, false)
      yield* a.write('two\r\nthree\nfour\n')
      const lines: string[] = []
      yield* each(b.lines(), (line) => {
        lines.push(line)
        return line !== 'three'
      })
      yield* a.end()
      assert.deepEqual(lines, ['two', 'three'])
      const lengths = yield* forEach(b.lines(), (line) => line.length)
      assert.deepEqual(lengths, [4])
      yield* each(b, () => assert.fail('it is at its end'))
    })
  })

  describe(`${name} is a stream: writing`, () => {
    test('write() sends strings as UTF-8 and bytes, several at once, in their order', function* (a, b) {
      yield* a.write('é', Buffer.from('tag'), new Uint8Array([101, 32]), '', 'à 🎼', Buffer.alloc(0))
      yield* a.write()
      yield* a.write('')
      yield* a.end('.')
      assert.equal(text(yield* b.readAll()), 'étage à 🎼.')
      assert.ok(a.stats().written > 0)
      assert.equal(b.stats().received, Buffer.byteLength('étage à 🎼.'))
    })

    test('text of any length arrives as it was', function* (a, b) {
      const line = 'ünïcödé 🎼 '.repeat(20_000)
      spin(() => a.end(line, '\n', line))
      assert.equal(text(yield* b.readAll({ limit: Infinity })), `${line}\n${line}`)
    })

    test('S71 what several fibers write arrives in the order of the calls, each call whole', function* (a, b) {
      const order: number[] = []
      const message = (n: number) => Buffer.alloc(3000, n)
      const writers = Array.from({ length: 40 }, (_, n) =>
        spin(function* () {
          for (let round = 0; round < 5; round++) {
            order.push(n + 1)
            yield* a.write(message(n + 1).subarray(0, 1000), message(n + 1).subarray(1000))
            yield* snooze()
          }
        }),
      )
      const arrived: number[] = []
      for (let n = 0; n < 200; n++) {
        const bytes = yield* b.readExactly(3000)
        assert.ok(bytes.every((byte) => byte === bytes[0]))
        arrived.push(bytes[0] as number)
      }
      for (const writer of writers) yield* writer
      assert.deepEqual(arrived, order)
    })

    for (const size of [100, 5_000, 70_000, 300_000]) {
      test(`S73 when write() has settled, its ${size} bytes may be reused`, function* (a, b) {
        const buffer = Buffer.alloc(size)
        const rounds = Math.ceil(1_000_000 / size)
        const writer = spin(function* () {
          for (let n = 1; n <= rounds; n++) {
            buffer.fill(n & 255)
            yield* a.write(buffer)
          }
          buffer.fill(0)
          yield* a.end()
        })
        for (let n = 1; n <= rounds; n++) {
          const bytes = yield* b.readExactly(size)
          assert.ok(bytes.every((byte) => byte === (n & 255)))
        }
        yield* writer
      })
    }

    test('S73 several chunks in one write(), large and small, may be reused when it has settled', function* (a, b) {
      const chunks = [Buffer.alloc(20_000), Buffer.alloc(10), Buffer.alloc(40_000), Buffer.alloc(1)]
      const total = 60_011
      const writer = spin(function* () {
        for (let n = 1; n <= 100; n++) {
          for (const chunk of chunks) chunk.fill(n)
          yield* a.write(...chunks)
        }
        for (const chunk of chunks) chunk.fill(0)
      })
      yield* untilWaiting(writer)
      for (let n = 1; n <= 100; n++) {
        const bytes = yield* b.readExactly(total)
        assert.ok(
          bytes.every((byte) => byte === n),
          `round ${n}`,
        )
      }
      yield* writer
    })

    test('S73 what tryWrite() was given may be reused at once', function* (a, b) {
      const buffer = Buffer.alloc(200_000, 1)
      assert.equal(a.tryWrite(buffer), true)
      buffer.fill(2)
      const small = Buffer.from('small')
      const isSent = a.tryWrite(small)
      small.fill(0)
      assert.ok((yield* b.readExactly(200_000)).every((byte) => byte === 1))
      if (isSent) assert.equal(text(yield* b.readExactly(5)), 'small')
    })

    test('S74 tryWrite() sends while there is room, then nothing, and never untilWaiting', function* (a, b) {
      const chunk = pattern(50_000)
      let count = 0
      while (a.tryWrite(chunk)) {
        assert.ok(++count * chunk.length < MUCH, 'there is room for ever')
        if (count % 20 === 0) yield* turn()
      }
      assert.ok(count > 0)
      assert.equal(a.tryWrite('lost'), false)
      for (let n = 0; n < count; n++) assert.ok((yield* b.readExactly(chunk.length)).equals(chunk))
      yield* a.write('!')
      assert.equal(a.tryWrite('after'), true)
      assert.equal(text(yield* b.readExactly(6)), '!after')
    })

    test('S74 a writer untilWaiting while nobody reads, and what lies there is bounded', function* (a, b) {
      const bytes = pattern(100_000)
      let isOver = false
      const writer = spin(function* () {
        for (let sent = 0; sent < MUCH; sent += bytes.length) yield* a.write(bytes)
        isOver = true
        yield* a.end()
      })
      // It stands when it has been found waiting with the same count, after the event loop has had its turns.
      let last = -1
      for (let same = 0; same < 20; ) {
        yield* turn()
        const { written } = a.stats()
        same = written === last && writer.state === 'waiting' ? same + 1 : 0
        last = written
      }
      assert.equal(isOver, false)
      assert.ok(b.stats().unread <= 256 * 1024, `${b.stats().unread} bytes lie unread`)
      assert.deepEqual([a.stats().writers, writer.state], [1, 'waiting'])
      let count = 0
      yield* b.readLoop((chunk) => void (count += chunk.length))
      yield* writer
      assert.equal(count, Math.ceil(MUCH / bytes.length) * bytes.length)
      assert.ok(isOver)
    })

    test('S74 a reader that is slow is not run over: what has come and was not taken is bounded', function* (a, b) {
      const bytes = pattern(3_000_000)
      const writer = spin(writeAll, a, bytes, 100_000)
      const parts: Buffer[] = []
      let most = 0
      for (let chunk: Buffer | undefined; (chunk = yield* b.read(20_000)) !== undefined; ) {
        parts.push(chunk)
        yield* turn()
        most = Math.max(most, b.stats().unread)
      }
      assert.ok(most <= 256 * 1024, `${most} bytes lay unread`)
      assert.ok(Buffer.concat(parts).equals(bytes))
      yield* writer
    })

    test('S72 what a writer has handed over is sent, even if it is stopped in its wait for room', function* (a, b) {
      const bytes = pattern(MUCH)
      const writer = spin(() => a.write(bytes))
      yield* untilWaiting(writer)
      const next = spin(() => a.write('next'))
      yield* untilWaiting(next)
      yield* writer.stop()
      assert.equal(next.state, 'waiting')
      assert.ok((yield* b.readExactly(MUCH)).equals(bytes))
      yield* next
      assert.equal(text(yield* b.readExactly(4)), 'next')
      assert.equal(a.stats().writers, 0)
    })

    test('S52 writers who wait for room, large and small, all go on when there is some', function* (a, b) {
      const large = pattern(MUCH)
      const writers = [
        spin(() => a.write(large)),
        spin(() => a.write('small')),
        spin(() => a.write(pattern(9000))),
        spin(() => a.write('')),
        spin(() => a.end('last')),
      ]
      yield* untilWaiting(...writers)
      assert.equal(a.stats().writers, 5)
      const all = yield* b.readAll()
      for (const writer of writers) yield* writer
      assert.ok(all.equals(Buffer.concat([large, Buffer.from('small'), pattern(9000), Buffer.from('last')])))
    })
  })

  describe(`${name} is a stream: ending`, () => {
    test('S75 end() sends what it is given, then the end; writing is over, and ending again is nothing', function* (a, b) {
      yield* a.end('last', ' words')
      yield* a.end()
      assert.equal(text(yield* b.readAll()), 'last words')
      for (const write of [() => a.write('x'), () => a.end('x')]) {
        const error = yield* thrownBy(write())
        assert.ok(error instanceof StreamClosed, `${error}`)
        assert.match(error.message, /came too late/)
      }
      assert.equal(a.tryWrite('x'), false)
    })

    testBoth('S75 half-close: after end() the answer can still be read', function* (a, b) {
      const server = spin(function* () {
        const request = yield* b.readAll()
        yield* b.end(`you said ${request}`)
      })
      yield* a.end('hello')
      assert.equal(text(yield* a.readAll()), 'you said hello')
      yield* server
    })

    testBoth('S75 when both sides have ended, it closes by itself', function* (a, b) {
      yield* a.end()
      assert.equal(yield* b.read(), undefined)
      assert.deepEqual([a.isClosed, b.isClosed], [false, false])
      yield* b.end()
      assert.equal(yield* a.read(), undefined)
      yield* eventually(() => a.isClosed && b.isClosed)
      assert.equal(yield* a.read(), undefined)
      yield* a.close()
    })

    testBoth(
      'S75 close() sends what was written, then closes; the other side reads all of it',
      function* (a, b) {
        const bytes = pattern(1_000_000)
        const writer = spin(() => outcomeOf(a.write(bytes)))
        yield* eventually(() => a.stats().written === bytes.length)
        const closer = spin(() => a.close())
        assert.ok((yield* b.readAll()).equals(bytes))
        yield* closer
        yield* writer
        assert.equal(a.isClosed, true)
      },
    )

    test('S75 close() tells those who wait to read, each in an error of their own', function* (a, b) {
      const waiting: (() => Op<unknown>)[] = [() => b.read(), () => b.gets(), () => b.readLoop(() => {})]
      const readers = waiting.map((wait) => spin(() => thrownBy(wait())))
      yield* untilWaiting(...readers)
      yield* b.close()
      const errors: Error[] = []
      for (const reader of readers) errors.push(yield* reader)
      for (const error of errors) assert.ok(error instanceof StreamClosed, `${error}`)
      assert.equal(new Set(errors).size, 3)
      assert.equal(a.stats().readers, 0)
    })

    test('S75 use after close() is StreamClosed, at every word; closing again is nothing', function* (a, b) {
      yield* a.write('unread')
      yield* eventually(() => kind.isPipe === true || b.stats().received === 0)
      yield* b.close()
      const uses: (() => Op<unknown>)[] = [
        () => b.read(),
        () => b.read(5),
        () => b.readExactly(1),
        () => b.readUntil('x'),
        () => b.gets(),
        () => b.readAll(),
        () => b.readLoop(() => {}),
        () => each(b, () => {}),
        () => each(b.lines(), () => {}),
        () => b.write('x'),
        () => b.end('x'),
        () => b.end(),
      ]
      const errors = new Set<Error>()
      for (const useIt of uses) errors.add(yield* thrownBy(useIt()))
      for (const error of errors) assert.ok(error instanceof StreamClosed, `${error}`)
      assert.equal(errors.size, uses.length)
      assert.equal(b.tryWrite('x'), false)
      yield* b.close()
      b.destroy()
      assert.equal(b.isClosed, true)
      assert.equal(b.stats().unread, 0)
    })

    test('S75 several may close at once, and wait for the same', function* (a, b) {
      const closers = [spin(() => b.close()), spin(() => b.close()), spin(() => b.close())]
      for (const closer of closers) yield* closer
      assert.equal(b.isClosed, true)
      yield* a.close()
    })

    testBoth('S75 who gives up waiting in close() closes at once', function* (a, b) {
      const writer = spin(() => outcomeOf(a.write(pattern(MUCH))))
      yield* untilWaiting(writer)
      const closer = spin(() => a.close())
      const other = spin(() => a.close())
      yield* untilWaiting(closer, other)
      yield* closer.stop()
      yield* other
      assert.equal(a.isClosed, true)
      yield* writer
      const last = yield* thrownBy(b.readExactly(MUCH))
      assert.ok(last instanceof UnexpectedEnd || last instanceof IOError, `${last}`)
    })

    test('S75 destroy() closes at once: who writes and who reads gets StreamClosed', function* (a, b) {
      const writer = spin(() => outcomeOf(a.write(pattern(MUCH))))
      yield* untilWaiting(writer)
      a.destroy()
      a.destroy()
      assert.equal(a.isClosed, true)
      assert.ok((yield* writer) instanceof StreamClosed)
      for (const useIt of [() => a.write('x'), () => a.read(), () => a.end()]) {
        assert.ok((yield* thrownBy(useIt())) instanceof StreamClosed)
      }
      if (kind.isPipe) return
      const error = yield* thrownBy(b.readExactly(MUCH))
      assert.ok(error instanceof IOError || error instanceof UnexpectedEnd, `${error}`)
    })

    test('S75 destroy() tells those who wait to read', function* (_, b) {
      const reader = spin(() => thrownBy(b.read()))
      yield* untilWaiting(reader)
      b.destroy()
      assert.ok((yield* reader) instanceof StreamClosed)
    })

    testBoth(
      'S75 the other side has closed: what it sent can be read, then the end; writing fails',
      function* (a, b) {
        yield* a.write('last words')
        yield* a.close()
        assert.equal(text(yield* b.readExactly(10)), 'last words')
        assert.equal(yield* b.read(), undefined)
        let error: any
        while (error === undefined) {
          try {
            yield* b.write('are you there?')
          } catch (caught) {
            error = caught
          }
          yield* turn()
        }
        assert.ok(error instanceof IOError, `${error}`)
        assert.match(error.code, /^(EPIPE|ECONNRESET)$/)
        assert.match(error.message, /\.write\(\) failed: .*\((EPIPE|ECONNRESET)\)/)
        assert.ok(error.cause instanceof Error)
      },
    )

    testBoth(
      'S75 a writer that untilWaiting when the other side closes is not left waiting',
      function* (a, b) {
        const writer = spin(() => outcomeOf(a.write(pattern(MUCH))))
        yield* untilWaiting(writer)
        yield* b.close()
        const error = yield* writer
        assert.ok(error === undefined || error instanceof IOError, `${error}`)
      },
    )

    const { reset } = kind
    if (reset !== undefined) {
      testBoth(
        'S75 a reset: what had come can be read, then each wait throws IOError, in an error of its own',
        function* (a, b) {
          yield* a.write('before\n')
          assert.equal(yield* b.gets(), 'before')
          const waiting: (() => Op<unknown>)[] = [() => b.read(), () => b.gets()]
          const readers = waiting.map((wait) => spin(() => thrownBy(wait())))
          yield* untilWaiting(...readers)
          reset(a)
          const errors: any[] = []
          for (const reader of readers) errors.push(yield* reader)
          for (const use of [() => b.read(), () => b.readAll(), () => b.write('x'), () => b.end()]) {
            errors.push(yield* thrownBy(use()))
          }
          for (const error of errors) {
            assert.ok(error instanceof IOError, `${error}`)
            assert.equal(error.code, 'ECONNRESET')
          }
          assert.equal(new Set(errors).size, errors.length)
          yield* eventually(() => b.isClosed)
          yield* b.close()
          assert.ok((yield* thrownBy(b.read())) instanceof StreamClosed)
        },
      )
    }

    test('S60 use(stream) closes it when the scope is over', function* (a, b) {
      yield* scope(function* () {
        const stream = yield* use(a)
        yield* stream.write('hello')
        if (kind.isPipe) return
        assert.equal(text(yield* b.readExactly(5)), 'hello')
      })
      assert.equal(a.isClosed, true)
      if (!kind.isPipe) assert.equal(yield* b.read(), undefined)
    })
  })
}
