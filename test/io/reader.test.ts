// Reading from streams by fibers: lines, chunks, the order of those who wait, and what a cut wait leaves behind.

import assert from 'node:assert/strict'
import { constants } from 'node:buffer'
import { PassThrough, Readable } from 'node:stream'
import { describe, it } from 'node:test'
import { Fiber, moveOnAfter, type Routine, shield, sleep, snooze, spin, tap, until } from 'polyphony'
import { type Reader, StreamClosed } from 'polyphony/io'
import { leaks, virtual } from 'polyphony/testing'
import { NodeChannel } from '#io/nodechannel'
import { Stream } from '#io/stream'
import { random, thrownBy } from '../prelude.js'

/** Reads from a stream of Node as from standard input. */
function readerAt(name: string, open: () => Readable): Reader {
  return new Stream((stream) => new NodeChannel(name, stream, { readable: open, isIdle: true }))
}

/** A stream to write to, and its reader. */
function pipe(): { stream: PassThrough; reader: Reader } {
  const stream = new PassThrough()
  return { stream, reader: readerAt('pipe', () => stream) }
}

/** A reader of exactly these chunks. */
function readerOf(...chunks: (string | Buffer)[]): Reader {
  return readerAt('chunks', () =>
    Readable.from(
      chunks.map((chunk) => Buffer.from(chunk)),
      { objectMode: false },
    ),
  )
}

function* allLines(reader: Reader): Routine<string[]> {
  const lines: string[] = []
  for (let line: string | undefined; (line = yield* reader.gets()) !== undefined; ) lines.push(line)
  return lines
}

/** Lets streams move what they have. */
const loopTurns = () => until(new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve))))

describe('lines', () => {
  const cases: [string, (string | Buffer)[], string[]][] = [
    ['end with \\n or \\r\\n, which are not part of them', ['a\nb\r\nc\n'], ['a', 'b', 'c']],
    ['may be empty', ['\n\r\na\n\n'], ['', '', 'a', '']],
    ['may lack an end if they are the last', ['a\nb'], ['a', 'b']],
    ['are none where there is no input', [], []],
    ['keep a \\r that is not before a \\n', ['a\rb\nc\r'], ['a\rb', 'c\r']],
    ['may come in pieces', ['on', 'e', '\ntw', 'o\nthr', 'ee\nfour'], ['one', 'two', 'three', 'four']],
    ['may be cut between \\r and \\n', ['a\r', '\nb\r', '\n'], ['a', 'b']],
    [
      'hold characters that were cut in two',
      ['x\ncaf\xe9 ', 'y'].flatMap((text) => [...Buffer.from(text)].map((byte) => Buffer.from([byte]))),
      ['x', 'caf\xe9 y'],
    ],
  ]
  for (const [what, chunks, expected] of cases) {
    it(`lines ${what}`, () =>
      virtual(function* () {
        const reader = readerOf(...chunks)
        assert.deepEqual(yield* allLines(reader), expected)
        assert.equal(yield* reader.gets(), undefined)
      }))
  }

  it('a long line in many chunks comes out whole', () =>
    virtual(function* () {
      const chunks = Array.from({ length: 1000 }, (_, i) => `${i},`)
      const reader = readerOf('short\n', ...chunks, 'end\nafter')
      assert.deepEqual(yield* allLines(reader), ['short', `${chunks.join('')}end`, 'after'])
    }))

  it('an encoding that somebody has set changes nothing', () =>
    virtual(function* () {
      const stream = Readable.from([Buffer.from('caf\xe9\n')], { objectMode: false }).setEncoding('latin1')
      assert.deepEqual(yield* allLines(readerAt('latin', () => stream)), ['caf\xe9'])
    }))
})

