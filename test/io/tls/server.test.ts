// A TLS server: certificates by name, new ones without closing, certificates of clients, and handshakes that fail.

import { readFile } from 'node:fs/promises'
import net from 'node:net'
import { connect, IOError, listen, type Sni, type TlsContext, type TlsServer } from 'polyphony/io'
import { contextOf } from '#io/tls/options'
import {
  all,
  allSettled,
  assert,
  BadArgument,
  describe,
  eventually,
  Fiber,
  type Op,
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
} from '../../prelude.js'
import { opened } from '../real.js'
import { ca, clean, client, echo, fixture, host, local, pair, said, serving, tlsTest } from '../tls.js'

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
        /sni\("b\.example"\) of listen\(127\.0\.0\.1:0\) cannot use its options for TLS/,
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
      if (why === 'the time is up') yield* sleep(30)
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
      [
        'a',
        /sni of listen\(127\.0\.0\.1:0\) needs certificates by name, or a function that finds them, got "a"/,
      ],
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
      const tls = { ca, servername: 'localhost' }
      const underway = spin(() => connect({ host, port: server.port, tls, detached: true }))
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

  tlsTest('refuses what cannot be used, and the old one stays', function* () {
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
      // in an alert; that it is not trusted, by a hang-up.
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
        /certificate of the client was not accepted \(DEPTH_ZERO_SELF_SIGNED_CERT\)\. See ca/,
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

  const TIMEOUT = 'ERR_TLS_HANDSHAKE_TIMEOUT'
  const faults: [what: string, does: (socket: net.Socket) => unknown, code: string | RegExp][] = [
    ['silence', () => {}, TIMEOUT],
    ['half a greeting', (socket) => socket.write(hello), TIMEOUT],
    [
      'a greeting that never ends',
      (socket) => {
        socket.write(hello)
        for (let i = 0; i < 100; i++) socket.write(Buffer.from([0]))
      },
      TIMEOUT,
    ],
    ['garbage', (socket) => socket.write(Buffer.alloc(1000, 0xff)), /^ERR_SSL_/],
    ['plain HTTP', (socket) => socket.write('GET / HTTP/1.1\r\n\r\n'), 'ERR_SSL_HTTP_REQUEST'],
    ['plain text', (socket) => socket.write('hello, who is there?\r\n'), /^ERR_SSL_/],
    ['nothing, and an end', (socket) => socket.end(), 'ECONNRESET'],
    ['half a greeting and an end', (socket) => socket.end(hello), 'ECONNRESET'],
    ['a reset', (socket) => socket.resetAndDestroy(), /^(ECONNRESET|EPIPE)$/],
    [
      'a reset in the middle of a greeting',
      (socket) => socket.write(hello, () => socket.resetAndDestroy()),
      /^(ECONNRESET|EPIPE)$/,
    ],
  ]
  for (const [what, does, code] of faults) {
    tlsTest(`${what}: counted, told, and other clients are served meanwhile and afterwards`, function* () {
      const errors: IOError[] = []
      const onHandshakeError = (error: IOError) => errors.push(error)
      const server = yield* serving({ ...local, handshakeTimeout: 400, onHandshakeError })
      yield* rude(server, does)
      if (code === TIMEOUT) {
        yield* eventually(() => server.stats().handshakes.underway === 1)
        yield* served(server)
        assert.deepEqual(server.stats().handshakes, { underway: 1, done: 1, failed: 0 })
        yield* sleep(400)
        assert.equal(errors[0]?.message.match(/failed: (.*) \(/)?.[1], 'it was not finished after 400 ms')
      } else yield* eventually(() => errors.length === 1)
      const [error] = errors
      assert.ok(error instanceof IOError)
      if (typeof code === 'string') assert.equal(error.code, code)
      else assert.match(error.code, code)
      assert.match(error.message, /^handshake with (127\.0\.0\.1:\d+|a client that has hung up) failed: /)
      const { done } = server.stats().handshakes
      yield* served(server)
      assert.deepEqual(server.stats().handshakes, { underway: 0, done: done + 1, failed: 1 })
    })
  }

  tlsTest('hundreds of such clients at once: each is counted, and none is left', function* () {
    const codes: string[] = []
    const onHandshakeError = ({ code }: IOError) => codes.push(code)
    const server = yield* serving({ ...local, handshakeTimeout: 400, onHandshakeError })
    for (let i = 0; i < 300; i++) yield* rude(server, (faults[i % faults.length] as (typeof faults)[0])[1])
    const slow = faults.filter(([, , code]) => code === TIMEOUT).length * 30
    yield* eventually(() => server.stats().connections === 300 && codes.length === 300 - slow)
    assert.deepEqual(server.stats().handshakes, { underway: slow, done: 0, failed: 300 - slow })
    yield* served(server)
    yield* sleep(400)
    assert.deepEqual(server.stats().handshakes, { underway: 0, done: 1, failed: 300 })
    assert.equal(codes.filter((code) => code === TIMEOUT).length, slow)
    yield* served(server)
  })

  tlsTest(
    'its own end in the middle of a hundred handshakes: all are cut, and none has failed',
    function* () {
      const server = yield* opened(listen({ host, tls: local }))
      const waiting = spin(() => server.accept())
      const clients: net.Socket[] = []
      for (let i = 0; i < 100; i++)
        clients.push(yield* rude(server, (socket) => i % 2 && socket.write(hello)))
      yield* eventually(() => server.stats().handshakes.underway === 100)
      const late = spin({ link: false }, () => thrownBy(client(server)))
      yield* server.close()
      assert.equal(yield* waiting, undefined)
      assert.match((yield* late).code, /^(ECONNRESET|ECONNREFUSED|EPIPE)$/)
      yield* eventually(() => clients.every(({ closed }) => closed))
      yield* sleep(20_000) // their time limits are gone with them
      assert.deepEqual(server.stats().handshakes, { underway: 0, done: 0, failed: 0 })
    },
  )

  tlsTest(
    'time limits that change: one holds for the handshakes that begin after it; Infinity is none',
    function* () {
      const codes: string[] = []
      const onHandshakeError = ({ code }: IOError) => codes.push(code)
      const server = yield* serving({ ...local, handshakeTimeout: Infinity, onHandshakeError })
      for (const [i, ms] of [Infinity, 50, 5000].entries()) {
        server.setTls({ handshakeTimeout: ms })
        yield* rude(server, (socket) => socket.write(hello))
        yield* eventually(() => server.stats().handshakes.underway === i + 1)
      }
      const failed: number[] = []
      for (const ms of [49, 1, 4949, 1, 3_600_000]) {
        yield* sleep(ms)
        failed.push(server.stats().handshakes.failed)
      }
      assert.deepEqual(failed, [0, 1, 1, 2, 2])
      assert.deepEqual(codes, [TIMEOUT, TIMEOUT])
    },
  )

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
})

describe('certificates and keys that cannot be used are refused by listen, connect and setTls', () => {
  const rows: [what: string, tls: object, code: string | RegExp, message: RegExp][] = [
    [
      'a certificate that is no PEM',
      { ...local, cert: 'x' },
      'ERR_OSSL_PEM_NO_START_LINE',
      /no start line.*PEM/,
    ],
    ['a key that is no PEM', { ...local, key: 'x' }, /^ERR_OSSL_/, /must be in PEM format/],
    ['an empty certificate', { ...local, cert: ' ' }, /^ERR_OSSL_/, /must be in PEM format/],
    [
      'a key of another certificate',
      { cert: local.cert, key: pair('renewed').key },
      'ERR_OSSL_X509_KEY_VALUES_MISMATCH',
      /key values mismatch.*fit each other/,
    ],
    ['a number as certificate', { ...local, cert: 5 }, 'BAD_ARGUMENT', /cert/],
    ['an unknown version', { ...local, minVersion: 'TLSv9' }, 'BAD_ARGUMENT', /TLSv9/],
    ['an unknown cipher', { ...local, ciphers: 'ROT13' }, /^ERR_/, /no cipher match/],
  ]
  for (const [what, tls, code, message] of rows) {
    tlsTest(what, function* () {
      const server = yield* serving()
      const calls: [where: RegExp, call: () => Op<unknown>][] = [
        [/^listen\(127\.0\.0\.1:0\) cannot use/, () => listen({ host, tls })],
        [/^connect\(127\.0\.0\.1:\d+\) cannot use/, () => connect({ host, port: server.port, tls })],
        [
          /^server 127\.0\.0\.1:\d+\.setTls\(\) cannot use/,
          function* () {
            server.setTls(tls)
          },
        ],
      ]
      for (const [where, call] of calls) {
        const error = yield* thrownBy(call())
        assert.match(error.message, where)
        assert.match(error.message, message)
        assert.ok(error instanceof (code === 'BAD_ARGUMENT' ? BadArgument : IOError), `${error}`)
        if (typeof code === 'string') assert.equal(error.code, code)
        else assert.match(error.code, code)
      }
      assert.equal((yield* client(server)).peerCertificate?.subject.CN, 'local')
    })
  }
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
