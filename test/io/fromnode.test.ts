// Streams of Node with our words: what every kind of them does, and what one of them may do that it should not.

import assert from 'node:assert/strict'
import {
  createReadStream,
  createWriteStream,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer as createHttpServer, type IncomingMessage, request } from 'node:http'
import { type AddressInfo, connect as connectNode, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Duplex, PassThrough, Readable, Transform, Writable } from 'node:stream'
import { describe, it } from 'node:test'
import { createGzip, gunzipSync } from 'node:zlib'
import { BadArgument, BadState, type Op, once, type Routine, run, snooze, spin, until, use } from 'polyphony'
import { fromNode, IOError, pipe, StreamClosed } from 'polyphony/io'
import { leaks, virtual } from 'polyphony/testing'
import { NodeChannel } from '#io/nodechannel'
import { Stream } from '#io/stream'
import { thrownBy } from '../prelude.js'

/** Lets streams move what they have. */
const loopTurns = () => until(new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve))))

/** A writable that takes what it is given only when `take` is called, and keeps it. */
class Slow extends Writable {
  readonly taken: Buffer[] = []
  private readonly pending: (() => void)[] = []
  constructor(options: { emitClose?: boolean } = {}) {
    super({ highWaterMark: 10, ...options })
  }
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.pending.push(() => {
      this.taken.push(Buffer.from(chunk))
      done()
    })
  }
  take(): boolean {
    const next = this.pending.shift()
    next?.()
    return next !== undefined
  }
  get text(): string {
    return Buffer.concat(this.taken).toString()
  }
}

/** A folder for one test. */
function* folder(): Routine<string> {
  return yield* use(mkdtempSync(join(tmpdir(), 'polyphony-')), (place) => rmSync(place, { recursive: true }))
}