describe('a line that is too long for a string', () => {
  /** Zeros, as many as are too many, between two texts. They are only read, so they cost no memory. */
  function tooLong(before: string, after: string): Buffer {
    const bytes = Buffer.alloc(before.length + constants.MAX_STRING_LENGTH + 1 + after.length)
    bytes.write(before)
    bytes.write(after, bytes.length - after.length)
    return bytes
  }

  it('fails the wait it would have gone to, and no other', () =>
    virtual(function* () {
      const { stream, reader } = pipe()
      const unlucky = spin({ link: false }, () => reader.gets({ limit: Infinity }))
      const lucky = spin(() => reader.gets({ limit: Infinity }))
      yield* snooze()
      stream.write(tooLong('', '\nnext\nlast\n'))
      assert.equal((yield* thrownBy(unlucky)).code, 'ERR_STRING_TOO_LONG')
      assert.equal(yield* lucky, 'next')
      assert.equal(yield* reader.gets({ limit: Infinity }), 'last')
    }))

  it('S69 fails a wait that has only begun, and the same op can wait again', () =>
    virtual(function* () {
      const { stream, reader } = pipe()
      stream.write(tooLong('first\n', '\nnext\n'))
      assert.equal(yield* reader.gets({ limit: Infinity }), 'first')
      const op = reader.gets({ limit: Infinity })
      assert.equal((yield* thrownBy(op)).code, 'ERR_STRING_TOO_LONG')
      assert.equal(yield* op, 'next')
    }))

  it('fails the wait at the end of the stream, which is then at its end', () =>
    virtual(function* () {
      const { stream, reader } = pipe()
      const fibers = [1, 2].map(() => spin({ link: false }, () => reader.gets({ limit: Infinity }))) as [
        Fiber,
        Fiber,
      ]
      yield* snooze()
      stream.end(tooLong('', ''))
      assert.equal((yield* thrownBy(fibers[0])).code, 'ERR_STRING_TOO_LONG')
      assert.equal(yield* fibers[1], undefined)
      assert.equal(yield* reader.gets({ limit: Infinity }), undefined)
    }))

  it('can be read as bytes', () =>
    virtual(function* () {
      const { stream, reader } = pipe()
      stream.write(tooLong('', '\n'))
      assert.equal((yield* reader.read())?.length, constants.MAX_STRING_LENGTH + 2)
    }))
})

describe('chunks', () => {
  it('read() gives bytes as they come, and undefined at the end, again and again', () =>
    virtual(function* () {
      const reader = readerOf(Buffer.from([1, 2]), Buffer.from([255]))
      assert.deepEqual(yield* reader.read(), Buffer.from([1, 2]))
      assert.deepEqual(yield* reader.read(), Buffer.from([255]))
      assert.equal(yield* reader.read(), undefined)
      assert.equal(yield* reader.read(), undefined)
    }))

  it('read() and gets() take turns without losing or repeating a byte', () =>
    virtual(function* () {
      const reader = readerOf('head\nbo', 'dy\ntail')
      assert.equal(yield* reader.gets(), 'head')
      assert.equal(String(yield* reader.read()), 'bo')
      assert.equal(yield* reader.gets(), 'dy')
      assert.equal(String(yield* reader.read()), 'tail')
      assert.equal(yield* reader.gets(), undefined)
    }))

  it('read() gives what gets() has looked at in vain', () =>
    virtual(function* () {
      const { stream, reader } = pipe()
      stream.write('half')
      assert.equal(yield* moveOnAfter(10, () => reader.gets(), 'late'), 'late')
      stream.write(' a line\nrest')
      yield* loopTurns()
      assert.equal(String(yield* reader.read()), 'half')
      assert.equal(yield* reader.gets(), ' a line')
      assert.equal(String(yield* reader.read()), 'rest')
    }))
})

