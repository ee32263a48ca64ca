// Streams of Node with our words: what every kind of them does, and what one of them may do that it should not.

import { createReadStream, createWriteStream } from 'node:fs'
import { createServer as createHttpServer, type IncomingMessage, request } from 'node:http'
import { type AddressInfo, connect as connectNode } from 'node:net'
import { Duplex, PassThrough, Readable, Transform, Writable } from 'node:stream'
import { fromNode, IOError, pipe, type Stream, StreamClosed } from 'polyphony/io'
import {
  assert,
  BadState,
  describe,
  each,
  type Op,
  once,
  run,
  spin,
  test,
  thrownBy,
  turn,
  use,
} from '../../prelude.js'
import { freshPath, textOf } from '../folder.js'
import { realTest } from '../real.js'
import { waitingFor } from '../scripted.js'

/** A writable that takes what it is given only when `take` is called, and keeps it. */
class Slow extends Writable {
  text = ''
  private readonly pending: (() => void)[] = []
  constructor(options: { emitClose?: boolean } = {}) {
    super({ highWaterMark: 10, ...options })
  }
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.pending.push(() => {
      this.text += chunk
      done()
    })
  }
  take(): void {
    for (let next = this.pending.shift(); next !== undefined; next = this.pending.shift()) next()
  }
}

const LONG = 'more than there is room for'

test('a stream has the name given, its path, or the name of its class', () => {
  assert.equal(fromNode(new PassThrough()).name, 'PassThrough')
  assert.equal(fromNode(new PassThrough(), { name: 'parser' }).name, 'parser')
  const files = [createReadStream(process.execPath), createReadStream(Buffer.from(process.execPath))]
  for (const file of files) assert.equal(fromNode(file.destroy()).name, process.execPath)
  const nameless = Object.setPrototypeOf(new PassThrough(), Object.create(PassThrough.prototype))
  nameless.constructor = undefined
  assert.equal(fromNode(nameless as PassThrough).name, 'stream')
})

describe('both directions', () => {
  test('what is written to a PassThrough can be read from it, as UTF-8, whatever encoding was set', function* () {
    const stream = fromNode(new PassThrough().setDefaultEncoding('latin1'))
    yield* stream.write('one\ntw', Buffer.from('o\n'))
    yield* stream.end('é')
    assert.deepEqual([yield* stream.gets(), yield* stream.gets()], ['one', 'two'])
    assert.deepEqual(yield* stream.readAll(), Buffer.from([0xc3, 0xa9]))
    yield* stream.close()
    const latin = Readable.from([Buffer.from('café\n')], { objectMode: false }).setEncoding('latin1')
    assert.equal(yield* fromNode(latin).gets(), 'café')
  })

  test('a writer waits while there is no room', function* () {
    const node = new Slow()
    const stream = fromNode(node)
    yield* stream.write('short')
    const writer = yield* waitingFor(() => stream.write('long enough to fill it'))
    assert.deepEqual([writer.waitsFor, stream.tryWrite('x')], ['Slow.write()', false])
    node.take()
    yield* writer
    assert.equal(stream.tryWrite('x'), true)
    node.take()
    assert.deepEqual([node.text, node.listenerCount('drain')], ['shortlong enough to fill itx', 1])
  })

  test('bytes may be reused when their write is over, whatever the stream does with them', function* () {
    for (const size of [5, 15_000, 40_000]) {
      const stream = fromNode(new PassThrough({ highWaterMark: 1024 * 1024 }))
      const chunk = Buffer.alloc(size, 'a')
      yield* stream.write(chunk)
      chunk.fill('b')
      assert.equal(`${yield* stream.readExactly(size)}`, 'a'.repeat(size))
    }
  })

  test('one direction only: the other is refused, again and again', function* () {
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
  })

  test('a duplex that was made for one direction is at its end in the other', function* () {
    const reading = fromNode(new Duplex({ writable: false, read() {} } as object))
    assert.match((yield* thrownBy(reading.write('x'))).message, /ended for writing/)
    const writing = fromNode(new Duplex({ readable: false, write() {} } as object))
    assert.equal(yield* writing.gets(), undefined)
  })
})

