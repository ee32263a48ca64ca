// What every stream of bytes promises, rule by rule: run against the streams in memory (test/semantics/streams.test.ts) and the
// real ones (test/io/stream.test.ts). Nothing here waits for a time: a test waits for bytes, or for a fiber to wait.

import { IOError, LimitExceeded, pair, pipe, type Stream, StreamClosed, UnexpectedEnd } from 'polyphony/io'
import {
  assert,
  describe,
  each,
  eventually,
  Fiber,
  forEach,
  leaks,
  moveOnAfter,
  type Op,
  type Routine,
  run,
  scope,
  snooze,
  spin,
  test,
  thrownBy,
  turn,
  untilWaiting,
  virtual,
} from '../prelude.js'
import { expiring } from './limits.js'

/** A kind of stream. */
export interface AStream {
  name: string
  /** Two ends: what is written to one can be read from the other. */
  connect(): Op<[Stream, Stream]>
  /** Whether the world takes part: then its time is real. */
  isReal?: boolean
  /** Both ends are one: what is written to it can be read from it. */
  isPipe?: boolean
  /** More bytes than all buffers on the way hold. */
  much: number
  /** Lets the other side see a reset, if that can be done. */
  reset?: (end: Stream) => void
}

type Conversation = (a: Stream, b: Stream, kind: AStream) => Routine<unknown>
type Promises = Record<string, Conversation>
export type Rule = 'S71' | 'S72' | 'S73' | 'S74' | 'S75' | 'S76' | 'words'

export const MEMORY: readonly AStream[] = [
  {
    name: 'a pair in memory',
    *connect() {
      return pair()
    },
    much: 300_000,
    reset: (end) => end.destroy(),
  },
  {
    name: 'a pipe in memory',
    *connect() {
      const stream = pipe()
      return [stream, stream]
    },
    much: 300_000,
    isPipe: true,
  },
]

/** Declares the tests of a rule for a kind of stream. */
export function keeps(rule: Rule, kind: AStream): void {
  const promises = kind.isPipe ? common[rule] : { ...common[rule], ...betweenTwo[rule] }
  for (const [promise, conversation] of Object.entries(promises)) {
    test(`${kind.name}: ${promise}`, () => converse(kind, conversation))
  }
}

/** Declares the tests of all rules. */
export function aStream(kind: AStream): void {
  for (const rule of Object.keys(common) as Rule[]) describe(rule, () => keeps(rule, kind))
}

