// Clients that others have written: nc, curl, openssl. Where one of them is not installed, a client of Node's takes its
// place, and the test says so. On the long list: each test starts a process.

import { spawn, spawnSync } from 'node:child_process'
import type { Socket } from 'polyphony/io'
import { assert, ended, type Routine, spin, test, until } from '../prelude.js'
import { listening, real } from './real.js'
import { fixture, host, local, serving } from './tls.js'

const lines = Array.from({ length: 2000 }, (_, i) => `line ${i}\n`)

/** Answers each line. */
function* answer(socket: Socket): Routine<void> {
  for (let line: string | undefined; (line = yield* socket.gets()) !== undefined; ) {
    yield* socket.write(`> ${line}\n`)
  }
}

/** HTTP by hand: one request, one answer. */
function* http(socket: Socket): Routine<void> {
  const [method, path] = (yield* socket.gets())?.split(' ') ?? []
  while ((yield* socket.gets()) !== '');
  const body = `${method} ${path}\n`
  yield* socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`)
}

const greet = (socket: Socket) => socket.write(`you asked for ${(socket as any).servername}\n`)

interface Row {
  command: (port: number) => string[]
  /** The same with Node. */
  node: (port: number) => string
  has: string[]
  body: (socket: Socket) => any
  input?: string
  output: RegExp
}
const rows: Record<string, Row> = {
  'nc -N': {
    has: ['sh', '-c', 'nc -h 2>&1 | grep -q -e -N'], // the kind that can end its half
    command: (port) => ['nc', '-N', host, `${port}`],
    node: (port) =>
      `process.stdin.pipe(net.connect({ port: ${port}, allowHalfOpen: true })).pipe(process.stdout)`,
    body: answer,
    input: lines.join(''),
    output: new RegExp(`^${lines.map((line) => `> ${line}`).join('')}$`),
  },
  curl: {
    has: ['curl', '--version'],
    command: (port) => ['curl', '-sS', '--noproxy', '*', `http://${host}:${port}/a/page`],
    node: (port) => `http.get('http://${host}:${port}/a/page', (answer) => answer.pipe(process.stdout))`,
    body: http,
    output: /^GET \/a\/page\n$/,
  },
  'openssl s_client': {
    has: ['openssl', 'version'],
    command: (port) => [
      ...['openssl', 's_client', '-connect', `${host}:${port}`, '-servername', 'localhost'],
      ...['-CAfile', fixture('ca.pem'), '-verify_return_error', '-quiet'],
    ],
    node: (port) =>
      `tls.connect({ port: ${port}, servername: 'localhost', rejectUnauthorized: false }).pipe(process.stdout)`,
    body: greet,
    output: /^you asked for localhost\n$/,
  },
}

for (const [name, { has, command, node, body, input = '', output }] of Object.entries(rows)) {
  test(`${name} is served`, (t) =>
    real(function* () {
      const server = name.startsWith('openssl') ? yield* serving(local, body) : yield* listening()
      if (!name.startsWith('openssl')) spin(() => server.acceptLoop(body))
      const isThere = spawnSync(has[0] as string, has.slice(1)).status === 0
      t.diagnostic(`${name} was ${isThere ? '' : 'not '}used`)
      const [file = '', ...args] = isThere
        ? command(server.port)
        : [process.execPath, '-e', node(server.port)]
      const child = spawn(file, args, { timeout: 20_000 })
      if (input !== '') child.stdin.end(input)
      const { code, stdout, stderr } = yield* until(ended(child))
      assert.equal(code, 0, stderr)
      assert.match(stdout, output)
    }))
}
