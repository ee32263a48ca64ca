// What happens between a stream and its channel (src/io/flow.ts), with a channel that does as it is told: answers that come at
// once, twice, too late, in the wrong order or not at all, and listeners that act in the middle of everything.

import assert from 'node:assert/strict'
import { constants } from 'node:buffer'
import { describe, it } from 'node:test'
import { BadArgument, each, ensure, Fiber, moveOnAfter, type Op, sleep, snooze, spin, tap } from 'polyphony'
import { type Chunk, IOError, type Receiver, StreamClosed } from 'polyphony/io'
import { virtual } from 'polyphony/testing'
import { BaseChannel } from '#io/channel'
import { Stream } from '#io/stream'
import { thrownBy } from '../prelude.js'

type Call = 'resume' | 'pause' | 'write' | 'end' | 'close' | 'destroy'

interface Script extends Partial<Record<Call, (receiver: Receiver, chunk: Chunk) => unknown>> {
  isOutside?: boolean
  isPatient?: boolean
  readAhead?: number
}

/** Writes down what it is asked to do, and does what a test says. */
class Scripted extends BaseChannel {
  readonly name = 'script'
  readonly calls: string[] = []

  constructor(
    readonly receiver: Receiver,
    private readonly script: Script,
  ) {
    super()
    const { isOutside = false, isPatient = false, readAhead = 64 * 1024 } = script
    Object.assign(this, { isOutside, isPatient, readAhead })
  }

  private call(call: Call, chunk: Chunk = ''): unknown {
    this.calls.push(`${call}${chunk}`)
    return this.script[call]?.(this.receiver, chunk)
  }
  resume() {
    this.call('resume')
  }
  pause() {
    this.call('pause')
  }
  write(chunk: Chunk): boolean {
    return (this.call('write', chunk) ?? true) as boolean
  }
  end() {
    this.call('end')
  }
  close() {
    this.call('close')
  }
  destroy() {
    this.call('destroy')
  }
}

function scripted(script: Script = {}): { stream: Stream; channel: Scripted; receiver: Receiver } {
  const stream = new Stream((receiver) => new Scripted(receiver, script))
  const channel = (stream as any).channel as Scripted
  return { stream, channel, receiver: channel.receiver }
}

/** How many waits hold this world. */
const pending = () => (Fiber.current as any).runtime.stats().pendingOps

/** What it throws is its value. */
const failing = (op: () => Op<unknown>) => spin(() => thrownBy(op()))
const broken = (code = 'EBROKEN') => Object.assign(new Error('it broke'), { code })

function assertBroken(error: any, code = 'EBROKEN'): void {
  assert.ok(error instanceof IOError, `${error}`)
  assert.equal(error.code, code)
  assert.equal((error.cause as Error).message, 'it broke')
}