/** A conversation between two ends, which are closed afterwards; nothing may be left behind. */
async function converse(kind: AStream, conversation: Conversation): Promise<void> {
  const body = function* () {
    const [a, b] = yield* kind.connect()
    try {
      yield* conversation(a, b, kind)
    } finally {
      a.destroy()
      b.destroy()
    }
  }
  if (!kind.isReal) return virtual(body)
  const before = leaks()
  await run(body)
  const { fibers, pendingOps, timers } = leaks()
  assert.deepEqual([fibers, pendingOps, timers], [before.fibers, before.pendingOps, before.timers])
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
const isFilledWith = (bytes: Buffer, value: number) => bytes.equals(Buffer.alloc(bytes.length, value))

/** What an op throws; undefined if nothing. */
export function* outcomeOf(op: Op<unknown>): Routine<any> {
  try {
    yield* op
  } catch (error) {
    return error
  }
}

/** A fiber that waits for this. */
function* waiting<T>(wait: () => Op<T>): Routine<Fiber<T>> {
  const fiber = spin({ link: false }, wait) as Fiber<T>
  yield* untilWaiting(fiber)
  return fiber
}

/** Fibers that wait for these, one after the other; each gives what it is thrown. */
function* allWaiting(waits: readonly (() => Op<unknown>)[]): Routine<Fiber<any>[]> {
  const fibers: Fiber<any>[] = []
  for (const wait of waits) fibers.push(yield* waiting(() => thrownBy(wait())))
  return fibers
}

const cutBy = (cut: (fiber: Fiber) => unknown) =>
  function* (wait: () => Op<unknown>): Routine<void> {
    const fiber = yield* waiting(wait)
    cut(fiber)
    yield* fiber.join()
  }

const cuts: Record<string, (wait: () => Op<unknown>) => Op<unknown>> = {
  stopped: cutBy((fiber) => fiber.stop()),
  killed: cutBy((fiber) => fiber.kill()),
  cancelled: cutBy((fiber) => fiber.cancel()),
  'struck by an error': cutBy((fiber) => fiber.raise('struck')),
  'timed out': (wait) => expiring(moveOnAfter, wait),
}

/** What each kind promises. */
const common: Record<Rule, Promises> = {
  S71: {
    *'read gives what has come, then undefined again and again'(a, b) {
      yield* a.write('hello')
      assert.equal(text(yield* b.read()), 'hello')
      const reader = yield* waiting(() => b.read(4))
      yield* a.end('abcdefg')
      assert.equal(text(yield* reader), 'abcd')
      assert.deepEqual([text(yield* b.read(2)), text(yield* b.read(2))], ['ef', 'g'])
      assert.deepEqual(
        [yield* b.read(), yield* b.read(5), yield* b.gets()],
        [undefined, undefined, undefined],
      )
    },

    *'bytes arrive once and in order, whatever the sizes in which they are written and read'(a, b) {
      const bytes = pattern(700_000)
      const writer = spin(writeAll, a, bytes, 65_537)
      const sizes = [1, 7, 4096, 100_000, 65_536, 3]
      for (let n = 0, at = 0; at < bytes.length; n++) {
        const part = yield* b.readExactly(Math.min(bytes.length - at, sizes[n % sizes.length] as number))
        assert.ok(part.equals(bytes.subarray(at, at + part.length)))
        at += part.length
      }
      assert.equal(yield* b.read(), undefined)
      yield* writer
    },

    *'strings are sent as UTF-8 and bytes as they are, in the order of the chunks'(a, b) {
      const long = 'ünïcödé 🎼 '.repeat(20_000)
      yield* a.write('é', Buffer.from('tag'), new Uint8Array([101, 32]), '', 'à 🎼', Buffer.alloc(0))
      yield* a.write()
      yield* a.write('')
      assert.equal(a.stats().written, 10)
      const ending = spin(() => a.end('.\n', long))
      assert.equal(yield* b.gets(), 'étage à 🎼.')
      assert.equal(text(yield* b.readAll()), long)
      assert.equal(b.stats().received, 16 + Buffer.byteLength(long))
      yield* ending
    },

    *'what several fibers write arrives in the order of the calls, each call whole'(a, b) {
      const order: number[] = []
      const writers = Array.from({ length: 40 }, (_, n) =>
        spin(function* () {
          for (let round = 0; round < 5; round++) {
            order.push(n)
            yield* a.write(Buffer.alloc(1000, n), Buffer.alloc(2000, n))
            yield* snooze()
          }
        }),
      )
      const arrived: number[] = []
      for (let n = 0; n < 200; n++) {
        const bytes = yield* b.readExactly(3000)
        arrived.push(bytes[0] as number)
        assert.ok(isFilledWith(bytes, bytes[0] as number))
      }
      for (const writer of writers) yield* writer
      assert.deepEqual(arrived, order)
    },

    *'fibers that wait to read are served in the order they came, whatever each of them wants'(a, b) {
      const wants = [b.gets(), b.readExactly(3), b.readUntil(';'), b.read(2), b.gets()]
      const fibers: Fiber<unknown>[] = []
      for (const want of wants) fibers.push(yield* waiting<unknown>(() => want))
      assert.equal(b.stats().readers, 5)
      for (const part of ['li', 'ne\nab', 'cx;', 'yzlast', '\n']) yield* a.write(part)
      assert.deepEqual((yield* Fiber.await(...fibers)).map(String), ['line', 'abc', 'x;', 'yz', 'last'])
      assert.equal(b.stats().readers, 0)
    },
  },

  S72: {
    *'a reader that is stopped, killed, cancelled, struck by an error or timed out has taken no byte'(a, b) {
      for (const [how, cut] of Object.entries(cuts)) {
        yield* a.write('ab')
        for (const wait of [b.gets(), b.readExactly(9), b.readUntil('!'), b.readAll()]) yield* cut(() => wait)
        assert.equal(b.stats().readers, 0)
        yield* a.write('cd\n')
        assert.equal(yield* b.gets(), 'abcd', how)
        for (const wait of [() => b.read(), () => b.readLoop(() => {}), () => each(b, () => {})]) {
          yield* cut(wait as () => Op<unknown>)
          yield* a.write('!')
          assert.equal(text(yield* b.readExactly(1)), '!', how)
        }
      }
    },

    *'a writer that is stopped in its wait for room leaves, and its bytes are sent all the same'(a, b, kind) {
      const bytes = pattern(kind.much)
      const writer = yield* waiting(() => a.write(bytes))
      const next = yield* waiting(() => a.write('next'))
      yield* writer.stop()
      assert.deepEqual([next.state, a.stats().writers], ['waiting', 1])
      assert.ok((yield* b.readExactly(kind.much)).equals(bytes))
      assert.equal(text(yield* b.readExactly(4)), 'next')
      yield* next
      assert.equal(a.stats().writers, 0)
    },
  },

  S73: {
    *'what read gives is the caller’s: what comes next does not change it'(a, b) {
      const bytes = pattern(10_000)
      const kept: Buffer[] = []
      for (let at = 0; at < bytes.length; at += 500) {
        yield* a.write(bytes.subarray(at, at + 500))
        kept.push(yield* b.readExactly(250), (yield* b.read()) as Buffer)
      }
      yield* a.end()
      assert.ok(Buffer.concat([...kept, yield* b.readAll()]).equals(bytes))
    },

    *'what write was given may be reused when it has settled'(a, b) {
      for (const size of [100, 5000, 70_000, 300_000]) {
        const [chunk, small] = [Buffer.alloc(size), Buffer.alloc(10)]
        const rounds = Math.min(250, Math.ceil(2_000_000 / size))
        const writer = spin(function* () {
          for (let n = 1; n <= rounds; n++) yield* a.write(chunk.fill(n), small.fill(n))
          chunk.fill(255)
        })
        yield* eventually(() => writer.state === 'waiting' || writer.state === 'dead')
        for (let n = 1; n <= rounds; n++)
          assert.ok(isFilledWith(yield* b.readExactly(size + 10), n), `${size}`)
        yield* writer
      }
    },

    *'what tryWrite was given may be reused at once'(a, b) {
      const [large, small] = [Buffer.alloc(200_000, 1), Buffer.from('small')]
      assert.equal(a.tryWrite(small), true)
      small.fill(0)
      assert.equal(a.tryWrite(large), true)
      large.fill(2)
      assert.equal(text(yield* b.readExactly(5)), 'small')
      assert.ok(isFilledWith(yield* b.readExactly(200_000), 1))
    },

    *'the chunk of a readLoop stays whole until its body has ended, while others receive'(a, b, kind) {
      const [c, d] = yield* kind.connect()
      let count = 0
      const loop = yield* waiting(() =>
        b.readLoop(function* (chunk) {
          if (++count === 1) for (let n = 0; n < 9 && b.stats().unread === 0; n++) yield* turn() // one more comes
          if (count < 3) return
          const other = spin(() => d.readLoop(() => false))
          yield* c.write(pattern(2000, 2))
          yield* other
          assert.ok(chunk.equals(pattern(2000, 1)))
          return false
        }),
      )
      for (const before of [1, 2]) {
        yield* a.write('more')
        yield* eventually(() => count === before)
      }
      yield* a.write(pattern(2000, 1))
      yield* loop
      c.destroy()
      d.destroy()
    },

    *'the chunk of a readLoop whose write was cut is used again only when it is sent'(a, b, kind) {
      const [c, d] = yield* kind.connect()
      const bytes = pattern(2_000_000)
      const writer = spin(writeAll, a, bytes, 50_000)
      const sent: Buffer[] = []
      const loop = spin(function* () {
        yield* b.readLoop(function* (chunk) {
          const { written } = c.stats()
          const sending = spin(() => c.write(chunk)) // d is not read: many of these wait until they are sent, or for room
          yield* eventually(() => sending.state !== 'runnable')
          yield* sending.stop()
          if (c.stats().written > written) sent.push(Buffer.from(chunk))
        })
        yield* c.end()
      })
      yield* writer
      assert.ok((yield* d.readAll()).equals(Buffer.concat(sent)))
      yield* loop
      c.destroy()
      d.destroy()
    },
  },

  S74: {
    *'tryWrite sends while there is room, then nothing, and never waits'(a, b, kind) {
      const chunk = pattern(50_000)
      let count = 0
      while (a.tryWrite(chunk)) {
        assert.ok(++count * chunk.length < kind.much, 'there is room for ever')
        if (count % 20 === 0) yield* turn()
      }
      assert.equal(a.tryWrite('lost'), false)
      for (let n = 0; n < count; n++) assert.ok((yield* b.readExactly(chunk.length)).equals(chunk))
      yield* a.write('!')
      assert.equal(a.tryWrite('after'), true)
      assert.equal(text(yield* b.readExactly(6)), '!after')
    },

    *'a writer waits while the other side does not read, and what lies unread is bounded'(a, b, kind) {
      const bytes = pattern(kind.much)
      const writer = spin(writeAll, a, bytes, 100_000)
      const first = yield* b.readExactly(1)
      // It stands when it has been found waiting with the same count, after the event loop has had its turns.
      for (let same = 0, last = -1; same < 20; last = a.stats().written) {
        yield* turn()
        same = a.stats().written === last && writer.state === 'waiting' ? same + 1 : 0
      }
      assert.ok(a.stats().written < bytes.length)
      assert.equal(a.stats().writers, 1)
      assert.ok(b.stats().unread <= 256 * 1024, `${b.stats().unread} bytes lie unread`)
      assert.ok(Buffer.concat([first, yield* b.readAll()]).equals(bytes))
      yield* writer
    },
  },

  S75: {
    *'end sends what it is given, then the end; writing is over, and ending again is nothing'(a, b) {
      yield* a.end('last', ' words')
      yield* a.end()
      for (const write of [() => a.write('x'), () => a.end('x')]) {
        const error = yield* thrownBy(write())
        assert.ok(error instanceof StreamClosed, `${error}`)
        assert.match(error.message, /failed: the stream was ended for writing/)
      }
      assert.equal(a.tryWrite('x'), false)
      assert.equal(text(yield* b.readAll()), 'last words')
    },

    *'after a close, whatever waits or comes later gets its own StreamClosed; closing again is nothing'(
      a,
      b,
    ) {
      const reads: (() => Op<unknown>)[] = [
        () => b.read(),
        () => b.readExactly(1),
        () => b.readUntil('x'),
        () => b.gets(),
        () => b.readAll(),
        () => b.readLoop(() => {}),
        () => each(b, () => {}),
        () => each(b.lines(), () => {}),
      ]
      const readers = yield* allWaiting(reads)
      yield* Fiber.await(...[1, 2, 3].map(() => spin(() => b.close())))
      assert.deepEqual([b.isClosed, b.stats().readers], [true, 0])
      const errors = new Set<unknown>(yield* Fiber.await(...readers))
      for (const use of [...reads, () => b.write('x'), () => b.end('x'), () => b.end()]) {
        errors.add(yield* thrownBy(use()))
      }
      for (const error of errors) assert.ok(error instanceof StreamClosed, `${error}`)
      assert.equal(errors.size, 2 * reads.length + 3)
      assert.equal(b.tryWrite('x'), false)
      b.destroy()
      yield* b.close()
      yield* a.close()
    },

    *'destroy closes at once: a reader and a writer that wait get StreamClosed'(a, b, kind) {
      const writer = yield* waiting(() => outcomeOf(a.write(pattern(kind.much))))
      const readers = kind.isPipe ? [] : yield* allWaiting([() => a.read()])
      a.destroy()
      assert.equal(a.isClosed, true)
      for (const error of yield* Fiber.await(writer, ...readers)) assert.ok(error instanceof StreamClosed)
      for (const use of [() => a.write('x'), () => a.read(), () => a.end()]) {
        assert.ok((yield* thrownBy(use())) instanceof StreamClosed)
      }
      if (kind.isPipe) return
      const error = yield* thrownBy(b.readExactly(kind.much))
      assert.ok(error instanceof IOError || error instanceof UnexpectedEnd, `${error}`)
    },
  },

  S76: {
    *'a line or delimiter beyond its limit is LimitExceeded, also before it is over; the bytes stay'(a, b) {
      yield* a.write('12345\nabcdef;')
      const tooLong = yield* thrownBy(b.gets({ limit: 4 }))
      assert.ok(tooLong instanceof LimitExceeded)
      assert.match(tooLong.message, /\.gets\(\): a line is longer than 4 bytes\. Give gets\(/)
      assert.equal(yield* b.gets({ limit: 5 }), '12345')
      const error = yield* thrownBy(b.readUntil(';', { limit: 6 }))
      assert.ok(error instanceof LimitExceeded)
      assert.match(error.message, /\.readUntil\(";"\): the delimiter did not come within 6 bytes$/)
      assert.equal(text(yield* b.readUntil(';', { limit: 7 })), 'abcdef;')
      for (const wait of [() => b.gets({ limit: 4 }), () => b.readUntil('\n', { limit: 4 })]) {
        const [reader] = yield* allWaiting([wait as () => Op<unknown>])
        yield* a.write('12345')
        assert.ok((yield* reader as Fiber) instanceof LimitExceeded)
        yield* b.readExactly(5)
      }
    },

    *'readAll takes no more than its limit, and leaves the bytes'(a, b) {
      const bytes = pattern(300_000)
      const writer = spin(writeAll, a, bytes, 7001)
      const error = yield* thrownBy(b.readAll({ limit: 1000 }))
      assert.ok(error instanceof LimitExceeded)
      assert.match(error.message, /\.readAll\(\): more than 1000 bytes came\. Give readAll\(/)
      assert.ok((yield* b.readAll({ limit: 300_000 })).equals(bytes))
      assert.equal((yield* b.readAll()).length, 0)
      yield* writer
    },

    *'an end too early is UnexpectedEnd, and what came is still there'(a, b) {
      yield* a.end('abc')
      const early: [Op<unknown>, RegExp][] = [
        [b.readExactly(5), /readExactly\(5\): the stream ended after 3 bytes$/],
        [b.readUntil('\n'), /readUntil\("\\n"\): the stream ended after 3 bytes, without the delimiter$/],
      ]
      for (const [op, message] of early) {
        const error = yield* thrownBy(op)
        assert.ok(error instanceof UnexpectedEnd)
        assert.match(error.message, message)
      }
      assert.equal(text(yield* b.readExactly(3)), 'abc')
      assert.equal(yield* b.readUntil('\n'), undefined)
    },
  },

  words: {
    *'readExactly puts together what comes in pieces'(a, b) {
      const reader = yield* waiting(() => b.readExactly(6))
      for (const part of ['a', 'bc', 'defg']) {
        yield* a.write(part)
        yield* eventually(() => b.stats().received >= a.stats().written)
      }
      assert.equal(text(yield* reader), 'abcdef')
      assert.equal((yield* b.readExactly(0)).length, 0)
      assert.equal(text(yield* b.readExactly(1)), 'g')
    },

    *'readUntil gives all up to the delimiter, itself included'(a, b) {
      yield* a.end('one--two-', '-three')
      assert.equal(text(yield* b.readUntil('--')), 'one--')
      const delimiter = Buffer.from('--')
      const op = b.readUntil(delimiter)
      delimiter.fill('x') // it is the caller's again
      assert.equal(text(yield* op), 'two--')
      assert.equal(text(yield* b.readAll()), 'three')
    },

    *'readLoop runs a function of any kind for each chunk, until it gives false or the end comes'(a, b) {
      let seen = ''
      const see = (chunk: Buffer) => (seen += chunk).length % 4 !== 0
      function* later(chunk: Buffer) {
        yield* snooze()
        return see(chunk)
      }
      yield* a.write('abcdefghijklmnop')
      for (const body of [later, see, (chunk: Buffer) => scope(() => later(chunk))]) {
        yield* b.readLoop(body as typeof see, { max: 2 })
      }
      assert.equal(seen, 'abcdefghijkl')
      const parser = { text: '', feed: (chunk: Buffer) => (parser.text += chunk).length < 2 }
      yield* b.feedLoop(parser, 'feed', { max: 2 })
      assert.equal(seen + parser.text, 'abcdefghijklmn')
      yield* a.end()
      yield* b.readLoop((chunk) => void (seen += chunk))
      assert.equal(seen, 'abcdefghijklop')
    },

    *'an error in the body of readLoop is thrown there, and what comes then is not lost'(a, b) {
      yield* a.write('one')
      const failing = b.readLoop(function* () {
        yield* a.write('two')
        throw new Error('in the body')
      })
      assert.equal((yield* thrownBy(failing)).message, 'in the body')
      assert.equal(text(yield* b.readExactly(3)), 'two')
    },

    *'a stream is a source of chunks, and of lines; leaving early leaves it open, and the rest in it'(a, b) {
      yield* a.write('one\n')
      yield* each(b, (chunk) => {
        assert.equal(text(chunk), 'one\n')
        return false
      })
      yield* a.write('two\r\nthree\nfour\n')
      const lines: string[] = []
      yield* each(b.lines(), (line) => lines.push(line) < 2)
      assert.deepEqual([lines, b.isClosed], [['two', 'three'], false])
      yield* a.end()
      assert.deepEqual(yield* forEach(b.lines(), (line) => line.length), [4])
      yield* each(b, () => assert.fail('it is at its end'))
    },
  },
}

/** What a kind promises whose two ends are not one. */
const betweenTwo: Partial<Record<Rule, Promises>> = {
  S75: {
    *'after end the answer can still be read; when both sides have ended, the stream closes by itself'(a, b) {
      yield* a.end('hello')
      assert.equal(text(yield* b.readAll()), 'hello')
      assert.deepEqual([a.isClosed, b.isClosed], [false, false])
      yield* b.end('you said hello')
      assert.equal(text(yield* a.readAll()), 'you said hello')
      yield* eventually(() => a.isClosed && b.isClosed)
      assert.equal(yield* a.read(), undefined)
      yield* a.close()
    },

    *'close sends what was written, then closes; the other side reads all of it, then the end'(a, b) {
      const bytes = pattern(1_000_000)
      const writer = spin(() => outcomeOf(a.write(bytes)))
      yield* eventually(() => a.stats().written === bytes.length)
      const closer = spin(() => a.close())
      yield* eventually(() => closer.state === 'waiting' || closer.state === 'dead')
      assert.ok((yield* b.readAll()).equals(bytes))
      yield* closer
      yield* writer
      assert.equal(a.isClosed, true)
    },

    *'a fiber that gives up waiting in close closes at once; others that wait in it are told what is lost'(
      a,
      b,
      kind,
    ) {
      const writer = yield* waiting(() => outcomeOf(a.write(pattern(kind.much))))
      const closer = yield* waiting(() => a.close())
      const other = yield* waiting(() => outcomeOf(a.close()))
      yield* closer.stop()
      const lost = yield* other
      assert.ok(lost instanceof StreamClosed, `${lost}`)
      assert.match(lost.message, /\.close\(\) failed: the stream was destroyed before .* \d+ bytes are lost$/)
      yield* writer
      const error = yield* thrownBy(b.readExactly(kind.much))
      assert.ok(error instanceof UnexpectedEnd || error instanceof IOError, `${error}`)
    },

    *'closed by the other side: what it sent can be read, then the end, also if writing has failed'(a, b) {
      yield* a.write('last words')
      yield* a.close()
      assert.equal(text(yield* b.readExactly(4)), 'last')
      let error: any
      for (; error === undefined; error = yield* outcomeOf(b.write('are you there?'))) yield* turn()
      assert.ok(error instanceof IOError, `${error}`)
      assert.match(error.message, /\.write\(\) failed: .*\((EPIPE|ECONNRESET)\)/)
      assert.ok(error.cause instanceof Error)
      if (error.code === 'EPIPE') assert.equal(text(yield* b.readExactly(6)), ' words')
    },

    *'a writer that waits when the other side closes is not left waiting'(a, b, kind) {
      const writer = yield* waiting(() => outcomeOf(a.write(pattern(kind.much))))
      yield* b.close()
      const error = yield* writer
      assert.ok(error === undefined || error instanceof IOError, `${error}`)
    },

    *'broken: what had come can be read, then each wait throws an IOError of its own'(a, b, { reset }) {
      if (reset === undefined) return
      yield* a.write('before\n')
      assert.equal(yield* b.gets(), 'before')
      const readers = yield* allWaiting([() => b.read(), () => b.gets()])
      reset(a)
      const errors = new Set<any>()
      for (const reader of readers) errors.add(yield* reader)
      for (const use of [() => b.read(), () => b.readAll(), () => b.write('x'), () => b.end()]) {
        errors.add(yield* thrownBy(use() as Op<unknown>))
      }
      assert.equal(errors.size, 6)
      for (const error of errors) {
        assert.ok(error instanceof IOError, `${error}`)
        assert.equal(error.code, 'ECONNRESET')
      }
      yield* eventually(() => b.isClosed)
      yield* b.close()
      assert.ok((yield* thrownBy(b.read())) instanceof StreamClosed)
    },
  },
}
