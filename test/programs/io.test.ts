// Whole programs that use sockets and processes, each in a process of its own: what holds it, signals, few descriptors,
// inherited streams, many at once.

import { fileURLToPath } from 'node:url'
import { connect, exec, type Process, type Socket, spawnProcess } from 'polyphony/io'
import { opened, realTest } from '../io/real.js'
import { fixture } from '../io/tls.js'
import { all, assert, describe, program, type Routine, test } from '../prelude.js'

const built = (name: string) => fileURLToPath(new URL(`./${name}.js`, import.meta.url))

/** Starts a server, in a shell that first does something. */
function* serving(kind: string, first = ':'): Routine<{ port: number; child: Process }> {
  const args = ['-c', `${first}; exec "$0" "$1" "$2"`, process.execPath, built('sockets'), kind]
  const child = yield* spawnProcess('sh', args)
  return { port: Number(yield* child.stdout.gets()), child }
}

const client = (port: number): Routine<Socket> => opened(connect({ host: '127.0.0.1', port }))

/** The next line; undefined when the connection is over, or was reset. */
function* line(socket: Socket): Routine<string | undefined> {
  try {
    return yield* socket.gets()
  } catch {
    return undefined
  }
}

/** How a process ended, and all that it printed since. */
function* over(child: Process): Routine<{ code: number | null; stdout: string; stderr: string }> {
  const [stdout, stderr] = yield* all([() => child.stdout.readAll(), () => child.stderr.readAll()])
  return { code: (yield* child.wait()).status, stdout: `${stdout}`, stderr: `${stderr}` }
}

describe('a server in a process of its own', () => {
  realTest('that runs out of descriptors drops connections, says so once, and goes on', function* () {
    const { port, child } = yield* serving('few', 'ulimit -n 256')
    const sockets: Socket[] = []
    for (let i = 0; i < 300; i++) sockets.push(yield* client(port))
    const served: Socket[] = []
    for (const socket of sockets) if ((yield* line(socket)) === 'hello') served.push(socket)
    assert.ok(served.length >= 100 && served.length < 256)
    const [one, ...others] = served as [Socket, ...Socket[]]
    yield* one.write('open\n')
    assert.equal(yield* one.gets(), 'true') // the last descriptors are not for connections
    for (const socket of others) yield* socket.end()
    for (const socket of others) assert.equal(yield* line(socket), undefined)
    const again: Socket[] = []
    for (let i = 0; i < 10; i++) again.push(yield* client(port))
    for (const socket of again) assert.equal(yield* socket.gets(), 'hello')
    yield* one.write('stats\n')
    const { dropped, connections } = JSON.parse((yield* one.gets()) as string)
    assert.deepEqual([dropped, connections], [300 - served.length, 310])
    yield* one.write('end\n')
    for (const socket of [one, ...again]) yield* socket.end()
    assert.deepEqual(yield* over(child), {
      code: 0,
      stdout: '',
      stderr:
        `polyphony: server 127.0.0.1:${port}: descriptors are running out: connections are dropped until others are closed. ` +
        'Raise the limit (ulimit -n), or give listen({ maxConnections }) and a smaller backlog (so far: 1 dropped, 0 failed)\n',
    })
  })

  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    realTest(`is stopped by ${signal}: its connections say goodbye, and nothing is left (S47)`, function* () {
      const { port, child } = yield* serving('polite')
      const sockets = [yield* client(port), yield* client(port)]
      for (const socket of sockets) assert.equal(yield* socket.gets(), 'hello')
      child.kill(signal)
      for (const socket of sockets) assert.equal(`${yield* socket.readAll()}`, 'goodbye\n')
      const end = yield* over(child)
      assert.deepEqual([end.code, end.stdout], [code, 'open at the end: 0\n'])
    })
  }

  realTest('is held while a fiber waits for a connection (S64)', function* () {
    const { port, child } = yield* serving('waiting')
    yield* client(port)
    assert.deepEqual(yield* over(child), { code: 0, stdout: 'somebody came\n', stderr: '' })
  })
})