describe('room to write', () => {
  it('S74 who waits for room is not forgotten when a later write would find some', () =>
    virtual(function* () {
      const { stream, receiver } = scripted({ write: (_, chunk) => chunk !== 'large' })
      const first = spin(() => stream.write('large'))
      yield* snooze()
      const second = spin(() => stream.write('small'))
      yield* snooze()
      assert.deepEqual([first.state, second.state, stream.stats().writers], ['waiting', 'waiting', 2])
      assert.equal(stream.tryWrite('none'), false)
      receiver.drained()
      yield* Fiber.await(first, second)
      assert.equal(stream.tryWrite('some'), true)
    }))

  it('S73 a write of several chunks waits if one of them was not taken, though others were', () =>
    virtual(function* () {
      const { stream, receiver } = scripted({ write: (_, chunk) => chunk !== 'large' })
      const writer = spin(() => stream.write('a', 'large', 'b'))
      yield* snooze()
      assert.equal(writer.state, 'waiting')
      receiver.drained()
      yield* writer
    }))

  it('a channel may say that it is drained in the middle of a write()', () =>
    virtual(function* () {
      const { stream } = scripted({
        write(receiver, chunk) {
          if (chunk === 'a') return false
          receiver.drained()
          return true
        },
      })
      yield* stream.write('a', 'b')
      const writer = spin(() => stream.write('a'))
      yield* snooze()
      yield* stream.write('b')
      yield* writer
    }))

  it('S35 a channel that tells how far it has come lets those go on whose chunks are sent', () =>
    virtual(function* () {
      const { stream, receiver } = scripted({ write: () => false })
      const writers = ['one', 'three', 'five!'].map((chunk) => spin(() => stream.write(chunk)))
      yield* snooze()
      receiver.drained(8)
      yield* snooze()
      assert.deepEqual(
        writers.map(({ state }) => state),
        ['dead', 'dead', 'waiting'],
      )
      assert.equal(stream.tryWrite('x'), false)
      receiver.drained(13)
      yield* writers[2] as Fiber
      assert.equal(stream.tryWrite('x'), true)
    }))

  it('S75 room that comes while the end is being sent is for writers; the end waits for its own', () =>
    virtual(function* () {
      const { stream, receiver } = scripted({ write: () => false })
      const writer = spin(() => stream.write('a'))
      yield* snooze()
      const ending = spin(() => stream.end('b'))
      const again = spin(() => stream.end())
      yield* snooze()
      assert.deepEqual([writer.state, ending.state, again.state], ['waiting', 'waiting', 'waiting'])
      receiver.drained()
      yield* snooze()
      assert.deepEqual([writer.state, ending.state, again.state], ['dead', 'waiting', 'waiting'])
      receiver.finished()
      yield* Fiber.await(writer, ending, again)
      yield* stream.end()
    }))

  it('what cannot be sent is told to those who wait, and the stream lives on', () =>
    virtual(function* () {
      let isFull = true
      const { stream, receiver } = scripted({ write: () => !isFull })
      const writers = [failing(() => stream.write('a')), failing(() => stream.write('b'))]
      yield* snooze()
      receiver.refused(broken())
      const [one, two] = yield* Fiber.await(...writers)
      assertBroken(one)
      assertBroken(two)
      assert.notEqual(one, two)
      isFull = false
      yield* stream.write('c')
    }))
})

describe('a channel that answers in the middle of a call', () => {
  it('S75 breaks while it is written to: the write fails, and does not wait', () =>
    virtual(function* () {
      const { stream } = scripted({
        write(receiver) {
          receiver.failed(broken())
          return false
        },
      })
      assertBroken(yield* thrownBy(stream.write('a')))
      assertBroken(yield* thrownBy(stream.end()))
      assertBroken(yield* thrownBy(stream.read()))
      assert.equal(stream.stats().writers, 0)
    }))

  it('S75 closes while it is written to, or while it is ended: nobody waits', () =>
    virtual(function* () {
      const closing = (receiver: Receiver) => {
        receiver.closed()
        return false
      }
      for (const use of [(stream: Stream) => stream.write('a'), (stream: Stream) => stream.end()]) {
        const { stream } = scripted({ write: closing, end: closing })
        assert.ok((yield* thrownBy(use(stream))) instanceof StreamClosed)
        assert.equal(stream.stats().writers, 0)
      }
    }))

  it('breaks and closes while it is being closed: close() throws, and it is closed', () =>
    virtual(function* () {
      const { stream } = scripted({
        close(receiver) {
          receiver.failed(broken())
          receiver.closed()
        },
      })
      assertBroken(yield* thrownBy(stream.close()))
      assert.equal(stream.isClosed, true)
      yield* stream.close()
    }))

  it('gives bytes, the end, or an error while it is resumed', () =>
    virtual(function* () {
      const gives = scripted({ resume: (receiver) => void receiver.received(Buffer.from('abc'), true) })
      assert.equal(`${yield* gives.stream.read()}`, 'abc')
      const ends = scripted({ resume: (receiver) => receiver.ended() })
      assert.equal(yield* ends.stream.read(), undefined)
      const breaks = scripted({ resume: (receiver) => receiver.failed(broken()) })
      assertBroken(yield* thrownBy(breaks.stream.read()))
      const closes = scripted({ resume: (receiver) => receiver.closed() })
      assert.ok((yield* thrownBy(closes.stream.read())) instanceof StreamClosed)
    }))
})

