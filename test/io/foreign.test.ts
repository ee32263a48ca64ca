// Clients and servers that others have written: nc, socat, curl. Where one of them is not installed, a plain client of Node
// takes its place, and the test says so.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { type Fiber, type Routine, spin, until } from 'polyphony'
import { connect, type IOError, listen, type Server, type Socket } from 'polyphony/io'
import { type Ended, ended } from '../prelude.js'
import { eventually, inFolder, rawClient, real } from './real.js'

const nc = /-N\b/.test(spawnSync('nc', ['-h'], { encoding: 'utf8' }).stderr ?? '') // the kind that can end its half
const socat = spawnSync('socat', ['-V']).status === 0
const curl = spawnSync('curl', ['--version']).status === 0

type Where = { port: number } | { path: string }
const { stringify } = JSON

/** What a program prints that is given this to read. */
async function run(command: string, args: string[], input: string): Promise<string> {
  const child = spawn(command, args, { timeout: 20_000 })
  child.stdin.end(input)
  const { code, stdout, stderr } = await ended(child)
  assert.equal(code, 0, `${command}: ${stderr}`)
  return stdout
}

/** The same with a client of Node. */
async function raw(where: Where, input: string): Promise<string> {
  const { socket, all } = await rawClient(where)
  socket.end(input)
  const text = await all
  socket.destroy()
  return text
}

function* echo(socket: Socket): Routine<void> {
  for (let line: string | undefined; (line = yield* socket.gets()) !== undefined; ) {
    yield* socket.write(`> ${line}\n`)
  }
}

/** HTTP by hand: one request, one answer. */
function* hello(socket: Socket): Routine<void> {
  const [method, path] = (yield* socket.gets())?.split(' ') ?? []
  while ((yield* socket.gets()) !== '');
  const body = `${method} ${path}\n`
  yield* socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`)
}

/** Runs a body with a server. */
function serving(
  options: { host: string } | { path: string },
  handler: (socket: Socket) => Routine<void>,
  body: (server: Server) => Routine<void>,
): Promise<void> {
  return real(function* () {
    const server = yield* listen(options)
    const loop: Fiber = spin(() => server.acceptLoop(handler))
    yield* body(server)
    yield* server.close()
    yield* loop
  })
}

function used(t: TestContext, isThere: boolean, name: string): void {
  t.diagnostic(isThere ? `${name} was used` : `${name} is not installed; a plain client of Node was used`)
}

describe('clients that others have written', () => {
  const lines = Array.from({ length: 2000 }, (_, i) => `line ${i}\n`)
  const expected = lines.map((line) => `> ${line}`).join('')

  test('nc', (t) =>
    serving({ host: '127.0.0.1' }, echo, function* ({ port }) {
      used(t, nc, 'nc')
      const text = nc
        ? run('nc', ['-N', '127.0.0.1', `${port}`], lines.join(''))
        : raw({ port }, lines.join(''))
      assert.equal(yield* until(text), expected)
    }))

  test('socat', (t) =>
    serving({ host: '127.0.0.1' }, echo, function* ({ port }) {
      used(t, socat, 'socat')
      const text = socat
        ? run('socat', ['-t10', '-', `TCP:127.0.0.1:${port}`], lines.join(''))
        : raw({ port }, lines.join(''))
      assert.equal(yield* until(text), expected)
    }))

  test('socat, by a Unix socket', (t) =>
    inFolder((folder) =>
      serving({ path: join(folder, 's') }, echo, function* ({ address: path }) {
        used(t, socat, 'socat')
        const text = socat
          ? run('socat', ['-t10', '-', `UNIX-CONNECT:${path}`], lines.join(''))
          : raw({ path }, lines.join(''))
        assert.equal(yield* until(text), expected)
      }),
    ))

  test('curl', (t) =>
    serving({ host: '127.0.0.1' }, hello, function* ({ port }) {
      used(t, curl, 'curl')
      const text = curl
        ? run('curl', ['-sS', '--noproxy', '*', `http://127.0.0.1:${port}/a/page`], '')
        : raw({ port }, 'GET /a/page HTTP/1.1\r\nHost: here\r\n\r\n')
      assert.match(yield* until(text), /GET \/a\/page\n$/)
    }))
})

/** Its file is there a moment before it listens. */
function* patientConnect(path: string): Routine<Socket> {
  for (;;) {
    yield* eventually(() => existsSync(path))
    try {
      return yield* connect({ path })
    } catch (error) {
      if ((error as IOError).code !== 'ECONNREFUSED') throw error
    }
  }
}

test('a server that others have written: socat', (t) =>
  inFolder((folder) =>
    real(function* () {
      const path = join(folder, 's')
      used(t, socat, 'socat')
      const program = `require('node:net').createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket)).listen(${stringify(path)})`
      const child = socat
        ? spawn('socat', [`UNIX-LISTEN:${path},fork`, 'EXEC:cat'])
        : spawn(process.execPath, ['-e', program])
      const over: Promise<Ended> = ended(child)
      try {
        const socket = yield* patientConnect(path)
        yield* socket.end('there and back')
        assert.equal(`${yield* socket.readAll()}`, 'there and back')
        yield* socket.close()
      } finally {
        child.kill()
        yield* until(over)
      }
    }),
  ))