describe('who waits', () => {
  it('S52 fibers are served in the order they came, one line each', () =>
    virtual(function* () {
      const { stream, reader } = pipe()
      const fibers = [1, 2, 3].map((n) => spin(`reader ${n}`, () => reader.gets()))
      yield* snooze()
      stream.write('a\nb\nc\nd\n')
      assert.deepEqual(yield* Fiber.await(...fibers), ['a', 'b', 'c'])
      assert.equal(yield* reader.gets(), 'd')
    }))

  it('S52 a fiber that is stopped leaves its place, and nobody else loses theirs', () =>
    virtual(function* () {
      const { stream, reader } = pipe()
      const [first, second, third] = [1, 2, 3].map(() => spin(() => reader.gets())) as [Fiber, Fiber, Fiber]
      yield* snooze()
      yield* second.stop()
      stream.write('a\nb\n')
      assert.deepEqual(yield* Fiber.await(first, third), ['a', 'b'])
    }))

  it('half a line that a leaving fiber had no use for goes to the next, if it has', () =>
    virtual(function* () {
      const { stream, reader } = pipe()
      const line = spin(() => reader.gets())
      yield* snooze()
      const bytes = spin(() => reader.read())
      stream.write('half')
      yield* loopTurns()
      assert.equal(bytes.state, 'waiting')
      yield* line.stop()
      assert.equal(String(yield* bytes), 'half')
    }))

  it('S52 S70 a tap listener that stops those who wait, as one is served, takes no line with it', () =>
    virtual(function* () {
      const { stream, reader } = pipe()
      const { pendingOps } = leaks()
      const fibers = [1, 2, 3, 4].map(() => spin(() => reader.gets())) as [Fiber, Fiber, Fiber, Fiber]
      yield* snooze()
      const untap = tap((event, fiber) => {
        if (event !== 'schedule' || fiber !== fibers[0]) return
        fibers[1].stop()
        fibers[2].stop()
      })
      stream.write('a\nb\nc\nd\n')
      assert.deepEqual(yield* Fiber.await(fibers[0], fibers[2], fibers[3]), ['a', 'b', 'c'])
      untap()
      assert.equal(fibers[1].outcome?.type, 'stopped')
      assert.equal(yield* reader.gets(), 'd')
      assert.equal(leaks().pendingOps, pendingOps)
    }))

  it('a listener of the stream that stops a fiber as the reader pauses takes no line with it', () =>
    virtual(function* () {
      const { stream, reader } = pipe()
      const fiber = spin(() => reader.gets())
      yield* snooze()
      stream.once('pause', () => fiber.stop())
      stream.write('a\nb\n')
      assert.equal(yield* fiber, 'a')
      assert.equal(yield* reader.gets(), 'b')
    }))

  it('S17 a loop that swallows its stop and waits for input again is refused, and ends', () =>
    virtual(function* () {
      for (const what of ['gets', 'read'] as const) {
        const { reader } = pipe()
        let caught = 0
        const deaf = spin('deaf', function* () {
          for (;;) {
            try {
              yield* reader[what]()
            } catch {
              caught++
            }
          }
        })
        yield* snooze()
        yield* deaf.stop()
        assert.deepEqual([deaf.state, caught], ['dead', 3])
      }
    }))

  it('S17 S20 input can be read inside a shield, also while unwinding', () =>
    virtual(function* () {
      const { stream, reader } = pipe()
      let answer: unknown
      const fiber = spin(function* () {
        try {
          yield* sleep()
        } finally {
          answer = yield* shield(() => reader.gets())
        }
      })
      yield* snooze()
      stream.write('yes\n')
      yield* fiber.stop()
      assert.equal(answer, 'yes')
    }))

  it('at the end everybody who waits is told', () =>
    virtual(function* () {
      const { stream, reader } = pipe()
      const fibers = [1, 2, 3].map(() => spin(() => reader.gets()))
      yield* snooze()
      stream.end('last')
      assert.deepEqual(yield* Fiber.await(...fibers), ['last', undefined, undefined])
    }))

  it('S64 a wait is pending work, and the tree says what for', () =>
    virtual(function* () {
      const { stream, reader } = pipe()
      const { pendingOps } = leaks()
      const line = spin(() => reader.gets())
      const bytes = spin(() => reader.read())
      yield* snooze()
      assert.deepEqual([line.waitsFor, bytes.waitsFor], ['pipe.gets()', 'pipe.read()'])
      assert.equal(leaks().pendingOps, pendingOps + 2)
      stream.write('a\nb')
      yield* Fiber.await(line, bytes)
      assert.equal(leaks().pendingOps, pendingOps)
    }))

  it('S52 one op may be waited for by many, each of whom gets the next line', () =>
    virtual(function* () {
      const { stream, reader } = pipe()
      const op = reader.gets()
      const fibers = [1, 2].map(() => spin(() => op))
      yield* snooze()
      stream.write('a\nb\nc\n')
      assert.deepEqual(yield* Fiber.await(...fibers), ['a', 'b'])
      assert.equal(yield* op, 'c')
    }))
})