describe('a channel that throws', () => {
  const throwing = () => {
    throw broken()
  }

  it('S75 from write or end: IOError at the yield* that asked, and it can be tried again', () =>
    virtual(function* () {
      const { stream } = scripted({ write: throwing, end: throwing })
      const errors: unknown[] = []
      for (const use of [
        () => stream.write('a'),
        () => stream.write('b'),
        () => stream.end(),
        () => stream.end(),
      ])
        errors.push(yield* thrownBy(use()))
      for (const error of errors) assertBroken(error)
      assert.equal(new Set(errors).size, 4)
      assert.match(`${errors[0]}`, /^IOError: script\.write\(\) failed: it broke \(EBROKEN\)/)
      assert.equal(stream.tryWrite('a'), false)
      assert.equal(stream.isClosed, false)
    }))

  it('from resume: the wait fails, nobody is left in line, and the next one tries again', () =>
    virtual(function* () {
      let count = 0
      const { stream } = scripted({
        resume(receiver) {
          if (++count < 3) throw broken()
          receiver.received(Buffer.from('at last'), true)
        },
      })
      assertBroken(yield* thrownBy(stream.read()))
      assertBroken(yield* thrownBy(stream.gets()))
      assert.equal(stream.stats().readers, 0)
      assert.equal(`${yield* stream.read()}`, 'at last')
    }))

  it('from resume, after it gave bytes: they are received, and the stream is broken', () =>
    virtual(function* () {
      const { stream } = scripted({
        resume(receiver) {
          receiver.received(Buffer.from('abc'), true)
          throw broken()
        },
      })
      assert.equal(`${yield* stream.read()}`, 'abc')
      assertBroken(yield* thrownBy(stream.read()))
    }))

  it('S75 from close: IOError, and it is closed at once', () =>
    virtual(function* () {
      const { stream, channel } = scripted({ close: throwing, destroy: (receiver) => receiver.closed() })
      assertBroken(yield* thrownBy(stream.close()))
      assert.deepEqual(channel.calls, ['close', 'destroy'])
      assert.equal(stream.isClosed, true)
      yield* stream.close()
    }))

  it('from destroy: that is thrown, and nobody is left waiting', () =>
    virtual(function* () {
      const { stream } = scripted({ destroy: throwing })
      const closer = spin(() => stream.close())
      yield* snooze()
      assert.throws(() => stream.destroy(), IOError)
      yield* closer
      yield* stream.close()
    }))

  it('from close and from destroy: the first error is told', () =>
    virtual(function* () {
      const { stream } = scripted({
        close() {
          throw broken('EFIRST')
        },
        destroy: throwing,
      })
      assertBroken(yield* thrownBy(stream.close()), 'EFIRST')
      yield* stream.close()
    }))
})