describe('a program', () => {
  /** Programs that must print this and end by themselves. */
  const rows: [what: string, source: string, stdout: string, stderr?: string][] = [
    [
      'is not held by servers, connections and sockets that no fiber waits for (S64)',
      `const [cert, key, ca] = ${JSON.stringify(['local.pem', 'local.key', 'ca.pem'].map(fixture))}.map((path) => readFileSync(path))
      main(function* () {
        yield* listen({ host })
        const socket = yield* udp({ host })
        yield* socket.send('unread', socket)
        const server = yield* listen({ host, tls: { cert, key } })
        const client = yield* connect({ host, port: server.port, tls: { ca } })
        yield* (yield* server.accept()).write('hello')
        net.connect(server.port, host).unref() // it never begins its handshake
        console.log(String(yield* client.read()))
      })`,
      'hello\n',
    ],
    [
      'is held by a handshake, a datagram and a process that a fiber waits for, which is no deadlock (S64)',
      `const server = net.createServer((socket) => {
        server.close()
        socket.unref()
        setTimeout(() => socket.destroy(), 20).unref()
      })
      server.listen(0, host, () => {
        server.unref()
        main(function* () {
          try {
            yield* connect({ host, port: server.address().port, tls: true })
          } catch (error) {
            console.log(error instanceof IOError, error.code)
          }
          const socket = yield* udp({ host })
          const foreign = createSocket('udp4')
          setTimeout(() => foreign.send('here', socket.port, host, () => foreign.close()), 50).unref()
          console.log(String((yield* socket.recv()).data))
          yield* spawnProcess('sh', ['-c', 'sleep 0.1; echo ended'], { stdio: 'inherit' })
          yield* suspend()
          console.log('nothing is left to wait for')
        })
      })`,
      'true ECONNRESET\nhere\nended\nnothing is left to wait for\n',
    ],
    [
      'gives processes its own streams: those that stdio says, and all but the input in watchProcess',
      `main(function* () {
        const cat = yield* spawnProcess('sh', ['-c', 'cat; echo warning >&2'], { stdio: ['pipe', 'inherit', 'pipe'] })
        yield* cat.stdin.end('to our own output\\n')
        yield* cat.wait()
        console.log('heard: ' + (yield* cat.stderr.gets()))
        yield* watchProcess('sh', ['-c', 'cat; echo out; echo err >&2'])
      })`,
      'to our own output\nheard: warning\nout\n',
      'err\n',
    ],
    [
      'that runs out of descriptors is told when it starts a process, and later it works again',
      `main(function* () {
        const many = []
        try {
          for (;;) many.push(openSync('/dev/null'))
        } catch {
          closeSync(many.pop()) // a pipe needs two
        }
        try {
          yield* spawnProcess('true')
        } catch (error) {
          console.log(error.name, error.code)
        }
        for (const each of many) closeSync(each)
        const process = yield* spawnProcess('echo', ['again'])
        console.log(yield* process.stdout.gets())
      })`,
      'IOError EMFILE\nagain\n',
    ],
  ]
  const imports = `
    import { createSocket } from 'node:dgram'
    import { closeSync, openSync, readFileSync } from 'node:fs'
    import net from 'node:net'
    import { main, spin, suspend } from 'polyphony'
    import { connect, IOError, listen, spawnProcess, udp, watchProcess } from 'polyphony/io'
    const host = '127.0.0.1'\n`
  for (const [what, source, stdout, stderr = ''] of rows) {
    test(what, async () => {
      assert.deepEqual(await program(imports + source), { code: 0, stdout, stderr })
    })
  }
})

describe('many', () => {
  realTest('processes one after another leave no descriptor, no child and no wait', function* () {
    for (let i = 0; i < 200; i++) yield* exec('true')
  })

  realTest('connections at once, opened, used and closed: descriptors and heap are back', function* () {
    // npm run test:soak does it with 10,000.
    const { status, stderr } = yield* exec(process.execPath, ['--expose-gc', built('soak'), '500'])
    assert.deepEqual([status, stderr], [0, ''])
  })

  for (const kind of ['wires', 'node']) {
    realTest(`rude peers, 2,000 of them, keep no place and no memory (${kind})`, function* () {
      const { status, stdout, stderr } = yield* exec(process.execPath, [
        '--expose-gc',
        built('rude'),
        '2000',
        kind,
      ])
      assert.deepEqual([status, `${stderr}`], [0, ''])
      const { open, connections, dropped, asked, failed, grown } = JSON.parse(`${stdout}`)
      assert.deepEqual([open, connections, dropped, failed], [0, 2000 + asked, 0, 0])
      assert.ok(asked > 20, `${asked} polite questions`)
      assert.ok(
        grown.heap < 20_000_000 && grown.external < 20_000_000 && grown.rss < 300_000_000,
        `${stdout}`,
      )
    })
  }
})