describe('a cut wait loses nothing', () => {
  const cuts: [string, (reader: Reader) => Routine<unknown>][] = [
    [
      'timed out',
      (reader) =>
        (function* () {
          yield* moveOnAfter(5, () => reader.gets())
        })(),
    ],
    ['stopped', (reader) => cutBy(reader, (fiber) => fiber.stop())],
    ['killed', (reader) => cutBy(reader, (fiber) => fiber.kill())],
    ['struck by raise', (reader) => cutBy(reader, (fiber) => fiber.raise('enough'))],
    ['cancelled', (reader) => cutBy(reader, (fiber) => fiber.cancel())],
  ]
  function* cutBy(reader: Reader, cut: (fiber: Fiber<any>) => unknown): Routine<void> {
    const fiber = spin({ link: false }, function* () {
      try {
        return yield* reader.gets()
      } catch (error) {
        if (!(error instanceof Error)) throw error // a stop
        return error
      }
    })
    yield* loopTurns()
    cut(fiber)
    yield* fiber.join()
  }
  for (const [how, cut] of cuts) {
    it(`a wait that is ${how} leaves its bytes to the next`, () =>
      virtual(function* () {
        const { stream, reader } = pipe()
        stream.write('first\nsec')
        assert.equal(yield* reader.gets(), 'first')
        yield* cut(reader)
        stream.write('ond\nthird\n')
        yield* loopTurns()
        assert.equal(yield* reader.gets(), 'second')
        assert.equal(yield* reader.gets(), 'third')
      }))
  }

  it('S34 a line that has come is received, whatever strikes in the same turn', () =>
    virtual(function* () {
      const { stream, reader } = pipe()
      let received: string | undefined
      const fiber = spin(function* () {
        received = yield* reader.gets()
        yield* snooze()
      })
      yield* snooze()
      stream.on('data', () => fiber.stop()) // after ours: the line is there, the fiber has not run yet
      stream.write('mine\n')
      yield* fiber.join()
      assert.equal(received, 'mine')
    }))

  for (let seed = 1; seed <= 20; seed++) {
    it(`every line arrives once and in order, however input is cut and waits are struck (seed ${seed})`, () =>
      virtual(function* () {
        const { stream, reader } = pipe()
        const next = random(seed)
        const upTo = (n: number) => Math.floor(next() * n)
        const sent = Array.from({ length: 100 }, (_, i) => `${i} ${'\xe9\u{1f600}x'.repeat(upTo(5))}`)
        spin('writer', function* () {
          const bytes = Buffer.from(sent.map((line) => line + (next() < 0.5 ? '\n' : '\r\n')).join(''))
          for (let at = 0, end = 0; at < bytes.length; at = end) {
            end = at + 1 + upTo(40)
            stream.write(bytes.subarray(at, end))
            yield* sleep(upTo(4))
          }
        })
        const received: string[] = []
        function* impatient(): Routine<void> {
          for (;;) {
            const line = yield* moveOnAfter(1 + upTo(4), () => reader.gets())
            if (line !== undefined) received.push(line)
          }
        }
        while (received.length < sent.length) {
          const fiber = spin(impatient)
          yield* sleep(upTo(10))
          yield* fiber.stop()
        }
        assert.deepEqual(received, sent)
      }))
  }
})