describe('reading', () => {
  test('nothing is read that no fiber waits for', function* () {
    const node = new PassThrough()
    const stream = fromNode(node)
    node.write('a\n')
    assert.equal(yield* stream.gets(), 'a')
    while (node.write('b'.repeat(1000)));
    for (let n = 0; n < 3; n++) yield* turn()
    assert.deepEqual([node.writableNeedDrain, node.isPaused(), node.listenerCount('data')], [true, true, 0])
  })

  test('a stream that is paused by others flows on while a fiber waits, and only then', function* () {
    const node = new PassThrough()
    const stream = fromNode(node)
    const fiber = yield* waitingFor(() => stream.gets())
    const pause = () => void node.pause()
    node.on('resume', pause) // however it insists, the event loop turns
    node.pause()
    node.write('a\n')
    for (let n = 0; n < 3; n++) yield* turn()
    assert.equal(fiber.state, 'waiting')
    node.off('resume', pause)
    assert.equal(yield* fiber, 'a')
    node.resume()
    node.pause()
    for (let n = 0; n < 3; n++) yield* turn()
    assert.equal(node.isPaused(), true)
  })

  test('a listener that stops the fiber as the stream pauses takes no line with it', function* () {
    const node = new PassThrough()
    const stream = fromNode(node)
    const fiber = yield* waitingFor(() => stream.gets())
    node.once('pause', () => fiber.stop())
    node.write('a\nb\n')
    assert.equal(yield* fiber, 'a')
    assert.equal(yield* stream.gets(), 'b')
  })

  test('an error that does not destroy the stream fails the waits, after what had come', function* () {
    const node = new PassThrough()
    const stream = fromNode(node)
    const cause = new Error('bad sector')
    const waiting = yield* waitingFor(() => stream.gets())
    node.write('half')
    yield* turn()
    node.emit('error', cause)
    assert.equal(node.destroyed, false)
    assert.equal((yield* thrownBy(waiting)).cause, cause)
    assert.equal(String(yield* stream.read()), 'half')
    assert.equal((yield* thrownBy(stream.read())).cause, cause)
  })
})

describe('the end', () => {
  test('end waits until all is taken, also if others have ended it', function* () {
    for (const isOurs of [true, false]) {
      const node = new Slow()
      const stream = fromNode(node)
      yield* stream.write('first')
      if (!isOurs) node.end('last')
      const ending = yield* waitingFor(() => (isOurs ? stream.end('last') : stream.end()))
      assert.equal(ending.waitsFor, 'Slow.end()')
      const error = yield* thrownBy(stream.write('more'))
      assert.ok(error instanceof StreamClosed)
      assert.equal(error.message, 'Slow.write() failed: the stream was ended for writing')
      node.take()
      yield* ending
      yield* stream.end() // it is
      assert.equal(node.text, 'firstlast')
      yield* stream.close()
    }
  })

  test('close sends what was written, then closes; a fiber that gives up closes at once', function* () {
    for (const [how, expected] of [
      ['waits', 'all of it'],
      ['ended', 'all of it'],
      ['gives up', ''],
    ] as const) {
      const node = new Slow()
      const stream = fromNode(node)
      stream.tryWrite('all of it')
      if (how === 'ended') node.end()
      const closing = yield* waitingFor(() => stream.close())
      assert.deepEqual([closing.state, node.destroyed], ['waiting', false])
      if (how === 'gives up') yield* closing.stop()
      else node.take()
      yield* closing.join()
      assert.deepEqual([node.text, node.destroyed, node.closed], [expected, true, true])
    }
  })

  test('destroyed by others: waits that are there, and those that come later, are told', function* () {
    const node = new PassThrough()
    const stream = fromNode(node)
    node.write('a\nhalf')
    assert.equal(yield* stream.gets(), 'a')
    const reader = yield* waitingFor(() => stream.gets())
    const full = new Slow()
    const writer = yield* waitingFor(() => fromNode(full).write(LONG))
    full.destroy()
    node.destroy()
    const early = yield* thrownBy(stream.write('x')) // its close has not been told yet
    assert.equal(early.message, 'PassThrough.write() failed: the stream is closed')
    const message = 'PassThrough.gets() failed: the stream was closed before its end'
    assert.equal((yield* thrownBy(reader)).message, message)
    assert.ok((yield* thrownBy(writer)) instanceof StreamClosed)
    assert.equal(`${yield* stream.read()}`, 'half')
    for (const op of [stream.write('x'), stream.end(), stream.gets()]) {
      assert.ok((yield* thrownBy(op as Op<unknown>)) instanceof StreamClosed)
    }
    yield* stream.close()
  })

  test('errors are ours, with the cause; what comes after the close harms nothing', function* () {
    const node = new Slow()
    const stream = fromNode(node)
    const cause = Object.assign(new Error('disk on fire'), { code: 'EFIRE' })
    const writer = yield* waitingFor(() => stream.write(LONG))
    node.destroy(cause)
    const error = yield* thrownBy(writer)
    assert.ok(error instanceof IOError)
    const expected = ['EFIRE', cause, 'Slow.write() failed: disk on fire (EFIRE)']
    assert.deepEqual([error.code, error.cause, error.message], expected)
    yield* turn()
    node.emit('error', new Error('and again'))
    assert.equal((yield* thrownBy(stream.end())).cause, cause)
    yield* stream.close()
  })

  test('a stream that fails at its end fails the end or the close', function* () {
    for (const word of ['end', 'close'] as const) {
      const node = new Writable({
        write: (_chunk, _encoding, done) => done(),
        final: (done) => done(new Error('no room for the last word')),
      })
      const stream = fromNode(node, { name: 'disk' })
      const { message } = yield* thrownBy(stream[word]())
      assert.equal(message, `disk.${word}() failed: no room for the last word`)
    }
  })

  test('a stream that is over when it is given says so', function* () {
    const ended = new PassThrough()
    ended.end('x')
    ended.resume()
    yield* once(ended, 'close')
    const stream = fromNode(ended)
    assert.equal(yield* stream.gets(), undefined)
    assert.match((yield* thrownBy(stream.write('x'))).message, /failed: the stream is closed/)
    yield* stream.end()
    yield* stream.close()

    const destroyed = new PassThrough().destroy()
    yield* once(destroyed, 'close')
    for (const op of [fromNode(destroyed).gets(), fromNode(destroyed).end('x'), fromNode(destroyed).end()]) {
      assert.ok((yield* thrownBy(op as Op<unknown>)) instanceof StreamClosed)
    }
    yield* fromNode(destroyed).close()

    const broken = new PassThrough().once('error', () => {})
    broken.destroy(new Error('cut cable'))
    yield* turn()
    for (const op of [fromNode(broken).gets(), fromNode(broken).write('x')]) {
      assert.match((yield* thrownBy(op as Op<unknown>)).message, /failed: cut cable$/)
    }
  })

  test('close waits until Node has closed it; a stream that never tells is closed all the same', function* () {
    const slow = new Writable({ write() {}, destroy: (_error, done) => void setImmediate(() => done(null)) })
    yield* fromNode(slow).close()
    assert.equal(slow.closed, true)
    for (const node of [new Slow({ emitClose: false }), new Readable({ emitClose: false, read() {} })]) {
      yield* fromNode(node).close()
      assert.equal(node.destroyed, true)
    }
  })

  test('a stream that fails while no fiber waits does not end the process', function* () {
    const node = new Transform({ transform: (_chunk, _encoding, done) => done(new Error('bad input')) })
    const stream = fromNode(node)
    assert.equal(stream.tryWrite('x'), true)
    yield* turn()
    assert.match((yield* thrownBy(stream.gets())).message, /failed: bad input/)
  })
})

