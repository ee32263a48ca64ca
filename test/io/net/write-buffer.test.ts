// What sockets do with what is written to them: together in one turn, in order, each its own, and errors. Real sockets.

import { createServer, Socket } from 'node:net'
import { connect, type Stream } from 'polyphony/io'
import {
  assert,
  eventually,
  Fiber,
  type Op,
  type Routine,
  snooze,
  spin,
  thrownBy,
  turn,
  until,
} from '../../prelude.js'
import { pattern } from '../../shared/stream.js'
import { realTest } from '../real.js'

type Talk = (ours: Stream, theirs: Socket) => Routine<void>

/** A connection: ours, and the bare other side, which reads nothing until it is told to. */
function* pairOf(body: Talk): Routine<void> {
  const server = createServer({ pauseOnConnect: true })
  const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve))
  yield* until(new Promise<void>((done) => server.listen(0, '127.0.0.1', done)))
  const { port } = server.address() as { port: number }
  const ours = yield* connect({ port, host: '127.0.0.1' })
  const theirs = yield* until(accepted)
  theirs.on('error', () => {})
  try {
    yield* body(ours, theirs)
  } finally {
    ours.destroy()
    theirs.destroy()
    server.close()
  }
}

/** Declares a test with a connection. */
const testPair = (name: string, body: Talk): void => realTest(name, () => pairOf(body))

/** All that comes until the end. */
function everything(socket: Socket): Op<Buffer> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => void chunks.push(chunk)).resume()
  return until(new Promise<Buffer>((resolve) => socket.on('end', () => resolve(Buffer.concat(chunks)))))
}

const first = (socket: Socket) => until(new Promise<Buffer>((resolve) => socket.once('data', resolve)))

testPair('chunks of all sizes and kinds arrive in order, and may be reused then', function* (ours, theirs) {
  const sizes = [1, 64, 4095, 4096, 5000, 16_000, 16_384, 16_385, 70_000, 300_000, 3, 9, 12_000, 1_000_000, 2]
  const arrived = everything(theirs)
  const sent: Buffer[] = []
  for (let round = 0; round < 12; round++) {
    for (const size of sizes) {
      if (size < 100 && round % 2 === 0) {
        sent.push(Buffer.from('é'.repeat(size)))
        yield* ours.write('é'.repeat(size))
        if (size === 9) yield* ours.write('more', 'text')
        if (size === 9) sent.push(Buffer.from('moretext'))
      }
      const chunk = pattern(size, sent.length)
      sent.push(Buffer.from(chunk))
      yield* ours.write(chunk)
      chunk.fill(255)
    }
    if (round % 5 === 0) yield* snooze()
  }
  yield* ours.end()
  assert.ok(Buffer.concat(sent).equals(yield* arrived))
})

for (const isAlike of [false, true]) {
  testPair(
    `sockets that are written to in one turn do not mix, while one has no room${isAlike ? ', chunk by chunk' : ''}`,
    function* (a, aSide) {
      yield* pairOf(function* (b, bSide) {
        const arrived = everything(bSide)
        let [aSize, bSize] = [0, 0]
        for (let i = 0; i < 6000; i++) {
          const size = isAlike ? 3000 : 1 + (i % 90)
          if (a.tryWrite(Buffer.alloc(size, 'a'))) aSize += size
          if (!isAlike && i % 10 === 0 && a.tryWrite(Buffer.alloc(5000, 'a'))) aSize += 5000
          yield* b.write(Buffer.alloc(size, 'b'))
          bSize += size
          if (isAlike || i % 50 === 0) yield* turn() // what was written in one turn goes out together
        }
        yield* b.end()
        const ending = spin(() => a.end())
        assert.ok((yield* arrived).equals(Buffer.alloc(bSize, 'b')))
        assert.ok((yield* everything(aSide)).equals(Buffer.alloc(aSize, 'a')))
        yield* ending
      })
    },
  )
}

