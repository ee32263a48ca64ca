// What a stream does with its channel: answers in the middle of a call, errors, room, the close, and listeners that act in the
// middle of everything.

import { type Chunk, IOError, type Receiver, type Stream, StreamClosed } from 'polyphony/io'
import {
  assert,
  describe,
  each,
  Fiber,
  moveOnAfter,
  now,
  type Op,
  runtime,
  sleep,
  snooze,
  spin,
  tap,
  test,
  thrownBy,
} from '../../prelude.js'
import { type Script, type Scripted, scripted, waitingFor } from '../scripted.js'

/** A fiber that waits for this; what it is thrown is its value. */
const failing = (op: () => Op<unknown>) => waitingFor(() => thrownBy(op()))
const broken = (code = 'EBROKEN') => Object.assign(new Error('it broke'), { code })
const breaks = () => {
  throw broken()
}
const closes = (receiver: Receiver) => receiver.closed()
const isFull = { write: () => false }

function assertBroken(error: any, code = 'EBROKEN'): void {
  assert.ok(error instanceof IOError, `${error}`)
  assert.deepEqual([error.code, (error.cause as Error).message], [code, 'it broke'])
}

const states = (fibers: readonly Fiber<any>[]) => fibers.map(({ state }) => state)

describe('room to write', () => {
  test('a writer that waits is not forgotten when a later write would find room', function* () {
    const { stream, receiver } = scripted({ does: { write: (_, chunk) => chunk !== 'large' } })
    const writers = [
      yield* waitingFor(() => stream.write('large', 'b')),
      yield* waitingFor(() => stream.write('c')),
    ]
    assert.deepEqual([states(writers), stream.tryWrite('none')], [['waiting', 'waiting'], false])
    receiver.drained()
    yield* Fiber.await(...writers)
    assert.equal(stream.tryWrite('some'), true)
  })

  test('a channel may be drained in the middle of a write', function* () {
    const write = (receiver: Receiver, chunk: Chunk) => {
      if (chunk === 'b') receiver.drained()
      return chunk === 'b'
    }
    const { stream } = scripted({ does: { write } })
    yield* stream.write('a', 'b')
    const writer = yield* waitingFor(() => stream.write('a'))
    yield* stream.write('b')
    yield* writer
  })

  test('a channel that tells how far it has come lets writers go on whose chunks are sent', function* () {
    const { stream, receiver } = scripted({ does: isFull })
    const writers: Fiber[] = []
    for (const chunk of ['one', 'three', 'five!']) writers.push(yield* waitingFor(() => stream.write(chunk)))
    receiver.drained(8)
    yield* sleep(1)
    assert.deepEqual(states(writers), ['dead', 'dead', 'waiting'])
    assert.equal(stream.tryWrite('x'), false)
    receiver.drained(13)
    yield* writers[2] as Fiber
    assert.equal(stream.tryWrite('x'), true)
  })

  test('room that comes while the end is being sent is for writers; end waits for its own', function* () {
    const { stream, receiver } = scripted({ does: isFull })
    const waiting = [yield* waitingFor(() => stream.write('a')), yield* waitingFor(() => stream.end('b'))]
    waiting.push(yield* waitingFor(() => stream.end()))
    receiver.drained()
    yield* sleep(1)
    assert.deepEqual(states(waiting), ['dead', 'waiting', 'waiting'])
    receiver.finished()
    yield* Fiber.await(...waiting)
    yield* stream.end()
  })

  test('what cannot be sent is told to each writer that waits, and the stream lives on', function* () {
    const { stream, receiver } = scripted({ does: isFull })
    const writers = [yield* failing(() => stream.write('a')), yield* failing(() => stream.write('b'))]
    assert.equal(receiver.refused(broken()), true)
    const [one, two] = yield* Fiber.await(...writers)
    assertBroken(one)
    assertBroken(two)
    assert.notEqual(one, two)
    assert.equal(stream.tryWrite('c'), true)
    assert.equal(receiver.refused(broken()), false)
  })
})

