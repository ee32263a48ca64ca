// A TLS server: certificates by name, new ones without closing, certificates of clients, and handshakes that fail.

import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import net from 'node:net'
import { connect, IOError, listen, type Sni, type TlsContext, type TlsServer } from 'polyphony/io'
import { contextOf } from '#io/tlsoptions'
import {
  all,
  allSettled,
  assert,
  BadArgument,
  describe,
  eventually,
  Fiber,
  type Routine,
  reports,
  sleep,
  spin,
  suspend,
  tap,
  test,
  thrownBy,
  until,
  use,
} from '../prelude.js'
import { opened } from './real.js'
import { ca, clean, client, echo, fixture, host, local, pair, said, serving, tlsTest } from './tls.js'

describe('certificates by name (SNI)', () => {
  /** Which certificate the server shows to a client that asks for this name. */
  function* shown(server: TlsServer, servername = ''): Routine<string> {
    const name = servername === '' ? {} : { servername }
    const socket = yield* client(server, { ...name, checkServerIdentity: () => undefined })
    const { CN } = socket.peerCertificate!.subject
    yield* socket.close()
    return CN as string
  }

  tlsTest('from a table: exact names and wildcards, in any case; else that of the server', function* () {
    const sni = { 'a.example': pair('a'), '*.b.example': pair('b') }
    const server = yield* serving({ ...local, sni })
    for (const [name, certificate] of [
      ['a.example', 'a'],
      ['A.Example', 'a'],
      ['x.b.example', 'b'],
      ['x.y.b.example', 'local'],
      ['b.example', 'local'],
      ['', 'local'],
    ]) {
      assert.equal(yield* shown(server, name), certificate, name)
    }
  })

  tlsTest('from a body that waits, on a fiber of its own, or from a function', function* () {
    const paths: string[] = []
    const sni: Sni = function* (name) {
      paths.push(Fiber.current.path)
      if (name !== 'a.example') return undefined
      const read = (file: string) => () => until(readFile(fixture(file)))
      const [cert, key] = yield* all([read('a.pem'), read('a.key')])
      return { cert, key }
    }
    const server = yield* serving({ ...local, sni })
    assert.equal(yield* shown(server, 'a.example'), 'a')
    assert.equal(yield* shown(server, 'a\u001b[31m\nb'), 'local')
    assert.deepEqual(paths, ['sni a.example', 'sni "a\\u001b[31m\\nb"']) // a client may ask for anything
    server.setTls({ sni: (name) => (name === 'x.b.example' ? pair('b') : undefined) })
    assert.equal(yield* shown(server, 'x.b.example'), 'b')
    assert.equal(yield* shown(server, 'a.example'), 'local')
  })

  for (const isHeard of [true, false]) {
    const where = isHeard ? 'told to onHandshakeError' : 'reported'
    tlsTest(`a function that fails costs one handshake, and its error is ${where}`, function* () {
      const messages: string[] = []
      const server = yield* serving({
        ...local,
        *sni(name): Routine<TlsContext | undefined> {
          if (name === 'a.example') throw new Error('no such customer')
          if (name === 'b.example') return { cert: 'no certificate', key: 'no key' }
          if (name === 'c.example') throw 'a string'
          return 5 as never
        },
        ...(isHeard && { onHandshakeError: (error) => messages.push(error.message) }),
      })
      for (const letter of 'abcd') {
        assert.equal((yield* thrownBy(shown(server, `${letter}.example`))).code, 'ECONNRESET')
      }
      assert.equal(yield* shown(server), 'local')
      yield* eventually(() => server.stats().handshakes.underway === 0)
      assert.deepEqual(server.stats().handshakes, { underway: 0, done: 1, failed: 4 })
      const expected = [
        /no such customer$/,
        /sni\("b\.example"\) of listen\(127\.0\.0\.1:0\) cannot use what it was given/,
        /a string/,
        /sni\("d\.example"\) .* needs an object of options, got 5/,
      ]
      const heard = isHeard ? messages : reports()
      assert.deepEqual([messages.length, reports().length], isHeard ? [4, 0] : [0, 4])
      for (const [i, each] of expected.entries()) assert.match(heard[i] as string, each)
      if (isHeard) assert.match(messages[0] as string, /^handshake with 127\.0\.0\.1:\d+ failed: /)
      else assert.match(heard[0] as string, /sni\("a\.example"\) of listen.* failed/)
    })
  }

  for (const why of ['the client hangs up', 'the server is closed', 'the time is up']) {
    tlsTest(`a body that still looks for a certificate is stopped when ${why}, and waited for`, function* () {
      const log: string[] = []
      const server = yield* serving({
        ...local,
        handshakeTimeout: why === 'the time is up' ? 30 : 10_000,
        *sni() {
          log.push('looking')
          try {
            return yield* suspend<undefined>()
          } finally {
            log.push('stopping')
            yield* sleep(100)
            log.push('stopped')
          }
        },
      })
      const fiber = spin({ link: false }, () => thrownBy(client(server, { servername: 'localhost' })))
      yield* eventually(() => log.length === 1)
      if (why === 'the client hangs up') yield* fiber.stop()
      else if (why === 'the server is closed') yield* server.close()
      if (why !== 'the client hangs up') assert.equal((yield* fiber).code, 'ECONNRESET')
      yield* eventually(() => log.length > 1)
      yield* server.close()
      assert.deepEqual(log, ['looking', 'stopping', 'stopped'])
      assert.equal(server.stats().handshakes.underway, 0)
    })
  }

  test('the same answer is not parsed again', () => {
    const options = pair('a')
    assert.equal(contextOf(options, 'a test'), contextOf(options, 'a test'))
    assert.notEqual(contextOf(options, 'a test'), contextOf(pair('a'), 'a test'))
  })

  tlsTest('what cannot find certificates is refused with a sentence', function* () {
    const sni = async () => undefined
    for (const [wrong, message] of [
      [sni, /^sni of listen\(127\.0\.0\.1:0\) was given the async function sni/],
      ['a', /certificates by name, or a function that finds them; got "a"/],
      [null, /got null/],
      [{ 'a.example': { cert: 'x' } }, /sni "a\.example" of listen\(127\.0\.0\.1:0\) cannot use/],
    ] as const) {
      const error = yield* thrownBy(listen({ host, tls: { ...local, sni: wrong as never } }))
      assert.match(error.message, message)
      assert.ok(error instanceof BadArgument || error instanceof IOError)
    }
  })
})

