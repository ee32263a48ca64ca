// What sockets do with what is written: order, coalescing, room, and whose the bytes are. Real sockets on loopback.
import assert from 'node:assert/strict'
import { createServer, connect as netConnect, type Socket } from 'node:net'
import { describe, it } from 'node:test'
import { Fiber, type Op, type Routine, run, snooze, spin, until } from 'polyphony'
import { connect, fromNode, listen, type Stream } from 'polyphony/io'
import { real } from './real.js'

/** A connection: ours, and the bare other side, which reads nothing until it is told to. */
function* pairOf(body: (ours: Stream, theirs: Socket) => Routine<void>): Routine<void> {
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

/** All that comes until the end. */
function everything(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => void chunks.push(chunk)).resume()
  return new Promise((resolve) => socket.on('end', () => resolve(Buffer.concat(chunks))))
}

/** Bytes that tell their place. */
function pattern(size: number, from: number): Buffer {
  const bytes = Buffer.allocUnsafe(size)
  for (let i = 0; i < size; i++) bytes[i] = (from + i) % 251
  return bytes
}

describe('what a socket sends', () => {
  it('chunks of all sizes and kinds arrive in the order they were written, and each may be reused afterwards', () =>
    run(() =>
      pairOf(function* (ours, theirs) {
        const sizes = [
          1, 64, 4095, 4096, 5000, 16_000, 16_384, 16_385, 70_000, 300_000, 3, 9, 12_000, 1_000_000, 2,
        ]
        const arrived = everything(theirs)
        let written = 0
        const sent: Buffer[] = []
        for (let round = 0; round < 20; round++) {
          for (const size of sizes) {
            if (size < 100 && round % 2 === 0) {
              const text = 'é'.repeat(size)
              sent.push(Buffer.from(text))
              yield* ours.write(text)
            }
            const chunk = pattern(size, written)
            sent.push(Buffer.from(chunk))
            yield* ours.write(chunk)
            chunk.fill(255)
            written += size
          }
          if (round % 5 === 0) yield* snooze()
        }
        yield* ours.end()
        assert.ok(Buffer.concat(sent).equals(yield* until(arrived)))
      }),
    ))

  it('two sockets that are written to in one turn do not mix', () =>
    run(() =>
      pairOf(function* (a, aSide) {
        yield* pairOf(function* (b, bSide) {
          const arrived = [everything(aSide), everything(bSide)]
          for (let i = 0; i < 500; i++) {
            yield* a.write(Buffer.alloc(1 + (i % 90), 'a'))
            yield* b.write(Buffer.alloc(1 + (i % 70), 'b'))
            if (i % 50 === 0) yield* snooze()
          }
          yield* a.end()
          yield* b.end()
          assert.match(`${yield* until(arrived[0] as Promise<Buffer>)}`, /^a+$/)
          assert.match(`${yield* until(arrived[1] as Promise<Buffer>)}`, /^b+$/)
        })
      }),
    ))

  it('ten small writes of one turn arrive together', () =>
    run(() =>
      pairOf(function* (ours, theirs) {
        const first = new Promise<Buffer>((resolve) => theirs.once('data', resolve))
        for (let i = 0; i < 10; i++) yield* ours.write(Buffer.from(`part ${i};`))
        theirs.resume()
        assert.equal((yield* until(first)).length, 70)
      }),
    ))

  for (const [what, chunk] of [
    ['a string', 'y'],
    ['some bytes', Buffer.from('y')],
    ['more bytes', Buffer.alloc(5000, 'z')],
  ] as const) {
    it(`${what} behind a chunk that has to wait for room keeps nobody waiting for ever`, () =>
      run(() =>
        pairOf(function* (ours, theirs) {
          const large = Buffer.alloc(5000, 'x')
          let size = 5000 + chunk.length
          while (ours.tryWrite(large)) size += 5000 // until the buffers of the kernel are full
          const writers = [spin(() => ours.write(large)), spin(() => ours.write(chunk))]
          while (ours.stats().writers < 2) yield* snooze()
          const arrived = everything(theirs)
          yield* Fiber.await(...writers)
          yield* ours.end()
          assert.equal((yield* until(arrived)).length, size)
        }),
      ))
  }

  it('a writer waits while the other side does not read, and a great many small writes take bounded room', () =>
    run(() =>
      pairOf(function* (ours, theirs) {
        let written = 0
        const writer = spin(function* () {
          const chunk = Buffer.alloc(1000, 'x')
          for (; written < 30_000; written++) yield* ours.write(chunk)
        })
        // It writes until the buffers of the kernel are full. When it has not moved for two turns of the event loop, it waits.
        for (let before = -1; before !== written; ) {
          before = written
          for (let i = 0; i < 50; i++) yield* until(new Promise((resolve) => setImmediate(resolve)))
        }
        assert.ok(written < 30_000)
        assert.equal(ours.stats().writers, 1)
        const arrived = everything(theirs)
        yield* writer
        yield* ours.end()
        assert.equal((yield* until(arrived)).length, 30_000_000)
      }),
    ))

  it('what is written outside of any fiber goes out too', () =>
    run(() =>
      pairOf(function* (ours, theirs) {
        const first = new Promise<Buffer>((resolve) => theirs.once('data', resolve))
        theirs.resume()
        setImmediate(() => ours.tryWrite('from', ' a ', 'callback'))
        assert.equal(`${yield* until(first)}`, 'from a callback')
      }),
    ))

  it('a server that answers with many small chunks to many clients gives each its own', () =>
    run(function* () {
      const server = yield* listen({ port: 0, host: '127.0.0.1' })
      spin(() =>
        server.acceptLoop((socket) =>
          socket.readLoop(function* (chunk) {
            for (const byte of chunk) yield* socket.write(Uint8Array.of(byte))
          }),
        ),
      )
      const clients = []
      for (let i = 0; i < 40; i++) {
        clients.push(
          spin(function* () {
            const socket = yield* connect({ port: server.port, host: '127.0.0.1' })
            const question = pattern(300 + i, i)
            yield* socket.write(question)
            assert.ok(question.equals(yield* socket.readExactly(question.length)))
            yield* socket.close()
          }),
        )
      }
      yield* Fiber.await(...clients)
      yield* server.close()
    }))

  const ways: Record<string, (stream: Stream) => Op<void>> = {
    write: (stream) => stream.write(Buffer.alloc(MUCH)),
    end: (stream) => stream.end(Buffer.alloc(MUCH)),
    *close(stream) {
      stream.tryWrite(Buffer.alloc(MUCH))
      yield* stream.close()
    },
  }
  for (const [what, send] of Object.entries(ways)) {
    it(`${what} whose bytes were not taken before the other side hung up throws, and says why`, () =>
      real(() =>
        pairOf(function* (ours, theirs) {
          const sender = spin({ link: false }, () => send(ours))
          yield* until(new Promise((done) => setImmediate(done)))
          theirs.resetAndDestroy()
          yield* assertReset(sender, `${ours.name}.${what}() failed`)
        }),
      ))

    it(`${what} to a socket of Node whose bytes were not taken before the other side hung up throws, and says why`, () =>
      real(() =>
        pairOf(function* (_, theirs) {
          const { port } = theirs.address() as { port: number }
          const server = theirs as Socket & { server: NodeJS.EventEmitter }
          const accepted = new Promise<Socket>((resolve) => server.server.once('connection', resolve))
          const node = netConnect({ port, host: '127.0.0.1' })
          const far = yield* until(accepted)
          const ours = fromNode(node)
          const sender = spin({ link: false }, () => send(ours))
          yield* until(new Promise((done) => setImmediate(done)))
          far.on('error', () => {}).resetAndDestroy()
          yield* assertReset(sender, `${ours.name}.${what}() failed`)
          ours.destroy()
        }),
      ))
  }

  it('that a client hangs up before all was sent to it is no error of an acceptLoop', () =>
    real(function* (reports) {
      const server = yield* listen({ host: '127.0.0.1' })
      const loop = spin(() => server.acceptLoop((socket) => void socket.tryWrite(Buffer.alloc(MUCH))))
      const client = netConnect({ port: server.port, host: '127.0.0.1' }).pause()
      yield* until(new Promise((done) => client.once('connect', done)))
      while (server.stats().open === 0) yield* until(new Promise((done) => setImmediate(done)))
      client.resetAndDestroy()
      while (server.stats().open > 0) yield* until(new Promise((done) => setImmediate(done)))
      yield* server.close()
      yield* loop
      assert.deepEqual(reports, [])
    }))
})

/** More than the system takes. */
const MUCH = 20_000_000

function* assertReset(sender: Fiber, what: string): Routine<void> {
  yield* sender.join()
  const { type, error } = sender.outcome as { type: string; error?: Error & { code?: string } }
  assert.equal(type, 'error')
  assert.match(String(error?.code), /^(ECONNRESET|EPIPE)$/)
  assert.ok(error?.message.startsWith(what), error?.message)
}