describe('a channel that answers in the middle of a call', () => {
  const fails = (receiver: Receiver) => {
    receiver.failed(broken())
    return false
  }
  const shuts = (receiver: Receiver) => {
    receiver.closed()
    return false
  }
  const rows: [what: string, Script['does'], (stream: Stream) => Op<unknown>, code: string][] = [
    ['breaks while it is written to', { write: fails }, (s) => s.write('a'), 'EBROKEN'],
    ['breaks while it is resumed', { resume: fails }, (s) => s.read(), 'EBROKEN'],
    ['breaks while it is closed', { close: fails }, (s) => s.close(), 'EBROKEN'],
    ['closes while it is written to', { write: shuts }, (s) => s.write('a'), 'STREAM_CLOSED'],
    ['closes while it is ended', { end: shuts }, (s) => s.end(), 'STREAM_CLOSED'],
    ['closes while it is resumed', { resume: shuts }, (s) => s.read(), 'STREAM_CLOSED'],
  ]
  for (const [what, does, use, code] of rows) {
    test(`${what}: the wait fails at once`, function* () {
      const { stream, receiver } = scripted({ does })
      const [error] = yield* Fiber.await(yield* failing(() => use(stream)), spin(closes, receiver))
      assert.equal(error.code, code)
      assert.deepEqual([stream.stats().writers, stream.stats().readers], [0, 0])
      if (code === 'EBROKEN') assert.equal(stream.tryWrite('x'), false)
    })
  }

  test('gives bytes or the end while it is resumed', function* () {
    const gives = scripted({ does: { resume: (receiver) => receiver.received(Buffer.from('abc'), true) } })
    assert.equal(`${yield* gives.stream.read()}`, 'abc')
    const ends = scripted({ does: { resume: (receiver) => receiver.ended() } })
    assert.equal(yield* ends.stream.read(), undefined)
  })
})

describe('a channel that throws', () => {
  test('from write or end: an IOError at the yield* that asked, and it can be tried again', function* () {
    const { stream } = scripted({ does: { write: breaks, end: breaks } })
    const errors: unknown[] = []
    const [write, end] = [() => stream.write('a'), () => stream.end()]
    for (const use of [write, write, end, end]) errors.push(yield* thrownBy(use()))
    for (const error of errors) assertBroken(error)
    assert.equal(new Set(errors).size, 4)
    assert.match(`${errors[0]}`, /^IOError: script\.write\(\) failed: it broke \(EBROKEN\)/)
    assert.deepEqual([stream.tryWrite('a'), stream.isClosed], [false, false])
  })

  test('from resume: the wait fails, the line is empty, and the next one tries again', function* () {
    let count = 0
    const resume = (receiver: Receiver) =>
      ++count < 3 ? breaks() : receiver.received(Buffer.from('at last'), true)
    const { stream } = scripted({ does: { resume } })
    assertBroken(yield* thrownBy(stream.read()))
    assertBroken(yield* thrownBy(stream.gets()))
    assert.equal(stream.stats().readers, 0)
    assert.equal(`${yield* stream.read()}`, 'at last')
  })

  test('from resume, after it gave bytes: they are received, and the stream is broken', function* () {
    const resume = (receiver: Receiver) => {
      receiver.received(Buffer.from('abc'), true)
      breaks()
    }
    const { stream } = scripted({ does: { resume } })
    assert.equal(`${yield* stream.read()}`, 'abc')
    assertBroken(yield* thrownBy(stream.read()))
  })

  test('from close: an IOError, and it is destroyed', function* () {
    const { stream, calls } = scripted({ does: { close: breaks, destroy: closes } })
    assertBroken(yield* thrownBy(stream.close()))
    assert.deepEqual([calls, stream.isClosed], [['close', 'destroy'], true])
    yield* stream.close()
  })

  test('from destroy: that is thrown, and a fiber that waits in close goes on', function* () {
    const { stream } = scripted({ does: { destroy: breaks } })
    const closer = yield* waitingFor(() => stream.close())
    assert.throws(() => stream.destroy(), /^IOError: script\.destroy\(\) failed: it broke/)
    yield* closer
    yield* stream.close()
  })

  test('from close and from destroy: the first error is told', function* () {
    const close = () => {
      throw broken('EFIRST')
    }
    const { stream } = scripted({ does: { close, destroy: breaks } })
    assertBroken(yield* thrownBy(stream.close()), 'EFIRST')
    yield* stream.close()
  })
})

