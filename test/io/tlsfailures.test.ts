// TLS with those who do it wrong: servers that cannot prove who they are, clients that do not speak TLS, that are slow,
// that hang up; and fibers that are stopped in the middle of it.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { all, cancelAfter, Fiber, type Routine, sleep, spin, TimedOut, tap, until } from 'polyphony'
import {
  connect,
  IOError,
  listen,
  type TlsClientOptions,
  type TlsServer,
  type TlsServerOptions,
} from 'polyphony/io'
import { random, thrownBy } from '../prelude.js'
import { ca, clean, echo, eventually, pair, serving } from './tls.js'

const host = '127.0.0.1'
const local = pair('local')

describe('connect refuses a server that is not the right one, and says what to do', () => {
  const cases: [string, TlsServerOptions, TlsClientOptions | true, string | RegExp, RegExp][] = [
    [
      'vouches for itself',
      pair('self'),
      true,
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      /self-signed certificate.*tls: \{ ca \}/,
    ],
    [
      'is vouched for by a stranger',
      local,
      true,
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      /Nobody known here vouches for it/,
    ],
    [
      'has another name',
      pair('a'),
      { ca, servername: 'localhost' },
      'ERR_TLS_CERT_ALTNAME_INVALID',
      /a\.example .*tls: \{ servername \}/,
    ],
    [
      'has another name than the one given',
      local,
      { ca, servername: 'a.example' },
      'ERR_TLS_CERT_ALTNAME_INVALID',
      /Host: a\.example\. is not in the cert's altnames/,
    ],
    [
      'has a certificate that is too old',
      pair('expired'),
      { ca },
      'CERT_HAS_EXPIRED',
      /certificate has expired .*renewed/,
    ],
    [
      'speaks only newer versions',
      { ...local, minVersion: 'TLSv1.3' },
      { ca, maxVersion: 'TLSv1.2' },
      'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
      /no version of TLS in common: see minVersion/,
    ],
    [
      'speaks only older versions',
      { ...local, maxVersion: 'TLSv1.2' },
      { ca, minVersion: 'TLSv1.3' },
      'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
      /no version of TLS in common: see minVersion/,
    ],
    ['has no certificate', {}, { ca }, /^ERR_SSL_.*ALERT_HANDSHAKE_FAILURE$/, /no certificate for this name/],
  ]
  for (const [what, server, tls, code, message] of cases) {
    it(`one that ${what}`, () =>
      clean(function* () {
        const listening = yield* serving(server, echo)
        const error = yield* thrownBy(connect({ host, port: listening.port, tls }))
        assert.ok(error instanceof IOError)
        if (typeof code === 'string') assert.equal(error.code, code)
        else assert.match(error.code, code) // OpenSSL has changed its mind
        assert.match(error.message, message)
        assert.ok(error.message.startsWith(`connect(127.0.0.1:${listening.port}) failed: `), error.message)
        assert.equal((error.cause as NodeJS.ErrnoException).code, error.code)
        yield* listening.close()
      }))
  }

  it('unless it is told to take anybody', () =>
    clean(function* () {
      const server = yield* serving(pair('self'), echo)
      const client = yield* connect({ host, port: server.port, tls: { rejectUnauthorized: false } })
      assert.deepEqual([client.authorized, client.authorizationError], [false, 'DEPTH_ZERO_SELF_SIGNED_CERT'])
      yield* client.close()
      yield* server.close()
    }))

  const strangers: [string, (socket: net.Socket) => void, string, RegExp][] = [
    [
      'speaks no TLS',
      (socket) => socket.end('220 welcome\r\n'),
      'ERR_SSL_WRONG_VERSION_NUMBER',
      /does not speak TLS here/,
    ],
    ['hangs up', (socket) => socket.end(), 'ECONNRESET', /hung up in the middle of the handshake/],
    [
      'hangs up when it hears TLS',
      (socket) => socket.once('data', () => socket.destroy()),
      'ECONNRESET',
      /hung up/,
    ],
    [
      'sends half an answer',
      (socket) => socket.end(Buffer.from([22, 3, 3, 0, 90, 2])),
      'ECONNRESET',
      /hung up/,
    ],
  ]
  for (const [what, answer, code, message] of strangers) {
    it(`one that ${what}`, () =>
      clean(function* () {
        const node = net.createServer((socket) => {
          socket.on('error', () => {})
          socket.resume()
          answer(socket)
        })
        node.listen(0, host)
        yield* until(once(node, 'listening'))
        const { port } = node.address() as AddressInfo
        const error = yield* thrownBy(connect({ host, port, tls: { ca } }))
        assert.equal(error.code, code)
        assert.match(error.message, message)
        node.close()
      }))
  }

  it('one that does not listen at all: an error of plain sockets, without advice about TLS', () =>
    clean(function* () {
      const server = yield* listen({ host })
      const { port } = server
      yield* server.close()
      const error = yield* thrownBy(connect({ host, port, tls: true }))
      assert.equal(error.message, `connect(127.0.0.1:${port}) failed: connection refused (ECONNREFUSED)`)
    }))

  it('one that never answers: the time limit of connect holds for the handshake', () =>
    clean(function* () {
      const silent = yield* listen({ host })
      const error = yield* thrownBy(connect({ host, port: silent.port, tls: true, timeout: 1000 }))
      assert.ok(error instanceof TimedOut)
      const socket = yield* silent.accept()
      assert.ok((yield* socket!.readAll()).length > 100, 'the client had begun')
      yield* socket!.close()
      yield* silent.close()
    }))
})