describe('the end of what comes', () => {
  it('S75 an end that has come stays an end, though writing breaks later', () =>
    virtual(function* () {
      const { stream, receiver } = scripted()
      receiver.received(Buffer.from('whole'), true)
      receiver.ended()
      receiver.failed(broken())
      assertBroken(yield* thrownBy(stream.write('x')))
      assert.equal(`${yield* stream.readAll()}`, 'whole')
      assert.equal(yield* stream.read(), undefined)
      receiver.closed()
      assert.equal(yield* stream.gets(), undefined)
    }))

  it('what comes after the end, after an error and after the close is not received', () =>
    virtual(function* () {
      for (const end of ['ended', 'failed', 'closed'] as const) {
        const { stream, receiver } = scripted()
        receiver.received(Buffer.from('abc'), true)
        if (end === 'failed') receiver.failed(broken())
        else receiver[end]()
        assert.equal(receiver.received(Buffer.from('def'), true), false)
        receiver.ended()
        assert.equal(`${yield* stream.read()}`, 'abc')
        if (end === 'ended') assert.equal(yield* stream.read(), undefined)
        else yield* thrownBy(stream.read())
      }
    }))

  it('an empty chunk is nothing: a reader goes on waiting', () =>
    virtual(function* () {
      const { stream, receiver } = scripted()
      const reader = spin(() => stream.read())
      yield* snooze()
      assert.equal(receiver.received(Buffer.alloc(0), true), true)
      yield* snooze()
      assert.equal(reader.state, 'waiting')
      receiver.received(Buffer.from('abc'), false)
      assert.equal(`${yield* reader}`, 'abc')
    }))

  it('an error without a reason is an error all the same', () =>
    virtual(function* () {
      for (const reason of [null, undefined]) {
        const { stream, receiver } = scripted()
        receiver.failed(reason)
        const error = yield* thrownBy(stream.read())
        assert.ok(error instanceof IOError, `${error}`)
      }
    }))

  it('S74 a channel is told to stop at its limit, and asked again by the next who has to wait', () =>
    virtual(function* () {
      const { stream, channel, receiver } = scripted({ readAhead: 10 })
      const reader = spin(() => stream.readExactly(12))
      yield* snooze()
      assert.equal(receiver.received(Buffer.alloc(11), true), true) // somebody waits for more
      assert.equal(receiver.received(Buffer.alloc(6), true), true)
      yield* reader
      assert.equal(receiver.received(Buffer.alloc(5), true), false)
      yield* stream.readExactly(10)
      assert.deepEqual(channel.calls, ['resume'])
      const next = spin(() => stream.read())
      yield* snooze()
      assert.deepEqual(channel.calls, ['resume', 'resume'])
      receiver.received(Buffer.from('x'), true)
      yield* next
    }))

  it('a channel that does not read ahead is told to stop when the last who waits has left, however it left', () =>
    virtual(function* () {
      const { stream, channel, receiver } = scripted({ readAhead: 0 })
      const readers = [spin(() => stream.read()), spin(() => stream.gets())]
      yield* snooze()
      yield* (readers[0] as Fiber).stop()
      assert.deepEqual(channel.calls, ['resume'])
      yield* (readers[1] as Fiber).kill()
      assert.deepEqual(channel.calls, ['resume', 'pause'])
      const loop = failing(() =>
        stream.readLoop(() => {
          throw new Error('in the body')
        }),
      )
      yield* snooze()
      assert.equal(receiver.received(Buffer.from('x'), true), false) // it is told by the answer
      yield* loop
      assert.deepEqual(channel.calls, ['resume', 'pause', 'resume'])
    }))
})

describe('closing', () => {
  it('S75 an error while it is being closed is thrown to everybody who closes, and to who still wrote', () =>
    virtual(function* () {
      const { stream, receiver } = scripted({ write: () => false })
      const writer = failing(() => stream.write('a'))
      yield* snooze()
      const closers = [failing(() => stream.close()), failing(() => stream.close())]
      yield* snooze()
      receiver.failed(broken())
      receiver.closed()
      const errors = yield* Fiber.await(writer, ...closers)
      for (const error of errors) assertBroken(error)
      assert.equal(new Set(errors).size, 3)
      yield* stream.close()
    }))

  it('S75 an error that came before is not thrown by close()', () =>
    virtual(function* () {
      const { stream, receiver } = scripted({ close: (of) => of.closed() })
      receiver.failed(broken())
      yield* stream.close()
      assert.ok((yield* thrownBy(stream.read())) instanceof StreamClosed)
    }))

  it('a close that went wrong is thrown by close()', () =>
    virtual(function* () {
      const { stream } = scripted({ close: (receiver) => receiver.closed(broken()) })
      assertBroken(yield* thrownBy(stream.close()))
      const gone = scripted()
      gone.receiver.closed(broken())
      assertBroken(yield* thrownBy(gone.stream.read()))
    }))

  it('S75 who waits in close() while somebody else destroys goes on', () =>
    virtual(function* () {
      const { stream, receiver } = scripted({ destroy: (of) => of.closed() })
      const closer = spin(() => stream.close())
      yield* snooze()
      stream.destroy()
      receiver.failed(broken()) // nobody asked
      yield* closer
    }))

  it('what comes while it is being closed is thrown away, and does not stop the channel', () =>
    virtual(function* () {
      const { stream, receiver } = scripted({ readAhead: 2 })
      const closer = spin(() => stream.close())
      yield* snooze()
      assert.equal(receiver.received(Buffer.alloc(100), true), true)
      assert.equal(stream.stats().unread, 0)
      receiver.closed()
      yield* closer
      assert.equal(receiver.received(Buffer.alloc(100), true), false)
      assert.equal(stream.stats().unread, 0)
    }))

  it('end() is refused, not waited for, when the stream broke while the end was being sent', () =>
    virtual(function* () {
      const { stream, receiver } = scripted()
      const ending = failing(() => stream.end())
      yield* snooze()
      receiver.failed(broken())
      assertBroken(yield* ending)
      assertBroken(yield* thrownBy(stream.end()))
      receiver.closed()
      assertBroken(yield* thrownBy(stream.end()))
    }))

  it('closed twice, finished twice, drained when it was not full: nothing', () =>
    virtual(function* () {
      const { stream, receiver } = scripted({ end: (of) => of.finished() })
      receiver.drained()
      yield* stream.write('a')
      yield* stream.end()
      receiver.finished()
      receiver.drained()
      receiver.closed()
      receiver.closed()
      assert.equal(stream.isClosed, true)
      stream.destroy()
      stream.destroy()
      yield* stream.close()
    }))
})

