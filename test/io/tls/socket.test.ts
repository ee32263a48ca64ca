// TLS connections: what the two sides agree on, both directions and their ends, sessions, and servers that are refused.

import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'
import { join } from 'node:path'
import tls from 'node:tls'
import {
  connect,
  IOError,
  listen,
  type TlsClientOptions,
  TlsServer,
  type TlsServerOptions,
  TlsSocket,
} from 'polyphony/io'
import {
  all,
  assert,
  describe,
  eventually,
  type Routine,
  spin,
  TimedOut,
  thrownBy,
  until,
  use,
} from '../../prelude.js'
import { accepted, folder, opened } from '../real.js'
import { ca, client, host, local, pair, serving, tlsTest } from '../tls.js'

/** The port of a server of Node's. */
function* nodePort(server: net.Server): Routine<number> {
  yield* use(server.listen(0, host), () => void server.close())
  yield* until(once(server, 'listening'))
  return (server.address() as AddressInfo).port
}

describe('a TLS connection', () => {
  tlsTest('carries bytes both ways, and both sides know what was agreed on', function* () {
    const server = yield* opened(listen({ host, tls: local, alpn: ['h2', 'http/1.1'] }))
    const one = yield* opened(connect({ port: server.port, tls: { ca }, alpn: ['http/1.1', 'h2'] }))
    const other = yield* accepted(server)
    assert.ok(server instanceof TlsServer && one instanceof TlsSocket && other instanceof TlsSocket)
    yield* one.write('ping\n')
    assert.equal(yield* other.gets(), 'ping')
    yield* other.write('pong\n')
    assert.equal(yield* one.gets(), 'pong')
    const known = ({ protocol, alpnProtocol, servername, authorized, authorizationError }: TlsSocket) =>
      [protocol, alpnProtocol, servername, authorized, authorizationError] as unknown[]
    const agreed = ['TLSv1.3', 'h2', 'localhost']
    assert.deepEqual(known(one), [...agreed, true, undefined])
    assert.deepEqual(known(other), [...agreed, false, undefined])
    assert.deepEqual([one.peerCertificate?.subject.CN, other.peerCertificate], ['local', undefined])
    assert.equal(one.name, `tls 127.0.0.1:${server.port}`)
    assert.match(other.name, /^tls 127\.0\.0\.1:\d+$/)
    yield* all([() => one.close(), () => other.close()])
    assert.equal(one.peerCertificate?.subject.CN, 'local', 'what was asked before can be asked again')
  })

  tlsTest('the server takes the first of its own protocols; none in common is refused (I10)', function* () {
    const server = yield* opened(listen({ host, tls: local, alpn: ['a', 'b', 'c'] }))
    assert.equal((yield* client(server, {}, ['c', 'x', 'b'])).alpnProtocol, 'b')
    assert.equal((yield* client(server)).alpnProtocol, undefined)
    const { code, message } = yield* thrownBy(client(server, {}, ['x']))
    assert.equal(code, 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL')
    assert.match(message, /no protocol in common: see alpn/)
  })

  tlsTest('speaks on Unix sockets too, with the name that is given', function* () {
    const path = join(yield* folder(), 's')
    const errors: string[] = []
    const onHandshakeError = ({ message }: IOError) => errors.push(message)
    const server = yield* serving({ ...local, onHandshakeError }, (socket) => socket.end(socket.name), {
      path,
    })
    const one = yield* opened(connect({ path, tls: { ca, servername: 'localhost' } }))
    assert.deepEqual([`${yield* one.readAll()}`, one.name], [`tls ${path}`, `tls ${path}`])
    const plain = yield* opened(connect({ path }))
    yield* plain.end('hello?')
    yield* eventually(() => errors.length === 1)
    assert.match(`${errors}`, /^handshake with a Unix socket failed: /)
    assert.equal(server.stats().handshakes.done, 1)
  })

  tlsTest('big transfers arrive whole both ways, and a writer waits for a slow reader', function* () {
    const piece = randomBytes(100_000)
    const pieces = 100
    const hash = createHash('sha256')
    for (let i = 0; i < pieces; i++) hash.update(piece)
    const expected = hash.digest('hex')
    const server = yield* opened(listen({ host, tls: local }))
    const one = yield* client(server)
    const other = yield* accepted(server)
    let written = 0
    const send = function* (to: TlsSocket): Routine<void> {
      for (let i = 0; i < pieces; i++, written++) yield* to.write(piece)
      yield* to.end()
    }
    const sum = function* (from: TlsSocket): Routine<string> {
      const read = createHash('sha256')
      yield* from.readLoop((chunk) => void read.update(chunk))
      return read.digest('hex')
    }
    const writer = spin('writer', send, other)
    let before = -1
    yield* eventually(() => before === (before = written) && other.stats().writers === 1)
    assert.ok(written < pieces, `${written} pieces went out though none were read`)
    assert.ok(one.stats().unread <= 200_000)
    const sums = yield* all([() => sum(one), () => sum(other), () => send(one), () => writer.join()])
    assert.deepEqual(sums.slice(0, 2), [expected, expected])
  })

  for (const maxVersion of ['TLSv1.3', 'TLSv1.2'] as const) {
    tlsTest(`sessions of ${maxVersion} are resumed, unless the rules have changed`, function* () {
      const server = yield* serving()
      const visit = function* (session?: Buffer): Routine<TlsSocket> {
        const one = yield* client(server, { maxVersion, ...(session && { session }) })
        yield* one.write('x\n')
        yield* one.gets()
        yield* one.close()
        return one
      }
      const first = yield* visit()
      assert.deepEqual([first.protocol, first.isResumed], [maxVersion, false])
      const second = yield* visit(first.session)
      assert.deepEqual([second.isResumed, second.authorized], [true, true])
      server.setTls(pair('renewed'))
      assert.equal((yield* visit(first.session)).isResumed, true)
      server.setTls({ ca })
      assert.equal((yield* visit(first.session)).isResumed, false)
    })
  }
})

describe('the end of a TLS connection', () => {
  tlsTest("a server of Node's that goes away without a word is heard as an end", function* () {
    const options = { ...local, allowHalfOpen: true, ALPNProtocols: ['talk'] }
    const port = yield* nodePort(
      tls.createServer(options, (socket) => {
        let heard = 0
        socket.on('data', (bytes) => (heard += bytes.length))
        socket.on('end', () => socket.write(`${heard} bytes`, () => socket.destroy()))
      }),
    )
    const one = yield* client({ port }, {}, ['talk'])
    assert.equal(one.alpnProtocol, 'talk')
    for (let i = 0; i < 100; i++) yield* one.write('x'.repeat(999), Buffer.from('y'))
    yield* one.end()
    assert.equal(`${yield* one.readAll()}`, '100000 bytes')
  })

  const ALERT = 21
  const leaving: [string, (socket: TlsSocket) => void, boolean][] = [
    ['close() says goodbye (close_notify)', (socket) => void spin(() => socket.close()), true],
    ['end() says goodbye', (socket) => void spin(() => socket.end()), true],
    ['destroy() just goes', (socket) => socket.destroy(), false],
  ]
  for (const [what, leave, saysGoodbye] of leaving) {
    tlsTest(`on the wire, ${what}`, function* () {
      // With TLS 1.2 the kind of a record can be told from outside.
      const server = yield* opened(listen({ host, tls: { ...local, maxVersion: 'TLSv1.2' } }))
      const wires: net.Socket[] = []
      yield* use(wires, () => wires.forEach((wire) => void wire.destroy()))
      let last: number | undefined
      const spy = net.createServer((near) => {
        const far = net.connect(server.port, host)
        far.on('data', ([kind]) => (last = kind)) // the last word of the server comes alone
        for (const socket of [near, far]) wires.push(socket.on('error', () => {}))
        near.pipe(far).pipe(near)
      })
      const one = yield* client({ port: yield* nodePort(spy) })
      const other = yield* accepted(server)
      yield* one.write('x')
      yield* other.read()
      leave(other)
      assert.equal(yield* one.read(), undefined)
      assert.equal(last === ALERT, saysGoodbye, `a record of kind ${last}`)
    })
  }
})

describe('connect refuses a server that is not the right one, and says what to do: one that', () => {
  const UNKNOWN = 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'
  const nothing = { rejectUnauthorized: undefined, checkServerIdentity: undefined } as never
  const rows: [string, TlsServerOptions, TlsClientOptions | true, string | RegExp, RegExp][] = [
    ['vouches for itself', pair('self'), true, 'DEPTH_ZERO_SELF_SIGNED_CERT', /self-signed.*tls: \{ ca \}/],
    ['has an unknown issuer', local, true, UNKNOWN, /Its issuer is not trusted here/],
    ['has an unknown issuer, whatever is undefined', local, nothing, UNKNOWN, /not trusted/],
    [
      'has another name than it should',
      pair('a'),
      { ca, servername: 'localhost' },
      'ERR_TLS_CERT_ALTNAME_INVALID',
      /Host: localhost\. is not in .*tls: \{ servername \}/,
    ],
    ['is too old', pair('expired'), { ca }, 'CERT_HAS_EXPIRED', /certificate has expired .*renewed/],
    [
      'speaks only newer versions',
      { ...local, minVersion: 'TLSv1.3' },
      { ca, maxVersion: 'TLSv1.2' },
      'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
      /no version of TLS in common: see minVersion/,
    ],
    ['has no certificate', {}, { ca }, /^ERR_SSL_.*ALERT_HANDSHAKE_FAILURE$/, /no certificate for this name/],
  ]
  for (const [what, server, options, code, message] of rows) {
    tlsTest(what, function* () {
      const { port } = yield* serving(server)
      const error = yield* thrownBy(connect({ host, port, tls: options }))
      assert.ok(error instanceof IOError)
      if (typeof code === 'string') assert.equal(error.code, code)
      else assert.match(error.code, code) // OpenSSL has changed its mind
      assert.match(error.message, message)
      assert.ok(error.message.startsWith(`connect(127.0.0.1:${port}) failed: `), error.message)
      assert.equal((error.cause as NodeJS.ErrnoException).code, error.code)
    })
  }

  for (const [what, answer, code, message] of [
    ['speaks no TLS', '220 welcome\r\n', 'ERR_SSL_WRONG_VERSION_NUMBER', /does not speak TLS here/],
    ['hangs up', '', 'ECONNRESET', /hung up in the middle of the handshake/],
  ] as const) {
    tlsTest(what, function* () {
      const node = net.createServer((socket) =>
        socket
          .on('error', () => {})
          .resume()
          .end(answer),
      )
      const error = yield* thrownBy(connect({ host, port: yield* nodePort(node), tls: { ca } }))
      assert.equal(error.code, code)
      assert.match(error.message, message)
    })
  }

  tlsTest('does not listen at all: an error of plain sockets, without advice about TLS', function* () {
    const server = yield* opened(listen({ host }))
    yield* server.close()
    const error = yield* thrownBy(connect({ host, port: server.port, tls: true }))
    assert.equal(error.message, `connect(127.0.0.1:${server.port}) failed: connection refused (ECONNREFUSED)`)
  })

  tlsTest('never answers: the limit of connect holds for the handshake, and a stop cuts it', function* () {
    const silent = yield* opened(listen({ host }))
    const connecting = () => connect({ host, port: silent.port, tls: { ca }, timeout: 1000 })
    assert.ok((yield* thrownBy(connecting())) instanceof TimedOut)
    const first = yield* accepted(silent)
    assert.ok((yield* first.readAll()).length > 100, 'the handshake had begun')
    const fiber = spin(connecting)
    const socket = yield* accepted(silent)
    assert.ok((yield* socket.read()) !== undefined)
    yield* fiber.stop()
    assert.equal(yield* socket.read(), undefined)
  })

  tlsTest('is not the right one, unless connect is told to take any', function* () {
    const one = yield* client(yield* serving(pair('self')), { rejectUnauthorized: false })
    assert.deepEqual([one.authorized, one.authorizationError], [false, 'DEPTH_ZERO_SELF_SIGNED_CERT'])
    const plain = yield* opened(listen({ host }))
    const other = yield* opened(connect({ host, port: plain.port, tls: false }))
    assert.ok(!(other instanceof TlsSocket))
  })
})
