// TLS between our own two sides: what is agreed on, certificates by name, reload, sessions, client certificates.

import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { describe, it } from 'node:test'
import {
  all,
  allSettled,
  BadArgument,
  Fiber,
  type Op,
  type Routine,
  sleep,
  spin,
  suspend,
  until,
} from 'polyphony'
import { connect, IOError, listen, type TlsContext, TlsServer, TlsSocket } from 'polyphony/io'
import { contextOf } from '#io/tlsoptions'
import { thrownBy } from '../prelude.js'
import { ca, clean, echo, eventually, fixture, pair, serving } from './tls.js'

const host = '127.0.0.1'
const local = pair('local')

describe('a TLS connection', () => {
  it('carries bytes both ways, and both sides know what was agreed on', () =>
    clean(function* () {
      const server = yield* listen({ host, tls: local, alpn: ['h2', 'http/1.1'] })
      assert.ok(server instanceof TlsServer)
      const client = yield* connect({ port: server.port, tls: { ca }, alpn: ['http/1.1', 'h2'] })
      const socket = yield* server.accept()
      assert.ok(client instanceof TlsSocket && socket instanceof TlsSocket)
      yield* client.write('ping\n')
      assert.equal(yield* socket.gets(), 'ping')
      yield* socket.write('pong\n')
      assert.equal(yield* client.gets(), 'pong')
      const { protocol, alpnProtocol, servername, authorized, authorizationError, peerCertificate } = client
      assert.deepEqual(
        { protocol, alpnProtocol, servername, authorized, authorizationError },
        {
          protocol: 'TLSv1.3',
          alpnProtocol: 'h2',
          servername: 'localhost',
          authorized: true,
          authorizationError: undefined,
        },
      )
      assert.equal(peerCertificate?.subject.CN, 'local')
      assert.deepEqual(
        [socket.protocol, socket.alpnProtocol, socket.servername, socket.authorized, socket.peerCertificate],
        ['TLSv1.3', 'h2', 'localhost', false, undefined],
      )
      assert.equal(client.name, `tls 127.0.0.1:${server.port}`)
      assert.match(socket.name, /^tls 127\.0\.0\.1:\d+$/)
      yield* all([() => client.close(), () => socket.close()])
      assert.equal(client.peerCertificate?.subject.CN, 'local', 'what was asked before can be asked again')
      yield* server.close()
    }))

  it('the server takes the first protocol of its own list that the client offers; none in common is refused (I10)', () =>
    clean(function* () {
      const server = yield* serving(local, (socket) => socket.end(socket.alpnProtocol ?? 'none'), {
        alpn: ['a', 'b', 'c'],
      })
      const agreed = function* (alpn?: string[]): Routine<string> {
        const client = yield* connect({ host, port: server.port, tls: { ca }, ...(alpn && { alpn }) })
        const said = `${yield* client.readAll()}`
        assert.equal(client.alpnProtocol ?? 'none', said)
        yield* client.close()
        return said
      }
      assert.equal(yield* agreed(['c', 'x', 'b']), 'b')
      assert.equal(yield* agreed(['a']), 'a')
      assert.equal(yield* agreed(), 'none')
      const refused = yield* thrownBy(connect({ host, port: server.port, tls: { ca }, alpn: ['x'] }))
      assert.ok(refused instanceof IOError)
      assert.equal(refused.code, 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL')
      assert.match(refused.message, /no protocol in common: see alpn/)
      yield* server.close()
    }))

  it('an address needs no name: it is checked against the addresses in the certificate', () =>
    clean(function* () {
      const server = yield* serving(local, (socket) => socket.end(`${socket.servername}`))
      const client = yield* connect({ host, port: server.port, tls: { ca } })
      assert.equal(`${yield* client.readAll()}`, 'undefined')
      yield* client.close()
      yield* server.close()
    }))

  it('half of it can be ended: the rest still comes (close_notify)', () =>
    clean(function* () {
      const server = yield* serving(local, function* (socket) {
        const all = yield* socket.readAll()
        yield* socket.write(`after the end: ${all.length}`)
      })
      const client = yield* connect({ host, port: server.port, tls: { ca } })
      yield* client.end('x'.repeat(100_000))
      assert.equal(`${yield* client.readAll()}`, 'after the end: 100000')
      yield* client.close()
      yield* server.close()
    }))

  it('half of it can be ended by the server, too', () =>
    clean(function* () {
      const heard: string[] = []
      const server = yield* serving(local, function* (socket) {
        yield* socket.end('no more from here')
        heard.push(`${yield* socket.readAll()}`)
      })
      const client = yield* connect({ host, port: server.port, tls: { ca } })
      assert.equal(`${yield* client.readAll()}`, 'no more from here')
      yield* client.end('but from there')
      yield* eventually(() => heard.length === 1)
      assert.deepEqual(heard, ['but from there'])
      yield* client.close()
      yield* server.close()
    }))

  it('speaks on Unix sockets too, with the name that is given', () =>
    clean(function* () {
      const path = `/tmp/polyphony-tls-${process.pid}.sock`
      const server = yield* listen({ path, tls: local })
      spin(() => server.acceptLoop(echo))
      const client = yield* connect({ path, tls: { ca, servername: 'localhost' } })
      yield* client.end('over a file\n')
      assert.equal(yield* client.gets(), 'over a file')
      assert.equal(client.name, `tls ${path}`)
      yield* client.close()
      yield* server.close()
    }))

  it('big transfers arrive whole in both directions, and a writer waits for a slow reader', () =>
    clean(function* () {
      const piece = randomBytes(100_000)
      const pieces = 100
      const hash = createHash('sha256')
      for (let i = 0; i < pieces; i++) hash.update(piece)
      const expected = hash.digest('hex')
      const server = yield* listen({ host, tls: local })
      const [client, socket] = yield* all([
        () => connect({ host, port: server.port, tls: { ca } }),
        () => server.accept() as Op<TlsSocket>,
      ])
      let written = 0
      const send = function* (to: TlsSocket): Routine<void> {
        for (let i = 0; i < pieces; i++) {
          yield* to.write(piece)
          written++
        }
        yield* to.end()
      }
      const sum = function* (from: TlsSocket): Routine<string> {
        const read = createHash('sha256')
        yield* from.readLoop((chunk) => void read.update(chunk))
        return read.digest('hex')
      }
      const writer = spin('writer', send, socket)
      let before = -1
      yield* eventually(() => {
        const isStuck = written === before && socket.stats().writers === 1
        before = written
        return isStuck
      })
      assert.ok(written < pieces, `${written} pieces went out though nobody read`)
      assert.ok(client.stats().unread <= 200_000)
      const sums = yield* all([() => sum(client), () => sum(socket), () => send(client), () => writer.join()])
      assert.deepEqual(sums.slice(0, 2), [expected, expected])
      yield* client.close()
      yield* socket.close()
      yield* server.close()
    }))
})

describe('certificates by name (SNI)', () => {
  /** Which certificate the server shows to those who ask for this name. */
  function* shown(server: TlsServer, servername: string): Routine<string> {
    const tls = { ca, ...(servername === '' ? {} : { servername }), checkServerIdentity: () => undefined }
    const client = yield* connect({ host, port: server.port, tls })
    const name = client.peerCertificate?.subject.CN as string
    yield* client.close()
    return name
  }

  it('from a table: exact names and wildcards, in any case; the server itself for others', () =>
    clean(function* () {
      const sni = { 'a.example': pair('a'), '*.b.example': pair('b') }
      const server = yield* serving({ ...local, sni }, echo)
      assert.equal(yield* shown(server, 'a.example'), 'a')
      assert.equal(yield* shown(server, 'A.Example'), 'a')
      assert.equal(yield* shown(server, 'x.b.example'), 'b')
      assert.equal(yield* shown(server, 'x.y.b.example'), 'local')
      assert.equal(yield* shown(server, 'b.example'), 'local')
      assert.equal(yield* shown(server, ''), 'local')
      yield* server.close()
    }))

  it('from a function, and from a body that waits, on a fiber of its own', () =>
    clean(function* () {
      const paths: string[] = []
      const server = yield* serving(
        {
          ...local,
          *sni(name) {
            paths.push(Fiber.current.path)
            if (name !== 'a.example') return undefined
            const [cert, key] = yield* all([
              () => until(readFile(fixture('a.pem'))),
              () => until(readFile(fixture('a.key'))),
            ])
            return { cert, key }
          },
        },
        echo,
      )
      assert.equal(yield* shown(server, 'a.example'), 'a')
      assert.equal(yield* shown(server, 'x.b.example'), 'local')
      assert.deepEqual(paths, ['sni a.example', 'sni x.b.example'])
      server.setTls({ sni: (name) => (name === 'x.b.example' ? pair('b') : undefined) })
      assert.equal(yield* shown(server, 'x.b.example'), 'b')
      assert.equal(yield* shown(server, 'a.example'), 'local')
      yield* server.close()
    }))

  it('a function that fails costs one handshake, and its error is told', () =>
    clean(function* () {
      const errors: IOError[] = []
      const server = yield* serving(
        {
          ...local,
          *sni(name): Routine<TlsContext | undefined> {
            if (name === 'a.example') throw new Error('no such customer')
            if (name === 'b.example') return { cert: 'no certificate', key: 'no key' }
            if (name === 'c.example') throw 'a string'
            return 5 as never
          },
          onHandshakeError: (error) => errors.push(error),
        },
        echo,
      )
      for (const name of ['a.example', 'b.example', 'c.example', 'd.example']) {
        const error = yield* thrownBy(shown(server, name))
        assert.equal(error.code, 'ECONNRESET')
      }
      assert.equal(yield* shown(server, ''), 'local')
      yield* eventually(() => server.stats().handshakes.underway === 0)
      assert.deepEqual(server.stats().handshakes, { underway: 0, done: 1, failed: 4 })
      assert.match(errors[0]!.message, /^handshake with 127\.0\.0\.1:\d+ failed: no such customer$/)
      assert.match(
        errors[1]!.message,
        /sni\("b\.example"\) of listen\(127\.0\.0\.1:0\) cannot use what it was given/,
      )
      assert.match(errors[2]!.message, /threw "a string", which is not an Error/)
      assert.match(errors[3]!.message, /sni\("d\.example"\) .* needs an object of options, got 5/)
      yield* server.close()
    }))

  for (const who of ['the client hangs up', 'the server is closed', 'the time is up']) {
    it(`a body that still looks for a certificate is stopped when ${who}`, () =>
      clean(function* () {
        let state = ''
        const server = yield* serving(
          {
            ...local,
            handshakeTimeout: who === 'the time is up' ? 30 : 10_000,
            *sni() {
              state = 'looking'
              try {
                return yield* suspend<undefined>()
              } finally {
                state = 'stopped'
              }
            },
          },
          echo,
        )
        const client = spin({ link: false }, () =>
          thrownBy(connect({ host, port: server.port, tls: { ca, servername: 'localhost' } })),
        )
        yield* eventually(() => state === 'looking')
        if (who === 'the client hangs up') yield* client.stop()
        else if (who === 'the server is closed') yield* server.close()
        if (who !== 'the client hangs up') assert.equal((yield* client).code, 'ECONNRESET')
        yield* eventually(() => state === 'stopped')
        yield* server.close()
        assert.equal(server.stats().handshakes.underway, 0)
      }))
  }

  it('close waits for a body that cleans up', () =>
    clean(function* () {
      const log: string[] = []
      const server = yield* serving(
        {
          ...local,
          *sni() {
            log.push('looking')
            try {
              return yield* suspend<undefined>()
            } finally {
              yield* sleep(100)
              log.push('cleaned up')
            }
          },
        },
        echo,
      )
      const client = spin(() =>
        thrownBy(connect({ host, port: server.port, tls: { ca, servername: 'localhost' } })),
      )
      yield* eventually(() => log.length === 1)
      yield* server.close()
      log.push('closed')
      assert.deepEqual(log, ['looking', 'cleaned up', 'closed'])
      yield* client
    }))

  it('the same answer is not parsed again', () => {
    const options = pair('a')
    assert.equal(contextOf(options, 'a test'), contextOf(options, 'a test'))
    assert.notEqual(contextOf(options, 'a test'), contextOf(pair('a'), 'a test'))
  })

  it('what a client asks for may be anything, and is not shown as it is', () =>
    clean(function* () {
      let name = ''
      const sni = () => {
        name = Fiber.current.name
        return undefined
      }
      const server = yield* serving({ ...local, sni }, echo)
      assert.equal(yield* shown(server, 'a\u001b[31m\nb'), 'local')
      assert.equal(name, 'sni "a\\u001b[31m\\nb"')
      yield* server.close()
    }))

  it('an async function is refused with a sentence, as is what is neither', () =>
    clean(function* () {
      const sni = async () => undefined
      const wrong = yield* thrownBy(listen({ host, tls: { ...local, sni: sni as never } }))
      assert.ok(wrong instanceof BadArgument)
      assert.match(wrong.message, /sni of listen\(127\.0\.0\.1:0\) was given the async function sni/)
      const text = yield* thrownBy(listen({ host, tls: { ...local, sni: 'a' as never } }))
      assert.match(text.message, /certificates by name, or a function that finds them; got "a"/)
      const bad = yield* thrownBy(listen({ host, tls: { ...local, sni: { 'a.example': { cert: 'x' } } } }))
      assert.match(bad.message, /sni "a\.example" of listen\(127\.0\.0\.1:0\) cannot use/)
    }))
})

describe('new certificates without closing the server', () => {
  it('those who come get the new one, those who are there live on', () =>
    clean(function* () {
      const server = yield* serving(local, echo)
      const old = yield* connect({ host, port: server.port, tls: { ca } })
      server.setTls(pair('renewed'))
      const next = yield* connect({ host, port: server.port, tls: { ca } })
      assert.equal(old.peerCertificate?.subject.CN, 'local')
      assert.equal(next.peerCertificate?.subject.CN, 'renewed')
      for (const socket of [old, next]) {
        yield* socket.write('still there\n')
        assert.equal(yield* socket.gets(), 'still there')
        yield* socket.close()
      }
      yield* server.close()
    }))

  it('a handshake that is underway ends with what it began with', () =>
    clean(function* () {
      const go = deferred()
      let isAsked = false
      const server = yield* serving(
        {
          ...local,
          *sni() {
            isAsked = true
            yield* until(go.promise)
            return undefined
          },
        },
        echo,
      )
      const client = spin(() => connect({ host, port: server.port, tls: { ca, servername: 'localhost' } }))
      yield* eventually(() => isAsked)
      server.setTls({ ...pair('renewed'), sni: {} })
      go.resolve(undefined)
      const socket = yield* client
      assert.equal(socket.peerCertificate?.subject.CN, 'local')
      yield* socket.close()
      yield* server.close()
    }))

  it('what is no good is refused, and the old one stays', () =>
    clean(function* () {
      const server = yield* serving(local, echo)
      assert.throws(
        () => server.setTls({ cert: 'nonsense', key: 'nonsense' }),
        (error) => error instanceof IOError && /setTls\(\) cannot use .*no start line/.test(error.message),
      )
      assert.throws(
        () => server.setTls({ cert: pair('renewed').cert }),
        (error) => error instanceof IOError && error.code === 'ERR_OSSL_X509_KEY_VALUES_MISMATCH',
      )
      assert.throws(
        () => server.setTls({ certificate: 'x' } as never),
        /tls of server .*setTls\(\) has no option "certificate"/,
      )
      server.setTls({ handshakeTimeout: 9000 }) // nothing of what was refused is left in the way
      const client = yield* connect({ host, port: server.port, tls: { ca } })
      assert.equal(client.peerCertificate?.subject.CN, 'local')
      yield* client.close()
      yield* server.close()
    }))
})

describe('sessions', () => {
  /** A connection that has a session to show for it. */
  function* visit(server: TlsServer, tls: object): Routine<TlsSocket> {
    const client = yield* connect({ host, port: server.port, tls: { ca, ...tls } })
    yield* client.write('x\n')
    yield* client.gets()
    yield* client.close()
    return client
  }

  for (const maxVersion of ['TLSv1.3', 'TLSv1.2'] as const) {
    it(`are resumed with ${maxVersion}, after a new certificate too; not after new rules about clients`, () =>
      clean(function* () {
        const server = yield* serving(local, echo)
        const first = yield* visit(server, { maxVersion })
        assert.equal(first.protocol, maxVersion)
        assert.equal(first.isResumed, false)
        const second = yield* visit(server, { maxVersion, session: first.session })
        assert.equal(second.isResumed, true)
        assert.equal(second.authorized, true)
        server.setTls(pair('renewed'))
        assert.equal((yield* visit(server, { maxVersion, session: first.session })).isResumed, true)
        server.setTls({ ca })
        assert.equal((yield* visit(server, { maxVersion, session: first.session })).isResumed, false)
        yield* server.close()
      }))
  }
})

describe('certificates of clients', () => {
  it('are known to the server', () =>
    clean(function* () {
      const server = yield* serving({ ...local, ca, requestCert: true }, (socket) =>
        socket.end(`${socket.authorized} ${socket.peerCertificate?.subject.CN}`),
      )
      const client = yield* connect({ host, port: server.port, tls: { ca, ...pair('client') } })
      assert.equal(`${yield* client.readAll()}`, 'true client')
      yield* client.close()
      yield* server.close()
    }))

  it('that are missing or that nobody vouches for are refused: no body runs', () =>
    clean(function* () {
      const errors: IOError[] = []
      const server = yield* serving(
        { ...local, ca, requestCert: true, onHandshakeError: (error) => errors.push(error) },
        () => assert.fail('a body ran'),
      )
      // With TLS 1.3 the client is done before the server has looked at its certificate. That there is none it is told in an
      // alert; that it is no good, by a hang-up.
      const bare = yield* connect({ host, port: server.port, tls: { ca } })
      const alert = yield* thrownBy(bare.read())
      assert.equal(alert.code, 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED')
      assert.match(alert.message, /^tls 127.*read\(\) failed: tlsv13 alert certificate required/)
      yield* bare.close()
      const client = yield* connect({ host, port: server.port, tls: { ca, ...pair('self') } })
      const [heard] = yield* allSettled([() => client.readAll()])
      assert.ok(heard.type === 'error' || (heard.type === 'value' && heard.value.length === 0))
      yield* client.close()
      const refused = yield* thrownBy(
        connect({ host, port: server.port, tls: { ca, maxVersion: 'TLSv1.2' } }),
      )
      assert.match(refused.message, /handshake failure/)
      yield* eventually(() => errors.length === 3)
      assert.deepEqual(
        errors.map(({ code }) => code),
        [
          'ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE',
          'DEPTH_ZERO_SELF_SIGNED_CERT',
          'ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE',
        ],
      )
      assert.match(
        errors[1]!.message,
        /its certificate was not accepted \(DEPTH_ZERO_SELF_SIGNED_CERT\)\. See ca/,
      )
      yield* server.close()
    }))

  it('may be asked for without being insisted on', () =>
    clean(function* () {
      const tls = { ...local, ca, requestCert: true, rejectUnauthorized: false }
      const server = yield* serving(tls, (socket) =>
        socket.end(`${socket.authorized} ${socket.authorizationError} ${socket.peerCertificate?.subject.CN}`),
      )
      const said = function* (more: object): Routine<string> {
        const client = yield* connect({ host, port: server.port, tls: { ca, ...more } })
        const text = `${yield* client.readAll()}`
        yield* client.close()
        return text
      }
      assert.equal(yield* said({}), 'false UNABLE_TO_GET_ISSUER_CERT undefined')
      assert.equal(yield* said(pair('self')), 'false DEPTH_ZERO_SELF_SIGNED_CERT self')
      assert.equal(yield* said(pair('client')), 'true undefined client')
      yield* server.close()
    }))
})

describe('wrong options', () => {
  const cases: [string, () => unknown, RegExp][] = [
    [
      'an unknown one',
      () => connect({ port: 1, tls: { certs: 1 } as never }),
      /tls of connect\(\) has no option "certs"; there are: ca, cert,/,
    ],
    ['alpn without tls', () => connect({ port: 1, alpn: ['h2'] }), /has alpn but no tls/],
    [
      'alpn that is no list',
      () => connect({ port: 1, tls: true, alpn: 'h2' as never }),
      /alpn of connect\(\) must be a list of protocols such as .* got "h2"/,
    ],
    [
      'alpn with an empty name',
      () => listen({ tls: local, alpn: [''] }),
      /alpn of listen\(\) must be a list/,
    ],
    [
      'an address for a name',
      () => connect({ port: 1, tls: { servername: '::1' } }),
      /servername of connect\(\) must be the name of a host, got "::1"/,
    ],
    [
      'tls that is no object',
      () => listen({ tls: 5 as never }),
      /tls of listen\(\) needs an object of options, got 5/,
    ],
    [
      'a time that is none',
      () => listen({ tls: { handshakeTimeout: -1 } }),
      /handshakeTimeout of listen\(\) needs a duration/,
    ],
    [
      'a listener that would wait',
      () => listen({ tls: { *onHandshakeError() {} } as never }),
      /onHandshakeError of listen\(\) must be a function, and no function\*: it cannot wait/,
    ],
    [
      'a listener that is none',
      () => listen({ tls: { onHandshakeError: 1 as never } }),
      /onHandshakeError of listen\(\) must be a function, .*got 1/,
    ],
  ]
  for (const [what, wrong, message] of cases) {
    it(`${what} is refused at the call`, () => {
      assert.throws(wrong, (error) => error instanceof BadArgument && message.test(error.message))
    })
  }

  it('certificates that are none are refused where they are used', () =>
    clean(function* () {
      const broken = yield* thrownBy(listen({ host, tls: { cert: 'x', key: 'y' } }))
      assert.ok(broken instanceof IOError)
      assert.match(
        broken.message,
        /^listen\(127\.0\.0\.1:0\) cannot use what it was given for TLS: no start line/,
      )
      const typed = yield* thrownBy(connect({ host, port: 1, tls: { cert: 5 as never } }))
      assert.ok(typed instanceof BadArgument)
      const version = yield* thrownBy(connect({ host, port: 1, tls: { minVersion: 'TLSv9' as never } }))
      assert.ok(version instanceof BadArgument)
      assert.match(version.message, /TLSv9/)
    }))

  it('tls: false and undefined options are as if nothing was said', () =>
    clean(function* () {
      const plain = yield* listen({ host })
      const client = yield* connect({ host, port: plain.port, tls: false })
      assert.ok(!(client instanceof TlsSocket))
      yield* client.close()
      yield* plain.close()
      const server = yield* serving(local, echo)
      const tls = {
        rejectUnauthorized: undefined,
        checkServerIdentity: undefined,
        ciphers: undefined,
      } as never
      const error = yield* thrownBy(connect({ host, port: server.port, tls }))
      assert.equal(error.code, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE')
      yield* server.close()
    }))
})

function deferred(): { promise: Promise<unknown>; resolve: (value: unknown) => void } {
  let resolve!: (value: unknown) => void
  const promise = new Promise((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}