describe('a channel whose operations cannot be taken back', () => {
  it('S35 a writer that is stopped waits until its chunk is written', () =>
    virtual(function* () {
      const { stream, receiver } = scripted({ write: () => false, isPatient: true })
      const writer = spin(() => stream.write('a'))
      yield* snooze()
      writer.stop()
      yield* sleep(10)
      assert.equal(writer.state, 'waiting')
      receiver.drained()
      const outcome = yield* writer.join()
      assert.equal(outcome.type, 'stopped')
      assert.equal(stream.stats().writers, 0)
    }))

  it('S35 a writer that is stopped goes when the stream breaks', () =>
    virtual(function* () {
      const { stream, receiver } = scripted({ write: () => false, isPatient: true })
      const writer = spin(() => stream.write('a'))
      yield* snooze()
      writer.stop()
      yield* sleep(10)
      receiver.failed(broken())
      assert.equal((yield* writer.join()).type, 'stopped')
    }))

  it('S35 when nobody could wait for it, its answer does not wake the fiber from another wait', () =>
    virtual(function* () {
      for (const answer of ['drained', 'failed', 'closed', 'finished'] as const) {
        const { stream, receiver } = scripted({ write: () => false, isPatient: true })
        const start = (Fiber.current as any).runtime.now()
        const fiber = spin(function* () {
          yield* moveOnAfter(5, () => stream.write('a'), { grace: 5 })
          yield* sleep(100)
          return (Fiber.current as any).runtime.now() - start
        })
        yield* sleep(50)
        if (answer === 'failed') receiver.failed(broken())
        else receiver[answer]()
        assert.equal(yield* fiber, 110)
        assert.equal(stream.stats().writers, 0)
      }
    }))
})

describe('who waits holds the process', () => {
  it('S64 exactly as long as it waits, however the wait ends', () =>
    virtual(function* () {
      const ways: ((script: ReturnType<typeof scripted>, fiber: Fiber<any>) => void)[] = [
        (_, fiber) => void fiber.stop(),
        (_, fiber) => void fiber.kill(),
        (_, fiber) => void fiber.raise('struck'),
        ({ stream }) => stream.destroy(),
        ({ receiver }) => receiver.failed(broken()),
        ({ receiver }) => receiver.closed(),
        ({ receiver }) => {
          receiver.received(Buffer.from('a line\n'), true)
          receiver.drained()
          receiver.finished()
          receiver.closed()
        },
      ]
      const uses: ((stream: Stream) => Op<unknown>)[] = [
        (stream) => stream.read(),
        (stream) => stream.gets(),
        (stream) => stream.readLoop(() => false),
        (stream) => each(stream, () => false),
        (stream) => stream.write('a'),
        (stream) => stream.end(),
        (stream) => stream.close(),
      ]
      for (const use of uses) {
        for (const end of ways) {
          const script = scripted({ isOutside: true, write: () => false, destroy: (of) => of.closed() })
          const before = pending()
          const fiber = spin({ link: false }, function* () {
            try {
              yield* use(script.stream)
            } catch {}
          })
          yield* snooze()
          assert.equal(pending(), before + 1, `${use}`)
          end(script, fiber)
          yield* fiber.join()
          assert.equal(pending(), before, `${use}, ${end}`)
          assert.equal((Fiber.current as any).runtime.external, before)
        }
      }
    }))
})