describe('a server survives (I11)', () => {
  /** What a client without TLS sends, and how it goes. */
  type Rude = [what: string, does: (socket: net.Socket) => void, code: string | RegExp]
  const hello = Buffer.from('1603013ff801003ff40303', 'hex') // of 16 kB
  const rude: Rude[] = [
    ['plain HTTP', (socket) => socket.write('GET / HTTP/1.1\r\n\r\n'), 'ERR_SSL_HTTP_REQUEST'],
    ['plain text', (socket) => socket.write('hello, who is there?\r\n'), /^ERR_SSL_/],
    ['nothing, and an end', (socket) => socket.end(), 'ECONNRESET'],
    ['a hang-up', (socket) => socket.destroy(), 'ECONNRESET'],
    ['a reset', (socket) => socket.resetAndDestroy(), /^ECONNRESET|EPIPE$/],
    ['half a greeting and an end', (socket) => socket.end(hello), 'ECONNRESET'],
    [
      'half a greeting and a reset',
      (socket) => socket.write(hello, () => socket.resetAndDestroy()),
      'ECONNRESET',
    ],
  ]
  for (const [what, does, code] of rude) {
    it(`${what}: counted, told, and the next is served`, () =>
      clean(function* () {
        const errors: IOError[] = []
        const server = yield* serving({ ...local, onHandshakeError: (error) => errors.push(error) }, echo)
        const socket = net.connect(server.port, host)
        socket.on('error', () => {})
        socket.resume()
        socket.once('connect', () => does(socket))
        yield* eventually(() => errors.length === 1)
        const [error] = errors
        assert.ok(error instanceof IOError)
        assert.match(error.code, typeof code === 'string' ? new RegExp(`^${code}$`) : code)
        assert.match(error.message, /^handshake with 127\.0\.0\.1:\d+ failed: /)
        yield* served(server)
        assert.deepEqual(server.stats().handshakes, { underway: 0, done: 1, failed: 1 })
        socket.destroy()
        yield* server.close()
      }))
  }

  /** One who does it right is served. */
  function* served(server: TlsServer): Routine<void> {
    const client = yield* connect({ host, port: server.port, tls: { ca } })
    yield* client.end('hello\n')
    assert.equal(yield* client.gets(), 'hello')
    yield* client.close()
  }

  it('300 clients that send garbage, all at once, and nobody is told', () =>
    clean(function* () {
      const server = yield* serving(local, echo)
      const next = random(1)
      const sockets = Array.from({ length: 300 }, () => {
        const bytes = Buffer.from(Array.from({ length: 1 + next() * 300 }, () => Math.floor(next() * 256)))
        if (next() < 0.7) hello.copy(bytes) // it begins well
        const socket = net.connect(server.port, host)
        socket.on('error', () => {})
        socket.resume()
        if (next() < 0.5) socket.end(bytes)
        else socket.write(bytes, () => socket.destroy())
        return socket
      })
      yield* eventually(() => server.stats().connections === 300)
      yield* served(server)
      yield* eventually(() => server.stats().handshakes.failed === 300)
      for (const socket of sockets) socket.destroy()
      assert.equal(server.isClosed, false)
      yield* server.close()
    }))

  it('a listener that throws: reported, and the loop goes on', () =>
    clean(function* () {
      const { runtime } = Fiber.current as unknown as { runtime: { stats(): { reports: number } } }
      const before = runtime.stats().reports
      const wrong = () => {
        throw new Error('I cannot bear it')
      }
      const server = yield* serving({ ...local, onHandshakeError: wrong }, echo)
      const socket = net.connect(server.port, host, () => socket.end())
      socket.resume()
      yield* eventually(() => server.stats().handshakes.failed === 1)
      assert.equal(runtime.stats().reports, before + 1)
      yield* served(server)
      yield* server.close()
    }))

  it('one that never finishes its handshake: the others are served meanwhile', () =>
    clean(function* () {
      const server = yield* serving(local, echo)
      const idle = net.connect(server.port, host, () => idle.write(hello))
      idle.on('error', () => {})
      idle.resume()
      yield* eventually(() => server.stats().handshakes.underway === 1)
      yield* served(server)
      assert.deepEqual(server.stats().handshakes, { underway: 1, done: 1, failed: 0 })
      idle.destroy()
      yield* eventually(() => server.stats().handshakes.failed === 1)
      yield* server.close()
    }))

  it('one that takes too long is dropped, and sending a byte now and then does not help it', () =>
    clean(function* () {
      const errors: IOError[] = []
      const onHandshakeError = (error: IOError) => errors.push(error)
      const server = yield* serving({ ...local, handshakeTimeout: 40, onHandshakeError }, echo)
      const slow = net.connect(server.port, host)
      slow.write(hello)
      slow.on('error', () => {})
      slow.resume()
      let sent = 0
      yield* eventually(() => {
        if (slow.writable && sent++ < 10_000) slow.write(Buffer.from([0])) // of a greeting that is never whole
        return errors.length === 1
      })
      assert.equal(errors[0]?.code, 'ERR_TLS_HANDSHAKE_TIMEOUT')
      assert.match(errors[0]!.message, /^handshake with 127\.0\.0\.1:\d+ failed: it took longer than 40 ms/)
      assert.deepEqual(server.stats().handshakes, { underway: 0, done: 0, failed: 1 })
      slow.destroy()
      server.setTls({ handshakeTimeout: 10_000 })
      yield* served(server)
      yield* server.close()
    }))

  it('its own end: handshakes that are underway are cut, and accept gives nothing more', () =>
    clean(function* () {
      const server = yield* listen({ host, tls: local })
      const waiting = spin(() => server.accept())
      const idle = net.connect(server.port, host)
      idle.on('error', () => {})
      idle.resume()
      yield* eventually(() => server.stats().handshakes.underway === 1)
      yield* server.close()
      assert.equal(yield* waiting, undefined)
      yield* until(once(idle, 'close'))
      assert.deepEqual(server.stats().handshakes, { underway: 0, done: 0, failed: 0 })
    }))

  it('an error of sni that nobody hears of is reported', () =>
    clean(function* () {
      const { runtime } = Fiber.current as unknown as { runtime: { stats(): { reports: number } } }
      const sni = () => {
        throw new Error('no such customer')
      }
      const server = yield* serving({ ...local, sni }, echo)
      const before = runtime.stats().reports
      yield* thrownBy(connect({ host, port: server.port, tls: { ca, servername: 'localhost' } }))
      assert.equal(runtime.stats().reports, before + 1)
      yield* server.close()
    }))
})

