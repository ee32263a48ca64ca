// Servers in processes of their own: few descriptors, Ctrl-C, what holds the process, and many at once.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket as NetSocket } from 'node:net'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ended } from '../prelude.js'

const file = fileURLToPath(new URL('../programs/sockets.js', import.meta.url))

interface Serving {
  readonly port: number
  readonly child: ChildProcess
  /** When it is over: how, and what it printed after its port. */
  readonly over: Promise<{ code: number | null; stdout: string; stderr: string }>
}

/** Starts a server, in a shell that first does something. */
async function serving(kind: string, first = ':'): Promise<Serving> {
  const child = spawn('sh', ['-c', `${first}; exec "$0" "$1" "$2"`, process.execPath, file, kind], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 30_000,
    killSignal: 'SIGKILL',
  })
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (text) => (stdout += text))
  child.stderr?.setEncoding('utf8').on('data', (text) => (stderr += text))
  const over = once(child, 'close').then(([code]) => ({ code, stdout: stdout.replace(/^\d+\n/, ''), stderr }))
  while (!stdout.includes('\n')) {
    await Promise.race([once(child.stdout as NodeJS.EventEmitter, 'data'), over])
    if (child.exitCode !== null) assert.fail(`it ended: ${stderr}`)
  }
  return { port: Number.parseInt(stdout, 10), child, over }
}

/** A client that counts on lines. */
class Client {
  readonly socket: NetSocket
  private text = ''
  private isOver = false
  private wake: () => void = () => {}

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1')
    this.socket.setEncoding('utf8').on('data', (text) => {
      this.text += text
      this.wake()
    })
    this.socket.on('error', () => {})
    this.socket.on('close', () => {
      this.isOver = true
      this.wake()
    })
  }

  /** The next line; undefined when the connection is over. */
  async line(): Promise<string | undefined> {
    for (;;) {
      const end = this.text.indexOf('\n')
      if (end >= 0) {
        const line = this.text.slice(0, end)
        this.text = this.text.slice(end + 1)
        return line
      }
      if (this.isOver) return undefined
      await new Promise<void>((resolve) => {
        this.wake = resolve
      })
    }
  }

  ask(line: string): Promise<string | undefined> {
    this.socket.write(`${line}\n`)
    return this.line()
  }
}

describe('a server in a process of its own', { concurrency: 2 }, () => {
  test('that runs out of descriptors drops connections, says so once, and goes on', async (t) => {
    const { port, over } = await serving('few', 'ulimit -n 256')
    const clients = Array.from({ length: 300 }, () => new Client(port))
    const greetings = await Promise.all(clients.map((client) => client.line()))
    const served = clients.filter((_, i) => greetings[i] === 'hello')
    t.diagnostic(`${served.length} of ${clients.length} were served with 256 descriptors`)
    assert.ok(served.length >= 100 && served.length < 256)
    const [one, ...others] = served as [Client, ...Client[]]
    assert.equal(await one.ask('open'), 'true') // the last descriptors are not for connections
    for (const { socket } of others) socket.end()
    await Promise.all(others.map((client) => client.line()))
    const again = Array.from({ length: 10 }, () => new Client(port))
    assert.deepEqual(
      await Promise.all(again.map((client) => client.line())),
      again.map(() => 'hello'),
    )
    const stats = JSON.parse((await one.ask('stats')) as string)
    assert.equal(stats.dropped, 300 - served.length)
    assert.equal(stats.connections, 310)
    one.socket.write('end\n')
    for (const { socket } of [one, ...again]) socket.end()
    const { code, stderr } = await over
    assert.equal(code, 0)
    assert.equal(
      stderr,
      `polyphony: server 127.0.0.1:${port}: descriptors are running out: connections are dropped until others are closed. ` +
        'Raise the limit (ulimit -n), or give listen({ maxConnections }) and a smaller backlog (so far: 1 dropped, 0 failed)\n',
    )
  })

  for (const [signal, expected] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    test(`S47 is stopped by ${signal}: its connections say goodbye, and nothing is left`, async () => {
      const { port, child, over } = await serving('polite')
      const clients = Array.from({ length: 5 }, () => new Client(port))
      for (const client of clients) assert.equal(await client.line(), 'hello')
      child.kill(signal)
      for (const client of clients) {
        assert.equal(await client.line(), 'goodbye')
        assert.equal(await client.line(), undefined)
      }
      const { code, stdout } = await over
      assert.deepEqual([code, stdout], [expected, 'open at the end: 0\n'])
    })
  }

  test('S64 that nobody waits for does not hold it', async () => {
    const { over } = await serving('idle')
    assert.deepEqual(await over, { code: 0, stdout: '', stderr: '' })
  })

  test('S64 is held while a fiber waits for a connection', async () => {
    const { port, over } = await serving('waiting')
    const client = new Client(port)
    assert.deepEqual(await over, { code: 0, stdout: 'somebody came\n', stderr: '' })
    client.socket.destroy()
  })
})

test('many connections at once, opened, used and closed: descriptors and heap are back', async (t) => {
  // npm run test:soak does it with 10,000.
  const soak = fileURLToPath(new URL('../programs/soak.js', import.meta.url))
  const child = spawn(process.execPath, ['--expose-gc', soak, '500'], {
    timeout: 120_000,
    killSignal: 'SIGKILL',
  })
  const { code, stdout, stderr } = await ended(child)
  t.diagnostic(stdout.trimEnd())
  assert.deepEqual([code, stderr], [0, ''])
})
