// Many connections at once, opened, used and closed: afterwards descriptors and heap are back where they were. How many is the
// first argument; fewer if there are not enough descriptors. The clients are a process of their own: this file again.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { main, spin, until } from 'polyphony'
import { listen } from 'polyphony/io'
import { heapUsed } from './heapused.js'

/** So many are being opened at a time. */
const WAVE = 250
const WARM_UP = 100

const [role, first, second] = process.argv.slice(2)
if (role === 'clients') clients(Number(first), Number(second)).catch(fail)
else main(() => serve(Number(role)))

function fail(error: unknown): void {
  console.error(error)
  process.exit(1)
}

/** Opens all of them, and when each was greeted lets each say something and hear it again; then ends them. */
async function clients(port: number, count: number): Promise<void> {
  const open: Socket[] = []
  while (open.length < count) {
    const wave = Array.from({ length: Math.min(WAVE, count - open.length) }, () => connect(port, '127.0.0.1'))
    await Promise.all(wave.map((socket) => once(socket.setEncoding('utf8'), 'data')))
    open.push(...wave)
  }
  await Promise.all(
    open.map(async (socket, i) => {
      let text = ''
      socket.on('data', (more) => (text += more))
      socket.end(`message ${i}\n`)
      await once(socket, 'close')
      if (text !== `message ${i}\n`) throw new Error(`connection ${i} heard ${JSON.stringify(text)}`)
    }),
  )
}

function* serve(wanted: number) {
  const limit = descriptorLimit()
  const count = Math.min(wanted, limit - 200)
  const server = yield* listen({ host: '127.0.0.1', backlog: 4096 })
  let most = 0
  spin('server', () =>
    server.acceptLoop(function* (socket) {
      most = Math.max(most, server.stats().open)
      yield* socket.write('hello\n')
      yield* socket.readLoop((chunk) => socket.write(chunk))
    }),
  )
  function* round(n: number) {
    const child = spawn(
      process.execPath,
      [fileURLToPath(import.meta.url), 'clients', `${server.port}`, `${n}`],
      {
        stdio: ['ignore', 'ignore', 'inherit'],
      },
    )
    const [code] = yield* until(once(child, 'close'))
    if (code !== 0) throw new Error(`the clients ended with ${code}`)
    while (server.stats().open > 0) yield* turn()
    yield* turn()
    return { descriptors: descriptors(), heap: heapUsed() }
  }
  yield* round(WARM_UP)
  const before = yield* round(WARM_UP)
  most = 0
  const after = yield* round(count)
  const megabytes = (bytes: number) => (bytes / 1e6).toFixed(1)
  const { connections, dropped } = server.stats()
  console.log(
    `${count} connections (${limit} descriptors allowed), ${most} open at once, ${dropped} dropped: ` +
      `descriptors ${before.descriptors} -> ${after.descriptors}, heap ${megabytes(before.heap)} -> ${megabytes(after.heap)} MB`,
  )
  if (connections !== count + 2 * WARM_UP || most !== count || dropped > 0)
    throw new Error('not all were there')
  if (after.descriptors !== before.descriptors) throw new Error('descriptors were left open')
  if (after.heap > before.heap + 1_000_000 + 50 * count) throw new Error('memory was left')
  yield* server.close()
}

/** What Linux tells; elsewhere, what is usual. */
function descriptorLimit(): number {
  if (!existsSync('/proc/self/limits')) return 1024
  return Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1])
}

function descriptors(): number {
  return existsSync('/proc/self/fd') ? readdirSync('/proc/self/fd').length : 0
}

const turn = () => until(new Promise<void>((resolve) => setImmediate(resolve)))