describe('S35 who is stopped leaves nothing behind', () => {
  it('connect in the middle of its handshake closes its socket', () =>
    clean(function* () {
      const silent = yield* listen({ host })
      const client = spin(() => connect({ host, port: silent.port, tls: { ca } }))
      const socket = yield* silent.accept()
      assert.ok(((yield* socket!.read()) as Buffer).length > 0, 'the handshake has begun')
      yield* client.stop()
      assert.equal(yield* socket!.read(), undefined)
      yield* socket!.close()
      yield* silent.close()
    }))

  it('connect that is done when its fiber has just been stopped', () =>
    clean(function* () {
      const server = yield* serving(local, echo)
      const client = spin(() => connect({ host, port: server.port, tls: { ca } }))
      // In the turn in which the answer has come: it is kept (S34), or discarded.
      const untap = tap((event, fiber) => {
        if (event === 'schedule' && fiber === client && fiber.waitsFor !== undefined) client.stop()
      })
      const outcome = yield* client.join()
      untap()
      if (outcome.type === 'value') outcome.value.destroy()
      yield* eventually(() => server.stats().open === 0)
      yield* server.close()
    }))

  /** Everything that waits in TLS. Whatever it opened, it closes. */
  function* conversation(): Routine<void> {
    const server = yield* listen({
      host,
      tls: {
        ...local,
        *sni() {
          yield* sleep(1)
          return undefined
        },
      },
      alpn: ['talk'],
    })
    try {
      spin('server', () =>
        server.acceptLoop(function* (socket) {
          for (let line: string | undefined; (line = yield* socket.gets()) !== undefined; ) {
            yield* socket.write(`${line} ${line}\n`)
          }
        }),
      )
      const tls = { ca, servername: 'localhost' }
      const client = yield* connect({ host, port: server.port, tls, alpn: ['talk'] })
      try {
        yield* client.write('one\n')
        assert.equal(yield* client.gets(), 'one one')
        yield* client.end('two\n')
        assert.equal(`${yield* client.readAll()}`, 'two two\n')
        yield* client.close()
      } finally {
        client.destroy()
      }
    } finally {
      server.destroy()
    }
  }

  for (const verb of ['stop', 'kill'] as const) {
    it(`a conversation that meets a ${verb} at any of its waits`, (t) => {
      let at = 0
      const rounds = async (): Promise<void> => {
        for (let isReached = true; isReached && at < 200; at++) {
          isReached = false
          await clean(function* () {
            const whole = spin({ name: 'talk', link: false }, conversation)
            let blocks = 0
            const untap = tap((event) => {
              if (event !== 'block' || blocks++ !== at) return
              isReached = true
              whole[verb]()
            })
            const outcome = yield* whole.join()
            untap()
            assert.notEqual(outcome.type, 'error', `${(outcome as { error?: unknown }).error}`)
          })
        }
        t.diagnostic(`${verb} at ${at} waits`)
        assert.ok(at > 10)
      }
      return rounds()
    })
  }

  it('forty connections of which half are cut by a time limit', () =>
    clean(function* () {
      const server = yield* serving(local, echo)
      const one = (i: number) =>
        function* (): Routine<void> {
          const client = yield* connect({ host, port: server.port, tls: { ca } })
          try {
            const talk = function* (): Routine<void> {
              yield* client.write(`${i}\n`)
              assert.equal(yield* client.gets(), `${i}`)
              if (i % 2 === 1) yield* client.gets() // nothing more will come
            }
            if (i % 2 === 1) yield* thrownBy(cancelAfter(5, talk))
            else yield* talk()
          } finally {
            client.destroy()
          }
        }
      yield* all(Array.from({ length: 40 }, (_, i) => one(i)))
      yield* eventually(() => server.stats().open === 0)
      assert.deepEqual(server.stats().handshakes, { underway: 0, done: 40, failed: 0 })
      yield* server.close()
    }))
})