describe('what comes', () => {
  test('an end stays an end, though writing breaks later', function* () {
    const { stream, receiver } = scripted()
    receiver.received(Buffer.from('whole'), true)
    receiver.ended()
    receiver.failed(broken())
    assertBroken(yield* thrownBy(stream.write('x')))
    assert.equal(`${yield* stream.readAll()}`, 'whole')
    receiver.closed()
    assert.equal(yield* stream.gets(), undefined)
  })

  for (const end of ['ended', 'failed', 'closed'] as const) {
    test(`after ${end}, bytes are not received`, function* () {
      const { stream, receiver } = scripted()
      receiver.received(Buffer.from('abc'), true)
      receiver[end](broken())
      assert.equal(receiver.received(Buffer.from('def'), true), false)
      receiver.ended()
      if (end === 'closed') receiver.closed()
      assert.equal(`${yield* stream.read()}`, 'abc')
      if (end === 'ended') assert.equal(yield* stream.read(), undefined)
      else assertBroken(yield* thrownBy(stream.read()))
    })
  }

  test('an empty chunk is nothing: a reader goes on waiting', function* () {
    const { stream, receiver } = scripted()
    assert.equal(receiver.received(Buffer.alloc(0), true), false)
    const reader = yield* waitingFor(() => stream.read())
    assert.equal(receiver.received(Buffer.alloc(0), true), true)
    yield* sleep(1)
    assert.equal(reader.state, 'waiting')
    receiver.received(Buffer.from('abc'), false)
    assert.equal(`${yield* reader}`, 'abc')
  })

  test('an error without a reason is an error all the same', function* () {
    for (const reason of [null, undefined]) {
      const { stream, receiver } = scripted()
      receiver.failed(reason)
      assert.match((yield* thrownBy(stream.read())).message, /no reason was given/)
    }
  })

  test('a channel that does not read ahead is told to stop when the last reader has left', function* () {
    const { stream, calls, receiver } = scripted({ readAhead: 0 })
    const readers = [yield* waitingFor(() => stream.read()), yield* waitingFor(() => stream.gets())] as const
    yield* readers[0].stop()
    assert.deepEqual(calls, ['resume'])
    yield* readers[1].kill()
    assert.deepEqual(calls, ['resume', 'pause'])
    const loop = yield* failing(() => stream.readLoop(breaks))
    assert.equal(receiver.received(Buffer.from('x'), true), false) // it is told by the answer
    yield* loop
    assert.deepEqual(calls, ['resume', 'pause', 'resume'])
  })

  test('S73 a chunk that was lent and whose write was cut is not lent again', function* () {
    const sent: Chunk[] = []
    const target = scripted({ does: { write: (_, chunk) => sent.push(chunk) < 0 } })
    const { stream, receiver } = scripted()
    const cut = (chunk: Buffer) => moveOnAfter(1, () => target.stream.write(chunk))
    const loop = yield* waitingFor(() => stream.readLoop(cut))
    for (const text of ['one', 'two']) {
      receiver.received(Buffer.from(text), false)
      yield* sleep(5)
    }
    assert.deepEqual(sent.map(String), ['one', 'two'])
    yield* loop.stop()
  })

  test('chunks that are not owned by the stream are copied, or lent', function* () {
    const { stream, receiver } = scripted()
    const memory = Buffer.from('abc')
    const kept: Buffer[] = []
    const takes = [() => stream.read(), () => stream.iterate().next(), () => stream.readExactly(3)]
    for (const take of takes) {
      const reader = yield* waitingFor(take as () => Op<unknown>)
      receiver.received(memory.fill('a'), false)
      memory.fill('b')
      kept.push((yield* reader) as Buffer)
    }
    const loop = yield* waitingFor(() => stream.readLoop((chunk) => kept.push(Buffer.from(chunk)) < 6))
    for (const size of [3, 3, 100_000]) {
      receiver.received(Buffer.alloc(size, 'a'), false)
      yield* sleep(1)
    }
    yield* loop
    const sizes = [3, 3, 3, 3, 3, 100_000]
    assert.deepEqual(
      kept,
      sizes.map((size) => Buffer.alloc(size, 'a')),
    )
  })
})