describe('setTls', () => {
  tlsTest(
    'gives a new certificate to clients that come; those that are there or underway live on',
    function* () {
      let [isAsked, isChanged] = [false, false]
      const sni: Sni = function* () {
        isAsked = true
        yield* eventually(() => isChanged)
        return undefined
      }
      const server = yield* serving({ ...local, sni })
      const old = yield* client(server)
      const underway = spin(() => connect({ host, port: server.port, tls: { ca, servername: 'localhost' } }))
      yield* eventually(() => isAsked)
      server.setTls({ ...pair('renewed'), sni: {} })
      const next = yield* client(server)
      isChanged = true
      for (const [socket, certificate] of [
        [old, 'local'],
        [yield* opened(underway), 'local'],
        [next, 'renewed'],
      ] as const) {
        assert.equal(socket.peerCertificate?.subject.CN, certificate)
        yield* socket.write('still there\n')
        assert.equal(yield* socket.gets(), 'still there')
      }
    },
  )

  tlsTest('refuses what is no good, and the old one stays', function* () {
    const server = yield* serving()
    const before = yield* client(server)
    for (const [changes, message] of [
      [{ cert: 'nonsense', key: 'nonsense', ca }, /setTls\(\) cannot use .*no start line/],
      [{ cert: pair('renewed').cert }, /ERR_OSSL_X509_KEY_VALUES_MISMATCH/],
      [{ certificate: 'x' }, /^tls of server .*setTls\(\) has no option "certificate"/],
    ] as const) {
      assert.throws(() => server.setTls(changes as never), { message })
    }
    server.setTls({ handshakeTimeout: 9000 }) // nothing of what was refused is left in the way
    yield* before.write('x')
    yield* before.read()
    assert.equal((yield* client(server, { session: before.session as Buffer })).isResumed, true)
    assert.equal((yield* client(server)).peerCertificate?.subject.CN, 'local')
  })
})