describe('S70 a listener that acts in the middle of an answer', () => {
  /** Runs `act` once, when a fiber is first answered after this. */
  function whenAnswered(act: () => void): () => void {
    let isDone = false
    return tap((event) => {
      if (event !== 'schedule' || isDone) return
      isDone = true
      act()
    })
  }

  const acts: Record<string, (stream: Stream, others: Fiber<any>[]) => void> = {
    'stops another who waits': (_, others) => void others[1]?.stop(),
    'kills all who wait': (_, others) => {
      for (const other of others.slice(1)) other.kill()
    },
    'destroys the stream': (stream) => stream.destroy(),
    'writes to the stream': (stream) => void stream.tryWrite('x'),
  }
  for (const [what, act] of Object.entries(acts)) {
    it(`and ${what}: nobody is left waiting, nothing comes twice`, () =>
      virtual(function* () {
        const { stream, receiver } = scripted({ isOutside: true, destroy: (of) => of.closed() })
        const got: string[] = []
        const before = pending()
        const readers = [1, 2, 3].map(() =>
          spin({ link: false }, function* () {
            try {
              got.push(`${yield* stream.readExactly(2)}`)
            } catch (error) {
              if (!(error instanceof StreamClosed)) throw error
            }
          }),
        )
        yield* snooze()
        const untap = whenAnswered(() => act(stream, readers))
        receiver.received(Buffer.from('aabbcc'), true)
        untap()
        if (!stream.isClosed) receiver.received(Buffer.from('dd'), true)
        receiver.ended()
        for (const reader of readers) yield* reader.join()
        assert.deepEqual(got, ['aa', 'bb', 'cc'].slice(0, got.length))
        assert.ok(got.length > 0)
        assert.deepEqual([stream.stats().readers, pending()], [0, before])
      }))
  }

  it('and closes the stream as bytes arrive for one who takes them as they come', () =>
    virtual(function* () {
      const { stream, receiver } = scripted({ close: (of) => of.closed(), destroy: (of) => of.closed() })
      const reader = spin(() => stream.read())
      yield* snooze()
      const untap = whenAnswered(() => stream.destroy())
      receiver.received(Buffer.from('abc'), true)
      untap()
      assert.equal(`${yield* reader}`, 'abc')
      assert.ok((yield* thrownBy(stream.read())) instanceof StreamClosed)
    }))

  it('and destroys the stream as writers are let go', () =>
    virtual(function* () {
      const { stream, receiver } = scripted({ write: () => false, destroy: (of) => of.closed() })
      const writers = [1, 2, 3].map(() =>
        spin(function* () {
          try {
            yield* stream.write('a')
            return 'sent'
          } catch (error) {
            return error instanceof StreamClosed ? 'closed' : error
          }
        }),
      )
      yield* snooze()
      const untap = whenAnswered(() => stream.destroy())
      receiver.drained()
      untap()
      assert.deepEqual(yield* Fiber.await(...writers), ['sent', 'closed', 'closed'])
    }))

  it('and destroys the stream while it is being closed', () =>
    virtual(function* () {
      const { stream, channel } = scripted({ destroy: (of) => of.closed() })
      const reader = failing(() => stream.read())
      yield* snooze()
      const untap = whenAnswered(() => stream.destroy())
      yield* stream.close()
      untap()
      assert.ok((yield* reader) instanceof StreamClosed)
      assert.deepEqual(channel.calls, ['resume', 'destroy'])
    }))
})