describe('closing', () => {
  test('an error meanwhile is thrown by each close, and by a write that still waits', function* () {
    const { stream, receiver } = scripted({ does: isFull })
    const fibers = [yield* failing(() => stream.write('a'))]
    for (let n = 0; n < 2; n++) fibers.push(yield* failing(() => stream.close()))
    receiver.failed(broken())
    receiver.closed()
    const errors = yield* Fiber.await(...fibers)
    for (const error of errors) assertBroken(error)
    assert.equal(new Set(errors).size, 3)
    yield* stream.close()
  })

  test('an error that came before is not thrown by close', function* () {
    const { stream, receiver } = scripted({ does: { close: closes } })
    receiver.failed(broken())
    yield* stream.close()
    assert.ok((yield* thrownBy(stream.read())) instanceof StreamClosed)
  })

  test('a close that went wrong is thrown by close, or by the next wait', function* () {
    const { stream } = scripted({ does: { close: (receiver) => receiver.closed(broken()) } })
    assertBroken(yield* thrownBy(stream.close()))
    const gone = scripted()
    gone.receiver.closed(broken())
    assertBroken(yield* thrownBy(gone.stream.read()))
  })

  test('a fiber that waits in close goes on when another destroys', function* () {
    const { stream, receiver, calls } = scripted()
    const closer = yield* waitingFor(() => stream.close())
    stream.destroy()
    stream.destroy()
    receiver.failed(broken()) // too late
    receiver.closed()
    yield* closer
    assert.deepEqual(calls, ['close', 'destroy'])
  })

  test('a destroy tells the fibers that wait at once, and forgets an error that came before', function* () {
    const { stream, receiver } = scripted({ does: isFull })
    const waiting = [yield* failing(() => stream.read()), yield* failing(() => stream.write('x'))]
    stream.destroy()
    for (const error of yield* Fiber.await(...waiting)) assert.ok(error instanceof StreamClosed)
    receiver.closed()
    const other = scripted()
    other.receiver.failed(broken())
    other.stream.destroy()
    const closer = yield* waitingFor(() => other.stream.close())
    other.receiver.closed()
    yield* closer
  })

  test('a stream that the other side has closed asks nothing of its channel; end is too late', function* () {
    const { stream, receiver, calls } = scripted({ does: { end: (of) => of.finished() } })
    yield* stream.end()
    receiver.closed()
    stream.destroy()
    assert.deepEqual(calls, ['end'])
    assert.ok((yield* thrownBy(stream.end())) instanceof StreamClosed)
  })

  test('what comes meanwhile is thrown away, and does not stop the channel', function* () {
    const { stream, receiver } = scripted({ readAhead: 2 })
    receiver.received(Buffer.alloc(100), true)
    const closer = yield* waitingFor(() => stream.close())
    assert.equal(stream.stats().unread, 0)
    receiver.failed(new StreamClosed('as was asked for'))
    assert.equal(receiver.received(Buffer.alloc(100), true), true)
    receiver.closed()
    yield* closer
    assert.equal(receiver.received(Buffer.alloc(100), true), false)
    assert.equal(stream.stats().unread, 0)
  })

  test('end fails if the stream breaks while the end is being sent, and so does each end after it', function* () {
    const { stream, receiver } = scripted()
    const ending = yield* failing(() => stream.end())
    receiver.failed(broken())
    assertBroken(yield* ending)
    assertBroken(yield* thrownBy(stream.end()))
    receiver.closed()
    assertBroken(yield* thrownBy(stream.end()))
  })
})

describe('a channel whose operations cannot be taken back', () => {
  const patient = { does: isFull, isPatient: true }

  for (const answer of ['drained', 'failed'] as const) {
    test(`S35 a writer that is stopped waits for the answer: ${answer}`, function* () {
      const { stream, receiver } = scripted(patient)
      const writer = yield* waitingFor(() => stream.write('a'))
      writer.stop()
      yield* sleep(10)
      assert.equal(writer.state, 'waiting')
      receiver[answer](answer === 'failed' ? (broken() as never) : undefined)
      assert.equal((yield* writer.join()).type, 'stopped')
      assert.equal(stream.stats().writers, 0)
    })
  }

  test('S35 a fiber that is stopped in its close waits until it is closed', function* () {
    const { stream, receiver, calls } = scripted(patient)
    const closer = yield* waitingFor(() => stream.close())
    closer.stop()
    yield* sleep(10)
    assert.deepEqual([closer.state, calls], ['waiting', ['close']])
    receiver.closed()
    assert.equal((yield* closer.join()).type, 'stopped')
  })

  for (const answer of ['drained', 'failed', 'closed', 'finished'] as const) {
    test(`S35 ${answer} after the grace does not wake the fiber from another wait`, function* () {
      const { stream, receiver } = scripted(patient)
      const start = now()
      const fiber = spin(function* () {
        yield* moveOnAfter(5, () => stream.write('a'), { grace: 5 })
        yield* sleep(100)
        return now() - start
      })
      yield* sleep(50)
      receiver[answer](answer === 'failed' ? (broken() as never) : undefined)
      assert.equal(yield* fiber, 110)
      assert.equal(stream.stats().writers, 0)
    })
  }
})