describe('what the stream does', () => {
  it('the stream is opened by the first wait, once', () =>
    virtual(function* () {
      let opened = 0
      const reader = readerAt('lazy', () => {
        opened++
        return Readable.from([Buffer.from('a\nb\n')], { objectMode: false })
      })
      const op = reader.gets()
      assert.equal(opened, 0)
      assert.equal(yield* op, 'a')
      yield* reader.gets()
      yield* reader.gets()
      assert.equal(opened, 1)
    }))

  it('nothing is read ahead while nobody waits', () =>
    virtual(function* () {
      const { stream, reader } = pipe()
      stream.write('a\n')
      assert.equal(yield* reader.gets(), 'a')
      while (stream.write('b'.repeat(1000)));
      yield* loopTurns()
      assert.equal(stream.writableNeedDrain, true)
      assert.equal(stream.isPaused(), true)
      assert.equal(stream.listenerCount('data'), 0)
    }))

  it('a source that never ends and never waits gives as much as is asked for', () =>
    virtual(function* () {
      let made = 0
      const stream = new Readable({
        highWaterMark: 10,
        read() {
          this.push(`line ${made++}\n`)
        },
      })
      const reader = readerAt('endless', () => stream)
      for (let i = 0; i < 5; i++) assert.equal(yield* reader.gets(), `line ${i}`)
      yield* loopTurns()
      assert.ok(made < 20, `${made} lines were made for 5 that were read`)
      stream.destroy()
    }))

  it('an error of the stream fails every wait, and the ones after', () =>
    virtual(function* () {
      const { stream, reader } = pipe()
      const error = new Error('cut cable')
      const fibers = [1, 2].map(() => spin({ link: false }, () => reader.gets()))
      yield* snooze()
      stream.destroy(error)
      for (const fiber of fibers) assert.equal((yield* thrownBy(fiber)).cause, error)
      assert.equal((yield* thrownBy(reader.gets())).cause, error)
      assert.equal((yield* thrownBy(reader.read())).cause, error)
    }))

  it('an error that does not destroy the stream fails the waits too', () =>
    virtual(function* () {
      const { stream, reader } = pipe()
      const error = new Error('bad sector')
      stream.write('a\nhalf')
      assert.equal(yield* reader.gets(), 'a')
      const waiting = spin({ link: false }, () => reader.gets())
      yield* snooze()
      stream.emit('error', error)
      assert.equal(stream.destroyed, false)
      assert.equal((yield* thrownBy(waiting)).cause, error)
      assert.equal(String(yield* reader.read()), 'half') // what had come before
      assert.equal((yield* thrownBy(reader.read())).cause, error)
    }))

  it('a stream that somebody else pauses flows on while a fiber waits, and only then', () =>
    virtual(function* () {
      const { stream, reader } = pipe()
      const fiber = spin(() => reader.gets())
      yield* loopTurns()
      stream.pause()
      stream.write('a\n')
      assert.equal(yield* fiber, 'a')
      stream.resume()
      stream.pause()
      yield* loopTurns()
      assert.equal(stream.isPaused(), true)
    }))

  it('one who pauses the stream whenever it flows does not stop the rest of the program', () =>
    virtual(function* () {
      const { stream, reader } = pipe()
      const fiber = spin(() => reader.gets())
      const pause = () => void stream.pause()
      stream.on('resume', pause)
      yield* loopTurns()
      stream.write('a\n')
      yield* loopTurns()
      assert.equal(fiber.state, 'waiting')
      stream.off('resume', pause)
      assert.equal(yield* fiber, 'a')
    }))

  it('an error that comes while nobody waits is told by the next wait, after what had come before', () =>
    virtual(function* () {
      const { stream, reader } = pipe()
      const error = new Error('cut cable')
      stream.write('a\nb\n')
      assert.equal(yield* reader.gets(), 'a')
      stream.destroy(error)
      yield* loopTurns()
      assert.equal(yield* reader.gets(), 'b')
      assert.equal((yield* thrownBy(reader.gets())).cause, error)
    }))

  it('a stream that was destroyed before its end says so', () =>
    virtual(function* () {
      const { stream, reader } = pipe()
      const waiting = spin({ link: false }, () => reader.gets())
      yield* snooze()
      stream.destroy()
      for (const op of [waiting, reader.gets(), reader.read()]) {
        const error = yield* thrownBy(op)
        assert.ok(error instanceof StreamClosed)
        assert.match(error.message, /^pipe\.\w+\(\) can give nothing more: it was closed before its end/)
      }
    }))

  it('a stream that is over before the first wait is at its end', () =>
    virtual(function* () {
      const stream = new PassThrough()
      stream.end()
      stream.resume()
      yield* loopTurns()
      assert.equal(stream.readableEnded, true)
      assert.equal(yield* readerAt('over', () => stream).gets(), undefined)
    }))

  it('an opener that throws fails the wait, and the next one tries again', () =>
    virtual(function* () {
      let tries = 0
      const reader = readerAt('door', () => {
        if (tries++ === 0) throw new Error('locked')
        return Readable.from([Buffer.from('a\n')], { objectMode: false })
      })
      assert.equal((yield* thrownBy(reader.gets())).message, 'door.gets() failed: locked')
      assert.equal(yield* reader.gets(), 'a')
    }))
})