testPair('what many fibers write whose promises end in one tick goes out together', function* (ours, theirs) {
  const [rounds, fibers] = [50, 20]
  const prototype = Socket.prototype as unknown as Record<'_write' | '_writev', (...args: any[]) => unknown>
  const { _write, _writev } = prototype
  let writes = 0
  const counted = (write: (...args: any[]) => unknown) =>
    function (this: Socket, ...args: any[]) {
      writes++
      return write.apply(this, args)
    }
  Object.assign(prototype, { _write: counted(_write), _writev: counted(_writev) })
  const arrived = everything(theirs)
  try {
    for (let round = 0; round < rounds; round++) {
      const resolves: (() => void)[] = []
      const writers = Array.from({ length: fibers }, () =>
        spin(function* () {
          yield* until(new Promise<void>((resolve) => resolves.push(resolve)))
          yield* ours.write('x\n')
        }),
      )
      yield* turn()
      for (const resolve of resolves) resolve()
      yield* Fiber.await(...writers)
    }
  } finally {
    Object.assign(prototype, { _write, _writev })
  }
  yield* ours.end()
  assert.equal((yield* arrived).length, 2 * rounds * fibers)
  assert.ok(writes < 1.2 * rounds, `${writes} writes in ${rounds} rounds`)
})

testPair('small writes of one turn arrive together, also those outside fibers', function* (ours, theirs) {
  for (let i = 0; i < 10; i++) yield* ours.write(Buffer.from(`part ${i};`))
  const together = first(theirs)
  theirs.resume()
  assert.equal((yield* together).length, 70)
  const next = first(theirs)
  setImmediate(() => ours.tryWrite('from', ' a ', 'callback'))
  assert.equal(`${yield* next}`, 'from a callback')
})

for (const [what, chunk] of [
  ['a string', 'y'],
  ['bytes', Buffer.alloc(5000, 'z')],
] as const) {
  testPair(`${what} behind a chunk that has to wait for room: both writers go on`, function* (ours, theirs) {
    const large = Buffer.alloc(5000, 'x')
    let size = 5000 + chunk.length
    while (ours.tryWrite(large)) size += 5000 // until the buffers of the kernel are full
    const writers = [spin(() => ours.write(large)), spin(() => ours.write(chunk))]
    yield* eventually(() => ours.stats().writers === 2)
    const arrived = everything(theirs)
    yield* Fiber.await(...writers)
    yield* ours.end()
    assert.equal((yield* arrived).length, size)
  })
}

testPair('a great many small writes take bounded room: their writer waits', function* (ours, theirs) {
  const chunk = Buffer.alloc(1000, 'x')
  const writer = spin(function* () {
    for (let n = 0; n < 16_000; n++) yield* ours.write(chunk)
  })
  // When it has not moved for many turns of the event loop, it waits.
  for (let before = -1, same = 0; same < 50; before = ours.stats().written) {
    yield* turn()
    same = before === ours.stats().written ? same + 1 : 0
  }
  assert.ok(ours.stats().written < 16_000_000)
  assert.equal(ours.stats().writers, 1)
  const arrived = everything(theirs)
  yield* writer
  yield* ours.end()
  assert.equal((yield* arrived).length, 16_000_000)
})

/** More than the system takes. */
const MUCH = 20_000_000
const ways: Record<string, (stream: Stream) => Op<void>> = {
  write: (stream) => stream.write(Buffer.alloc(MUCH)),
  end: (stream) => stream.end(Buffer.alloc(MUCH)),
  *close(stream) {
    stream.tryWrite(Buffer.alloc(MUCH))
    yield* stream.close()
  },
}
for (const [what, send] of Object.entries(ways)) {
  testPair(`${what} throws if the other side hangs up before all is sent`, function* (ours, theirs) {
    const sender = spin(() => thrownBy(send(ours)))
    yield* turn()
    theirs.resetAndDestroy()
    const error = yield* sender
    assert.match(error.code, /^(ECONNRESET|EPIPE)$/)
    assert.ok(error.message.startsWith(`${ours.name}.${what}() failed`), error.message)
  })
}