describe('certificates of clients', () => {
  for (const rejectUnauthorized of [true, false]) {
    const what = rejectUnauthorized ? 'are insisted on' : 'may be asked for without being insisted on'
    tlsTest(what, function* () {
      const errors: string[] = []
      const onHandshakeError = ({ code, message }: IOError) => errors.push(`${code} ${message}`)
      const tls = { ...local, ca, requestCert: true, rejectUnauthorized, onHandshakeError }
      const server = yield* serving(tls, (socket) =>
        socket.end(`${socket.authorized} ${socket.authorizationError} ${socket.peerCertificate?.subject.CN}`),
      )
      assert.equal(yield* said(server, pair('client')), 'true undefined client')
      if (!rejectUnauthorized) {
        assert.equal(yield* said(server), 'false UNABLE_TO_GET_ISSUER_CERT undefined')
        assert.equal(yield* said(server, pair('self')), 'false DEPTH_ZERO_SELF_SIGNED_CERT self')
        return
      }
      // With TLS 1.3 the client is done before the server has looked at its certificate. That there is none it is told
      // in an alert; that it is no good, by a hang-up.
      const { code, message } = yield* thrownBy(said(server))
      assert.equal(code, 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED')
      assert.match(message, /^tls 127.*readAll\(\) failed: tlsv13 alert certificate required/)
      const [heard] = yield* allSettled([() => said(server, pair('self'))])
      assert.ok(heard.type === 'error' || (heard.type === 'value' && heard.value === ''))
      const refused = yield* thrownBy(client(server, { maxVersion: 'TLSv1.2' }))
      assert.match(refused.message, /handshake failure/)
      yield* eventually(() => errors.length === 3)
      assert.match(errors[0] as string, /^ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE .*tls: \{ cert, key \}/)
      assert.match(
        errors[1] as string,
        /certificate was not accepted \(DEPTH_ZERO_SELF_SIGNED_CERT\)\. See ca/,
      )
      assert.equal(server.stats().connections - server.stats().handshakes.failed, 1)
    })
  }
})

describe('a server survives (I11)', () => {
  const hello = Buffer.from('1603013ff801003ff40303', 'hex') // the beginning of a greeting of 16 kB

  /** A client of Node's without TLS, and what it does when it is connected. */
  function* rude({ port }: TlsServer, does: (socket: net.Socket) => unknown): Routine<net.Socket> {
    const socket = net.connect(port, host, () => does(socket))
    socket.on('error', () => {}).resume()
    return yield* use(socket, () => void socket.destroy())
  }

  /** A client that does it right is served. */
  function* served(server: TlsServer): Routine<void> {
    const socket = yield* client(server)
    yield* socket.end('hello\n')
    assert.equal(yield* socket.gets(), 'hello')
  }

  const rows: [what: string, does: (socket: net.Socket) => unknown, code: RegExp][] = [
    ['plain HTTP', (socket) => socket.write('GET / HTTP/1.1\r\n\r\n'), /^ERR_SSL_HTTP_REQUEST$/],
    ['plain text', (socket) => socket.write('hello, who is there?\r\n'), /^ERR_SSL_/],
    ['nothing, and an end', (socket) => socket.end(), /^ECONNRESET$/],
    ['a reset', (socket) => socket.resetAndDestroy(), /^ECONNRESET|EPIPE$/],
    ['half a greeting and an end', (socket) => socket.end(hello), /^ECONNRESET$/],
  ]
  for (const [what, does, code] of rows) {
    tlsTest(`${what}: counted, told, and the next client is served`, function* () {
      const errors: IOError[] = []
      const server = yield* serving({ ...local, onHandshakeError: (error) => errors.push(error) })
      yield* rude(server, does)
      yield* eventually(() => errors.length === 1)
      const [error] = errors
      assert.ok(error instanceof IOError)
      assert.match(error.code, code)
      assert.match(error.message, /^handshake with 127\.0\.0\.1:\d+ failed: /)
      yield* served(server)
      assert.deepEqual(server.stats().handshakes, { underway: 0, done: 1, failed: 1 })
    })
  }

  tlsTest('a listener that throws: reported, and the loop goes on', function* () {
    const onHandshakeError = () => {
      throw new Error('I cannot bear it')
    }
    const server = yield* serving({ ...local, onHandshakeError })
    yield* rude(server, (socket) => socket.end())
    yield* eventually(() => server.stats().handshakes.failed === 1)
    assert.match(reports().join(), /onHandshakeError of listen\(127\.0\.0\.1:0\) failed/)
    yield* served(server)
  })

  tlsTest('a client that never finishes: others are served; its time is limited', function* () {
    const errors: IOError[] = []
    const onHandshakeError = (error: IOError) => errors.push(error)
    const server = yield* serving({ ...local, onHandshakeError })
    yield* rude(server, (socket) => socket.write(hello))
    yield* eventually(() => server.stats().handshakes.underway === 1)
    yield* served(server)
    assert.deepEqual(server.stats().handshakes, { underway: 1, done: 1, failed: 0 })
    server.setTls({ handshakeTimeout: 400 })
    yield* served(server) // its time must not run out later
    const closed = yield* serving({ ...local, handshakeTimeout: 300 })
    yield* rude(closed, () => {})
    yield* eventually(() => closed.stats().handshakes.underway === 1)
    yield* closed.close() // nor that of a handshake that was cut
    const slow = yield* rude(server, (socket) => {
      socket.write(hello)
      for (let i = 0; i < 100; i++) socket.write(Buffer.from([0])) // of a greeting that is never whole
    })
    yield* until(once(slow, 'close'))
    assert.equal(errors[0]?.code, 'ERR_TLS_HANDSHAKE_TIMEOUT')
    assert.match(errors[0]!.message, /^handshake with 127\.0\.0\.1:\d+ failed: it took longer than 400 ms/)
    assert.deepEqual(server.stats().handshakes, { underway: 1, done: 2, failed: 1 })
  })

  tlsTest('its own end: handshakes that are underway are cut, and accept gives nothing more', function* () {
    const server = yield* opened(listen({ host, tls: local }))
    const waiting = spin(() => server.accept())
    const idle = yield* rude(server, () => {})
    yield* eventually(() => server.stats().handshakes.underway === 1)
    yield* server.close()
    assert.equal(yield* waiting, undefined)
    yield* eventually(() => idle.closed)
    assert.deepEqual(server.stats().handshakes, { underway: 0, done: 0, failed: 0 })
  })

  tlsTest('certificates that are none are refused where they are used', function* () {
    const broken = yield* thrownBy(listen({ host, tls: { cert: 'x', key: 'y' } }))
    assert.ok(broken instanceof IOError)
    const sentence = /^listen\(127\.0\.0\.1:0\) cannot use what it was given for TLS: no start line.*PEM/
    assert.match(broken.message, sentence)
    for (const tls of [{ cert: 5 as never }, { minVersion: 'TLSv9' as never }]) {
      assert.ok((yield* thrownBy(connect({ host, port: 1, tls }))) instanceof BadArgument)
    }
  })
})

describe('a conversation over TLS leaves nothing behind', () => {
  /** Everything that waits in TLS. */
  function* conversation(): Routine<void> {
    const sni: Sni = function* () {
      yield* sleep(1)
      return undefined
    }
    const server = yield* opened(listen({ host, tls: { ...local, sni }, alpn: ['talk'] }))
    spin('server', () => server.acceptLoop(echo))
    const socket = yield* client(server, { servername: 'localhost' }, ['talk'])
    yield* socket.write('one\n')
    assert.equal(yield* socket.gets(), 'one')
    yield* socket.end('two\n')
    assert.equal(`${yield* socket.readAll()}`, 'two\n')
    yield* socket.close()
  }

  for (const verb of ['stop', 'kill'] as const) {
    test(`when it meets a ${verb} at any of its waits`, async () => {
      let at = 0
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
      assert.ok(at > 10)
    })
  }
})