describe('what can be given', () => {
  it('is a stream of bytes: anything else is refused in words', () => {
    const wrong: [unknown, RegExp][] = [
      [undefined, /^fromNode\(\) needs a stream of Node, got undefined/],
      [{ write() {}, end() {} }, /^fromNode\(\) needs a stream of Node, got an object/],
      [new ReadableStream(), /^fromNode\(\) needs a stream of Node, got an object of class ReadableStream/],
      [
        Readable.from(['a']),
        /^fromNode\(\) needs a stream of bytes, and this one \(Readable\) carries objects\. .*each\(/,
      ],
      [new Writable({ objectMode: true }), /carries objects/],
    ]
    for (const [stream, sentence] of wrong) {
      assert.throws(
        () => fromNode(stream as Readable),
        (error: Error) => error instanceof BadArgument && sentence.test(error.message),
      )
    }
    assert.throws(
      () => fromNode(new PassThrough(), { nam: 'x' } as object),
      /no option "nam"; there are: name/,
    )
    assert.throws(() => fromNode(new PassThrough(), { name: 3 as never }), /needs a name/)
  })

  it('has a name, given or its own', async () => {
    assert.equal(fromNode(new PassThrough()).name, 'PassThrough')
    assert.equal(fromNode(new PassThrough(), { name: 'parser' }).name, 'parser')
    const file = createReadStream(process.execPath)
    assert.equal(fromNode(file).name, process.execPath)
    file.destroy()
  })
})

describe('both directions', () => {
  it('what is written to a PassThrough can be read from it', () =>
    virtual(function* () {
      const stream = fromNode(new PassThrough())
      yield* stream.write('one\ntw', Buffer.from('o\n'))
      yield* stream.end('three')
      assert.equal(yield* stream.gets(), 'one')
      assert.equal(yield* stream.gets(), 'two')
      assert.equal(`${yield* stream.readAll()}`, 'three')
      yield* stream.close()
    }))

  it('a writer waits while there is no room', () =>
    virtual(function* () {
      const node = new Slow()
      const stream = fromNode(node)
      yield* stream.write('short')
      const writer = spin(() => stream.write('long enough to fill it'))
      yield* loopTurns()
      assert.equal(writer.waitsFor, 'Slow.write()')
      assert.equal(stream.tryWrite('x'), false)
      while (node.take());
      yield* writer
      assert.equal(stream.tryWrite('x'), true)
      while (node.take());
      assert.equal(node.text, 'shortlong enough to fill itx')
    }))

  it('bytes may be reused when their write is over, whatever the stream does with them', () =>
    virtual(function* () {
      for (const size of [5, 15_000, 40_000]) {
        const stream = fromNode(new PassThrough({ highWaterMark: 1024 * 1024 }))
        const chunk = Buffer.alloc(size, 'a')
        yield* stream.write(chunk)
        chunk.fill('b')
        assert.equal(`${yield* stream.readExactly(size)}`, 'a'.repeat(size))
      }
    }))

  it('a string is UTF-8 even if the stream was told otherwise', () =>
    virtual(function* () {
      const node = new PassThrough()
      node.setDefaultEncoding('latin1')
      const stream = fromNode(node)
      yield* stream.end('\xe9')
      assert.deepEqual(yield* stream.readAll(), Buffer.from([0xc3, 0xa9]))
    }))

  it('compression by one of Node', () =>
    run(function* () {
      const gzip = fromNode(createGzip())
      const reading = spin(() => gzip.readAll())
      for (let i = 0; i < 100; i++) yield* gzip.write(`line ${i}\n`)
      yield* gzip.end()
      assert.equal(`${gunzipSync(yield* reading)}`.split('\n').length, 101)
    }))

  it('one direction only: the other is refused in words, again and again', () =>
    virtual(function* () {
      const source = fromNode(new Readable({ read() {} }), { name: 'source' }) as Stream
      const target = fromNode(new Slow(), { name: 'target' }) as unknown as Stream
      const wrong: [() => Op<unknown>, string][] = [
        [() => source.write('x'), 'source cannot be written to'],
        [() => source.end(), 'source cannot be written to'],
        [() => target.gets(), 'target cannot be read from'],
        [() => target.readLoop(() => {}), 'target cannot be read from'],
      ]
      for (const [op, sentence] of [...wrong, ...wrong]) {
        const error = yield* thrownBy(op())
        assert.ok(error instanceof BadState)
        assert.equal(error.message, sentence)
      }
    }))

  it('a duplex that was made for one direction is at its end in the other', () =>
    virtual(function* () {
      const reading = fromNode(new Duplex({ writable: false, read() {} } as object))
      assert.match((yield* thrownBy(reading.write('x'))).message, /ended for writing/)
      const writing = fromNode(new Duplex({ readable: false, write() {} } as object))
      assert.equal(yield* writing.gets(), undefined)
    }))
})

describe('the end', () => {
  it('end waits until all is taken', () =>
    virtual(function* () {
      const node = new Slow()
      const stream = fromNode(node)
      yield* stream.write('first')
      const ending = spin(() => stream.end('last'))
      yield* loopTurns()
      assert.equal(ending.waitsFor, 'Slow.end()')
      while (node.take());
      yield* ending
      yield* stream.end() // it is
      assert.equal(node.text, 'firstlast')
      const error = yield* thrownBy(stream.write('more'))
      assert.ok(error instanceof StreamClosed)
      assert.equal(error.message, 'Slow.write() came too late: the stream was ended for writing')
    }))

  it('close sends what was written, then closes; whoever gives up closes at once', () =>
    virtual(function* () {
      const patient = new Slow()
      const closing = spin(() => fromNode(patient).close())
      yield* closing
      assert.equal(patient.destroyed, true)

      const full = new Slow()
      const stream = fromNode(full)
      stream.tryWrite('all of it')
      const later = spin(() => stream.close())
      yield* loopTurns()
      assert.deepEqual([later.state, full.destroyed], ['waiting', false])
      full.take()
      yield* later
      assert.deepEqual([full.text, full.destroyed], ['all of it', true])

      const stuck = new Slow()
      const other = fromNode(stuck)
      other.tryWrite('lost')
      const impatient = spin(() => other.close())
      yield* loopTurns()
      yield* impatient.stop()
      assert.equal(stuck.destroyed, true)
    }))

  it('somebody else ends it: that is awaited, and a write after it is too late', () =>
    virtual(function* () {
      const node = new Slow()
      const stream = fromNode(node)
      node.write('theirs')
      node.end()
      const error = yield* thrownBy(stream.write('ours'))
      assert.ok(error instanceof StreamClosed)
      assert.equal(error.message, 'Slow.write() came too late: the stream was ended for writing')
      const ending = spin(() => stream.end())
      yield* loopTurns()
      assert.equal(ending.state, 'waiting')
      while (node.take());
      yield* ending
      yield* stream.close()
    }))

  it('somebody else destroys it: those who wait are told, and those who come later', () =>
    virtual(function* () {
      const node = new Slow()
      const stream = fromNode(node)
      const writer = spin({ link: false }, () => stream.write('more than there is room for'))
      yield* snooze()
      node.destroy()
      const early = yield* thrownBy(stream.write('x')) // its close has not been told yet
      assert.equal(early.message, 'Slow.write() came too late: the stream is closed')
      assert.ok((yield* thrownBy(writer)) instanceof StreamClosed)
      assert.ok((yield* thrownBy(stream.write('x'))) instanceof StreamClosed)
      yield* stream.close()
    }))

  it('a source that is closed before its end says so, after what had come', () =>
    virtual(function* () {
      const node = new PassThrough()
      const stream = fromNode(node)
      node.write('a\nhalf')
      assert.equal(yield* stream.gets(), 'a')
      const waiting = spin({ link: false }, () => stream.gets())
      yield* snooze()
      node.destroy()
      assert.equal(
        (yield* thrownBy(waiting)).message,
        'PassThrough.gets() can give nothing more: it was closed before its end',
      )
      assert.equal(`${yield* stream.read()}`, 'half')
    }))

  it('errors are ours, with the cause, each wait its own; what comes after the close harms nobody', () =>
    virtual(function* () {
      const node = new Slow()
      const stream = fromNode(node)
      const cause = Object.assign(new Error('disk on fire'), { code: 'EFIRE' })
      const writers = [1, 2].map(() => spin({ link: false }, () => stream.write('long enough to wait')))
      yield* snooze()
      node.destroy(cause)
      const errors = []
      for (const writer of writers) errors.push(yield* thrownBy(writer))
      assert.notEqual(errors[0], errors[1])
      for (const error of errors) {
        assert.ok(error instanceof IOError)
        assert.deepEqual(
          [error.code, error.cause, error.message],
          ['EFIRE', cause, 'Slow.write() failed: disk on fire (EFIRE)'],
        )
      }
      yield* loopTurns()
      node.emit('error', new Error('and again'))
      assert.equal((yield* thrownBy(stream.end())).cause, cause)
      yield* stream.close()
    }))

  it('one that fails at its end fails those who wait for that', () =>
    virtual(function* () {
      const node = new Writable({
        write: (_chunk, _encoding, done) => done(),
        final: (done) => done(new Error('no room for the last word')),
      })
      const error = yield* thrownBy(fromNode(node, { name: 'disk' }).end('x'))
      assert.equal(error.message, 'disk.end() failed: no room for the last word')
    }))

  it('one that is over when it is given says so', () =>
    virtual(function* () {
      const ended = new PassThrough()
      ended.end('x')
      ended.resume()
      yield* once(ended, 'close')
      const stream = fromNode(ended)
      assert.equal(yield* stream.gets(), undefined)
      assert.match((yield* thrownBy(stream.write('x'))).message, /too late/)
      yield* stream.close()

      const destroyed = new PassThrough().destroy()
      yield* once(destroyed, 'close')
      assert.ok((yield* thrownBy(fromNode(destroyed).gets())) instanceof StreamClosed)
      assert.ok((yield* thrownBy(fromNode(destroyed).end('x'))) instanceof StreamClosed)
      yield* fromNode(destroyed).close()

      const broken = new PassThrough()
      broken.once('error', () => {})
      broken.destroy(new Error('cut cable'))
      yield* loopTurns()
      for (const op of [fromNode(broken).gets(), fromNode(broken).write('x')]) {
        assert.match((yield* thrownBy(op)).message, /failed: cut cable$/)
      }
    }))

  it('one that never tells its close is closed all the same', () =>
    virtual(function* () {
      const node = new Slow({ emitClose: false })
      yield* fromNode(node).close()
      assert.equal(node.destroyed, true)
      const source = new Readable({ emitClose: false, read() {} })
      yield* fromNode(source).close()
      assert.equal(source.destroyed, true)
    }))

  it('one that fails while nobody waits does not end the process', () =>
    virtual(function* () {
      const node = new Transform({ transform: (_chunk, _encoding, done) => done(new Error('bad input')) })
      const stream = fromNode(node)
      assert.equal(stream.tryWrite('x'), true)
      yield* loopTurns()
      assert.match((yield* thrownBy(stream.gets())).message, /failed: bad input/)
    }))
})

describe('two streams of Node as one', () => {
  const both = (readable: Readable, writable: Writable) =>
    new Stream((receiver) => new NodeChannel('both', receiver, { readable, writable }))

  it('it is closed when both are', () =>
    virtual(function* () {
      const [input, output] = [new PassThrough(), new Slow()]
      const stream = both(input, output)
      input.end('question')
      assert.equal(`${yield* stream.readAll()}`, 'question')
      yield* loopTurns()
      assert.equal(input.closed, true)
      assert.equal(stream.isClosed, false)
      stream.tryWrite('answer')
      output.take()
      yield* stream.close()
      assert.deepEqual([output.text, output.destroyed], ['answer', true])
    }))

  it('an error of either, or its early close, breaks it', () =>
    virtual(function* () {
      for (const [which, error] of [
        [0, new Error('cut')],
        [1, new Error('cut')],
        [0, undefined],
        [1, undefined],
      ] as const) {
        const nodes = [new PassThrough(), new Slow()] as const
        const stream = both(...nodes)
        const reader = spin({ link: false }, () => stream.gets())
        const writer = spin({ link: false }, () => stream.write('more than there is room for'))
        yield* snooze()
        nodes[which].destroy(error)
        for (const fiber of [reader, writer]) {
          assert.ok((yield* thrownBy(fiber)) instanceof (error === undefined ? StreamClosed : IOError))
        }
        yield* stream.close()
        assert.deepEqual(
          nodes.map((node) => node.destroyed),
          [true, true],
        )
      }
    }))
})

describe('files', () => {
  it('lines of a file, and a file of lines', () =>
    run(function* () {
      const path = join(yield* folder(), 'lines')
      const target = fromNode(createWriteStream(path))
      for (let i = 0; i < 1000; i++) yield* target.write(`line ${i}\n`)
      yield* target.close()
      assert.equal(readFileSync(path, 'utf8').length, 8890)
      const source = fromNode(createReadStream(path, { highWaterMark: 100 }))
      let count = 0
      while ((yield* source.gets()) !== undefined) count++
      assert.equal(count, 1000)
    }))

  it('one that is not there, or is full: the code of the system, and the path', () =>
    run(function* () {
      const missing = yield* thrownBy(fromNode(createReadStream('/no/such/file')).gets())
      assert.ok(missing instanceof IOError)
      assert.equal(missing.message, '/no/such/file.gets() failed: no such file or directory (ENOENT)')
      const full = fromNode(createWriteStream('/dev/full'))
      const error = yield* thrownBy(full.end('x'))
      assert.equal(error.message, '/dev/full.end() failed: no space left on device (ENOSPC)')
      yield* full.close()
    }))

  it('nothing is read of a file that nobody wants to read', () =>
    run(function* () {
      const path = join(yield* folder(), 'big')
      writeFileSync(path, Buffer.alloc(1024 * 1024))
      const node = createReadStream(path)
      const stream = fromNode(node)
      yield* stream.readExactly(10)
      yield* loopTurns()
      assert.ok(node.bytesRead <= 4 * 64 * 1024)
      yield* stream.close()
    }))
})

describe('sockets', () => {
  /** A server for one test, and what it does with a connection. */
  function* serve(allowHalfOpen: boolean, converse: (socket: Socket) => void): Routine<number> {
    const server = createServer({ allowHalfOpen }, converse).listen(0, '127.0.0.1')
    yield* use(server, () => void server.close())
    yield* once(server, 'listening')
    return (server.address() as AddressInfo).port
  }

  it('a conversation, begun before it is connected, and half-closed', () =>
    run(function* () {
      const port = yield* serve(true, (socket) => {
        const stream = fromNode(socket)
        run(function* () {
          const all = yield* stream.readAll()
          yield* stream.end(`${all}`.toUpperCase())
        })
      })
      const stream = fromNode(connectNode({ port, host: '127.0.0.1', allowHalfOpen: true }))
      yield* stream.write('hello ')
      yield* stream.end('world')
      assert.equal(`${yield* stream.readAll()}`, 'HELLO WORLD')
      yield* stream.close()
    }))

  it('refused, and reset: the code of the system', () =>
    run(function* () {
      const port = yield* serve(false, (socket) => {
        socket.on('error', () => {})
        socket.once('data', () => socket.resetAndDestroy())
      })
      const stream = fromNode(connectNode(port, '127.0.0.1'))
      yield* stream.write('x')
      assert.equal((yield* thrownBy(stream.gets())).code, 'ECONNRESET')
      assert.equal((yield* thrownBy(stream.write('x'))).code, 'ECONNRESET')
      const free = createServer().listen(0, '127.0.0.1')
      yield* once(free, 'listening')
      const { port: closed } = free.address() as AddressInfo
      yield* until(new Promise((resolve) => free.close(resolve)))
      const error = yield* thrownBy(fromNode(connectNode(closed, '127.0.0.1')).gets())
      assert.equal(error.code, 'ECONNREFUSED')
    }))

  it('a large write that the other side does not take fails when it goes away', () =>
    run(function* () {
      const port = yield* serve(false, (socket) => {
        socket.on('error', () => {})
        socket.pause()
        setImmediate(() => socket.resetAndDestroy())
      })
      const stream = fromNode(connectNode(port, '127.0.0.1'))
      const error = yield* thrownBy(stream.write(Buffer.alloc(64 * 1024 * 1024)))
      assert.match(error.code, /^(ECONNRESET|EPIPE)$/)
    }))
})

describe('HTTP of Node', () => {
  it('the body of a request by lines, and an answer that waits for room', () =>
    run(function* () {
      const { pendingOps } = leaks()
      const server = createHttpServer((req, res) => {
        run(function* () {
          const [body, answer] = [fromNode(req), fromNode(res)]
          for (let line: string | undefined; (line = yield* body.gets()) !== undefined; )
            yield* answer.write(`${line.toUpperCase()}\n`)
          yield* answer.end()
        })
      }).listen(0, '127.0.0.1')
      yield* use(server, () => void server.close())
      yield* once(server, 'listening')
      const { port } = server.address() as AddressInfo
      const sent = request({ port, host: '127.0.0.1', method: 'POST', agent: false })
      const asking = fromNode(sent)
      const answered = spin(() => once(sent, 'response'))
      const count = 10_000
      const writing = spin(function* () {
        for (let i = 0; i < count; i++) yield* asking.write(`line ${i}\n`)
        yield* asking.end()
      })
      const response = (yield* answered) as IncomingMessage
      const answer = fromNode(response)
      for (let i = 0; i < count; i++) assert.equal(yield* answer.gets(), `LINE ${i}`)
      assert.equal(yield* answer.gets(), undefined)
      yield* writing
      yield* asking.close()
      assert.equal(leaks().pendingOps, pendingOps)
    }))

  it('a request that is cut: its body is closed before its end', () =>
    run(function* () {
      const seen = pipe()
      const server = createHttpServer((req) => {
        req.on('error', () => {})
        run(function* () {
          const body = fromNode(req)
          yield* seen.write(`${yield* body.gets()}\n`)
          yield* seen.write(`${(yield* thrownBy(body.gets())).name}\n`)
        })
      }).listen(0, '127.0.0.1')
      yield* use(server, () => void server.close())
      yield* once(server, 'listening')
      const { port } = server.address() as AddressInfo
      const socket = fromNode(connectNode(port, '127.0.0.1'))
      yield* socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nfirst\nsec')
      assert.equal(yield* seen.gets(), 'first')
      yield* socket.close()
      assert.match((yield* seen.gets()) as string, /^(IOError|StreamClosed)$/)
    }))
})