test('S64 a wait holds the process exactly as long as it waits, however it ends', function* () {
  const ways: ((script: Scripted, fiber: Fiber<any>) => unknown)[] = [
    (_, fiber) => fiber.stop(),
    (_, fiber) => fiber.kill(),
    (_, fiber) => fiber.raise('struck'),
    ({ stream }) => stream.destroy(),
    ({ receiver }) => receiver.failed(broken()),
    ({ receiver }) => receiver.closed(),
    ({ receiver }) => {
      receiver.received(Buffer.from('a line\n'), true)
      for (const tell of ['drained', 'finished', 'closed'] as const) receiver[tell]()
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
  const held = () => [runtime().stats().pendingOps, runtime().external]
  const before = held()
  for (const use of uses) {
    for (const end of ways) {
      const script = scripted({ isOutside: true, does: { ...isFull, destroy: closes } })
      const fiber = yield* waitingFor(() => use(script.stream))
      assert.deepEqual(held(), [before[0] + 1, before[1] + 1], `${use}`)
      end(script, fiber)
      yield* fiber.join()
      assert.deepEqual(held(), before, `${use}, ${end}`)
    }
  }
})

describe('S70 a tap listener that acts in the middle of an answer', () => {
  /** Runs `act` once, when a fiber is first answered by `answer`. */
  function whenAnswered(answer: () => unknown, act: () => unknown): void {
    const untap = tap((event) => {
      if (event !== 'schedule') return
      untap()
      act()
    })
    answer()
  }

  const acts: Record<string, (stream: Stream, others: Fiber<any>[]) => void> = {
    'stops another who waits': (_, others) => void others[1]?.stop(),
    'kills all others': (_, [, ...others]) => {
      for (const other of others) other.kill()
    },
    'destroys the stream': (stream) => stream.destroy(),
    'writes to the stream': (stream) => void stream.tryWrite('x'),
  }
  for (const [what, act] of Object.entries(acts)) {
    test(`and ${what}: no reader is left waiting, nothing comes twice`, function* () {
      const { stream, receiver } = scripted({ isOutside: true, does: { destroy: closes } })
      const got: string[] = []
      const readers: Fiber[] = []
      for (let n = 0; n < 3; n++) {
        const reader = function* () {
          got.push(`${yield* stream.readExactly(2)}`)
        }
        readers.push(yield* waitingFor(reader))
      }
      whenAnswered(
        () => receiver.received(Buffer.from('aabbcc'), true),
        () => act(stream, readers),
      )
      if (!stream.isClosed) receiver.received(Buffer.from('dd'), true)
      receiver.ended()
      for (const reader of readers) yield* reader.join()
      assert.ok(got.length > 0)
      assert.deepEqual(got, ['aa', 'bb', 'cc'].slice(0, got.length))
      assert.deepEqual([stream.stats().readers, runtime().external], [0, 0])
    })
  }

  test('and destroys the stream as writers are let go: the others hear of it', function* () {
    const { stream, receiver } = scripted({ does: { ...isFull, destroy: closes } })
    const writers: Fiber<any>[] = []
    for (let n = 0; n < 3; n++) writers.push(yield* waitingFor(() => stream.write('a')))
    whenAnswered(
      () => receiver.drained(),
      () => stream.destroy(),
    )
    const types: string[] = []
    for (const writer of writers) types.push((yield* writer.join()).type)
    assert.deepEqual(types, ['value', 'error', 'error'])
  })

  test('and destroys the stream while it is being closed', function* () {
    const { stream, calls } = scripted({ does: { destroy: closes } })
    const reader = yield* failing(() => stream.read())
    const closer = stream.close()
    const untap = tap((event) => event === 'schedule' && stream.destroy())
    yield* closer
    untap()
    assert.ok((yield* reader) instanceof StreamClosed)
    assert.deepEqual(calls, ['resume', 'destroy'])
    yield* snooze()
  })
})