describe('misuse, in words', () => {
  const cases: [what: string, use: (stream: any) => unknown, message: RegExp][] = [
    ['write(5)', (s) => s.write(5), /script\.write\(\) needs strings or bytes \(Uint8Array\), got 5/],
    ['write(a, null)', (s) => s.write('a', null), /script\.write\(\) needs strings or bytes .*got null/],
    ['write(array)', (s) => s.write(['a']), /script\.write\(\) needs strings or bytes/],
    ['write(floats)', (s) => s.write(new Float64Array(1)), /script\.write\(\) needs strings or bytes/],
    ['tryWrite()', (s) => s.tryWrite({}), /script\.tryWrite\(\) needs strings or bytes/],
    ['end(5)', (s) => s.end(5), /script\.end\(\) needs strings or bytes .*got 5/],
    ['read(0)', (s) => s.read(0), /script\.read\(max\) needs a whole number, 1 or more, got 0/],
    ['read(text)', (s) => s.read('a'), /script\.read\(max\) needs a whole number/],
    ['readExactly()', (s) => s.readExactly(), /script\.readExactly\(count\) needs a whole number, 0 or more/],
    ['readExactly(1.5)', (s) => s.readExactly(1.5), /whole number, 0 or more, got 1\.5/],
    [
      'readExactly(too many)',
      (s) => s.readExactly(constants.MAX_LENGTH + 1),
      /script\.readExactly\(count\): no buffer holds \d+ bytes/,
    ],
    ['readUntil()', (s) => s.readUntil(), /script\.readUntil\(\) needs strings or bytes/],
    ['readUntil(empty)', (s) => s.readUntil(''), /needs a delimiter that is not empty/],
    ['gets(text)', (s) => s.gets('x'), /script\.gets\(\) needs an object of options, got "x"/],
    ['gets(unknown)', (s) => s.gets({ max: 5 }), /script\.gets\(\) has no option "max"; there are: limit/],
    [
      'gets(limit 0)',
      (s) => s.gets({ limit: 0 }),
      /limit of script\.gets\(\) needs a whole number, 1 or more/,
    ],
    ['lines(unknown)', (s) => s.lines({ max: 5 }), /script\.lines\(\) has no option "max"/],
    ['readAll(limit)', (s) => s.readAll({ limit: '1' }), /limit of script\.readAll\(\) needs a whole number/],
    ['readAll(null)', (s) => s.readAll(null), /script\.readAll\(\) needs an object of options, got null/],
    ['readLoop()', (s) => s.readLoop(), /script\.readLoop\(\) needs a function\* to run, got undefined/],
    [
      'readLoop(async)',
      (s) => s.readLoop(async () => {}),
      /script\.readLoop\(\) was given the async function/,
    ],
    ['readLoop(unknown)', (s) => s.readLoop(() => {}, { size: 1 }), /has no option "size"; there are: max/],
    [
      'readLoop(max)',
      (s) => s.readLoop(() => {}, { max: 0 }),
      /max of script\.readLoop\(\) needs a whole number/,
    ],
    ['feedLoop()', (s) => s.feedLoop({}, 'feed'), /script\.feedLoop\(\) found no method "feed"/],
    [
      'feedLoop(null)',
      (s) => s.feedLoop(null, 'feed'),
      /script\.feedLoop\(\) found no method "feed" in null/,
    ],
  ]
  for (const [what, use, message] of cases) {
    it(`${what} is refused at the call`, () => {
      const { stream } = scripted()
      assert.throws(
        () => use(stream),
        (error) => error instanceof BadArgument && message.test(error.message),
      )
    })
  }

  it('a body of readLoop() that returns a promise is told so', () =>
    virtual(function* () {
      const { stream, receiver } = scripted()
      receiver.received(Buffer.from('a'), true)
      const error = yield* thrownBy(stream.readLoop((() => Promise.resolve()) as never))
      assert.match(error.message, /returned a promise/)
    }))

  it('S16b a stream can be closed in a cleanup that is whole', () =>
    virtual(function* () {
      const { stream, receiver } = scripted({ destroy: (of) => of.closed() })
      const fiber = spin(() =>
        ensure(
          () => sleep(),
          () => stream.close(),
        ),
      )
      yield* snooze()
      fiber.stop()
      yield* sleep(10)
      assert.equal(fiber.state, 'waiting')
      receiver.closed()
      assert.equal((yield* fiber.join()).type, 'stopped')
    }))
})
