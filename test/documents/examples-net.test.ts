// The examples that serve: each is started as a program of its own, talked to by clients that know nothing of this library
// (plain sockets, and curl, nc and socat where they are installed), and stopped by Ctrl-C.

import assert from 'node:assert/strict'
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const built = (name: string) => fileURLToPath(new URL(`../../examples/${name}.js`, import.meta.url))

function isInstalled(command: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${command}`])
    return true
  } catch {
    return false
  }
}

/** A server that runs. */
class Running {
  private stderr = ''
  port = 0
  private constructor(private readonly child: ChildProcess) {
    child.stderr?.on('data', (text) => (this.stderr += text))
  }

  static async start(name: string, ...args: string[]): Promise<Running> {
    const child = spawn(process.execPath, [built(name), '0', ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH },
    })
    const running = new Running(child)
    let printed = ''
    for await (const text of child.stdout ?? []) {
      printed += text
      const port = /listening on port (\d+)\n/.exec(printed)?.[1]
      if (port === undefined) continue
      running.port = Number(port)
      return running
    }
    throw new Error(`${name} did not listen: ${printed}${running.stderr}`)
  }

  /** Ctrl-C: it ends in order, with nothing to complain about. */
  async interrupt(): Promise<void> {
    const ended = once(this.child, 'exit')
    this.child.kill('SIGINT')
    assert.deepEqual(await ended, [130, null])
    const complaints = this.stderr.split('\n').filter((line) => line !== '' && !/SIGINT/.test(line))
    assert.deepEqual(complaints, [])
  }
}

/** Runs a server for as long as the body takes. */
async function serving(
  name: string,
  body: (port: number, server: Running) => Promise<void>,
  ...args: string[]
): Promise<void> {
  const server = await Running.start(name, ...args)
  try {
    await body(server.port, server)
  } finally {
    await server.interrupt()
  }
}

/** A client that types and reads. */
class Client {
  private heard = ''
  private constructor(private readonly socket: Socket) {
    socket.setEncoding('utf8')
    socket.on('data', (text) => (this.heard += text))
  }
  static async connect(port: number): Promise<Client> {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    await once(socket, 'connect')
    return new Client(socket)
  }
  type(text: string): void {
    this.socket.write(text)
  }
  /** Waits until the text has come, and forgets all up to it. */
  async sees(text: string): Promise<void> {
    for (;;) {
      const at = this.heard.indexOf(text)
      if (at >= 0) {
        this.heard = this.heard.slice(at + text.length)
        return
      }
      if (this.socket.readableEnded) assert.fail(`the other side ended; heard ${JSON.stringify(this.heard)}`)
      await Promise.race([once(this.socket, 'data'), once(this.socket, 'end')])
    }
  }
  /** What was said but not looked at. */
  get rest(): string {
    return this.heard
  }
  end(): void {
    this.socket.end()
  }
  async ended(): Promise<void> {
    if (!this.socket.readableEnded) await once(this.socket, 'end')
  }
}

describe('examples that serve', { concurrency: 2 }, () => {
  test('http-by-hand answers requests, several in one packet and one in several', () =>
    serving('http-by-hand', async (port) => {
      const client = await Client.connect(port)
      client.type('GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\n\r\nGET /')
      await client.sees('hello /a\n')
      await client.sees('hello /b\n')
      client.type('c HTTP/1.1\r\n\r\nPOST /d HTTP/1.1\r\n\r\n')
      await client.sees('hello /c\n')
      await client.sees('400 Bad Request')
      client.end()
      await client.ended()
    }))

  test('http-by-hand serves curl and fetch', (t) =>
    serving('http-by-hand', async (port) => {
      const answer = await fetch(`http://127.0.0.1:${port}/tea`)
      assert.deepEqual([answer.status, await answer.text()], [200, 'hello /tea\n'])
      if (!isInstalled('curl')) return t.diagnostic('curl is not installed')
      const { stdout } = await run('curl', ['-sS', `http://127.0.0.1:${port}/{a,b}`])
      assert.equal(stdout.replaceAll(/--_curl_--.*\n/g, ''), 'hello /a\nhello /b\n')
    }))

  test('http-adapter turns callbacks into a loop, and closes when it is asked to', (t) =>
    serving('http-adapter', async (port) => {
      const client = await Client.connect(port)
      client.type(
        'GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\nConnection: close\r\n\r\nGET /c HTTP/1.1\r\n\r\n',
      )
      await client.sees('you asked for /a\n')
      await client.sees('you asked for /b\n')
      await client.ended()
      assert.equal(client.rest, '')
      if (!isInstalled('curl')) return t.diagnostic('curl is not installed')
      const { stdout } = await run('curl', ['-sS', '-H', 'connection: close', `http://127.0.0.1:${port}/d`])
      assert.equal(stdout, 'you asked for /d\n')
    }))

  test('chat-server: two clients in one room hear each other, and a third elsewhere does not', () =>
    serving('chat-server', async (port) => {
      const clients = await Promise.all(['ada', 'bob', 'cy'].map(() => Client.connect(port)))
      const [ada, bob, cy] = clients as [Client, Client, Client]
      for (const [client, name, room] of [
        [ada, 'ada', 'tea'],
        [bob, 'bob', 'tea'],
        [cy, 'cy', 'coffee'],
      ] as const) {
        await client.sees('your name: ')
        client.type(`${name}\n`)
        await client.sees('disconnect\n')
        client.type(`connect ${room}\n`)
        await client.sees(`you are in ${room}\n`)
      }
      ada.type('send hello\n')
      for (const client of [ada, bob]) await client.sees('ada: hello\n')
      bob.type('disconnect\n')
      bob.type('send lost\n')
      bob.end() // gone, and the room goes on
      await bob.ended()
      ada.type('send anybody?\n')
      await ada.sees('ada: anybody?\n')
      assert.deepEqual([bob.rest, cy.rest], ['', ''])
    }))

  test('chat-server talks to nc', (t) =>
    serving('chat-server', async (port) => {
      if (!isInstalled('nc')) return t.diagnostic('nc is not installed')
      const nc = spawn('nc', ['127.0.0.1', String(port)])
      let heard = ''
      nc.stdout.on('data', (text) => (heard += text))
      nc.stdin.write('ada\nconnect tea\nsend hello\n')
      while (!heard.includes('ada: hello\n')) await once(nc.stdout, 'data')
      nc.kill()
      await once(nc, 'exit')
    }))

  test('tcp-proxy passes on both directions, and the end of each', (t) =>
    serving('http-adapter', async (target) => {
      await serving(
        'tcp-proxy',
        async (port) => {
          const client = await Client.connect(port)
          client.type('GET /through HTTP/1.1\r\n\r\n')
          await client.sees('you asked for /through\n')
          client.end()
          await client.ended()
          if (!isInstalled('socat')) return t.diagnostic('socat is not installed')
          const socat = run('socat', ['-t5', '-', `TCP:127.0.0.1:${port}`])
          socat.child.stdin?.end('GET /s HTTP/1.1\r\nConnection: close\r\n\r\n')
          assert.match((await socat).stdout, /you asked for \/s\n$/)
        },
        '127.0.0.1',
        String(target),
      )
    }))

  test('job-server: three workers, many clients', () =>
    serving('job-server', async (port) => {
      const [boss, watcher] = await Promise.all([Client.connect(port), Client.connect(port)])
      boss.type('add 1 write report\n')
      await boss.sees('job 1\n')
      watcher.type('wait 1\n')
      await watcher.sees('done: write report\n')
      boss.type('add 60000 sleep\n'.repeat(4))
      await boss.sees('job 5\n')
      boss.type('status\n')
      await boss.sees('1 waiting, 3 running, 1 done\n')
      boss.type('what\n')
      await boss.sees('add MS WHAT')
    }))
})