describe('real ones', () => {
  realTest('files: what is written can be read; errors have the code and the path', function* () {
    const path = freshPath()
    const target = fromNode(createWriteStream(path))
    for (let i = 0; i < 1000; i++) yield* target.write(`line ${i}\n`)
    yield* target.close()
    assert.equal(textOf(path).length, 8890)
    const source = fromNode(createReadStream(path, { highWaterMark: 100 }))
    assert.equal(`${yield* source.readAll()}`, textOf(path))
    const missing = yield* thrownBy(fromNode(createReadStream('/no/such/file')).gets())
    assert.equal(missing.message, '/no/such/file.gets() failed: no such file or directory (ENOENT)')
    const full = yield* thrownBy(fromNode(createWriteStream('/dev/full')).end('x'))
    assert.equal(full.message, '/dev/full.end() failed: no space left on device (ENOSPC)')
  })

  test('HTTP: the body of a request by lines, an answer that waits for room, a request that is cut', () =>
    run(function* () {
      const seen = pipe()
      const server = createHttpServer((req, res) => {
        run(function* () {
          const answer = fromNode(res)
          try {
            yield* each(fromNode(req).lines(), (line) => answer.write(`${line.toUpperCase()}\n`))
            yield* answer.end()
          } catch (error) {
            yield* seen.write(`${(error as Error).name}\n`)
          }
        })
      })
      yield* use(server.listen(0, '127.0.0.1'), () => void server.close())
      yield* once(server, 'listening')
      const { port } = server.address() as AddressInfo
      const sent = request({ port, host: '127.0.0.1', method: 'POST', agent: false })
      const text = 'a line\n'.repeat(20_000)
      const asking = spin(() => fromNode(sent).end(text))
      const answer = fromNode((yield* once(sent, 'response')) as IncomingMessage)
      assert.equal(`${yield* answer.readAll()}`, text.toUpperCase())
      yield* asking
      const cut = fromNode(connectNode(port, '127.0.0.1'))
      yield* cut.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nfirst\nsec')
      yield* cut.readUntil('FIRST')
      yield* cut.close()
      assert.match((yield* seen.gets()) as string, /^(IOError|StreamClosed)$/)
    }))
})
