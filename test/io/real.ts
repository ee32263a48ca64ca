// Tests with real sockets, on the real clock, without waiting for it: what is open at the end is counted.

import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { type Socket as NetSocket, connect as netConnect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cancelAfter, Fiber, type Op, type Report, type Routine, run, spin, tap } from 'polyphony'
import { IOError, StreamClosed } from 'polyphony/io'
import { type Leaks, leaks } from 'polyphony/testing'
import { comesTrue, eventually, turns } from '../prelude.js'
import '../shared/spare.js'

export { eventually, turns }

/** How many descriptors this process has open; 0 where the system does not tell. */
export function descriptors(): number {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return 0
  }
}

/** Runs a body in a fiber and strikes it as soon as it waits, before anything can answer. The fiber, when it is dead. */
export function* struckWaiting(body: () => Op<unknown>, strike: (fiber: Fiber) => unknown): Routine<Fiber> {
  const name = 'struck while it waits'
  const untap = tap((event, fiber) => {
    if (event !== 'block' || fiber.name !== name) return
    untap()
    strike(fiber)
  })
  const fiber = spin({ name, link: false }, body)
  yield* fiber.join()
  return fiber
}

type Counted = Pick<Leaks, 'fibers' | 'timers' | 'pendingOps' | 'resources'> & { descriptors: number }

function count(): Counted {
  const { fibers, timers, pendingOps, resources } = leaks()
  return { fibers, timers, pendingOps, resources, descriptors: descriptors() }
}

/** A test that hangs fails after this many milliseconds. */
const LIMIT = 30_000

/** Runs a body; afterwards nothing that it opened is open. It is given the reports that are made meanwhile. */
export async function real(body: (reports: Report[]) => Routine<unknown>): Promise<void> {
  await turns(3) // what ended before lets go
  const before = count()
  const reports: Report[] = []
  await run(function* () {
    const { backend } = (Fiber.current as any).runtime
    backend.report = (report: Report) => void reports.push(report)
    try {
      yield* cancelAfter(LIMIT, () => body(reports), 'this took too long')
    } finally {
      delete backend.report // the one of its class again
    }
  })
  if (!(await comesTrue(() => isBack(count(), before)))) assert.deepEqual(count(), before)
}

/** Fewer are not our doing: Node closes a descriptor of its own when it has loaded everything. */
function isBack(now: Counted, before: Counted): boolean {
  return (
    now.fibers === before.fibers &&
    now.timers === before.timers &&
    now.pendingOps === before.pendingOps &&
    now.resources.length <= before.resources.length &&
    now.descriptors <= before.descriptors
  )
}

/** A folder for the files of Unix sockets, which is removed afterwards. */
export async function inFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'polyphony-'))
  try {
    await body(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** A client that is not ours. */
export interface RawClient {
  readonly socket: NetSocket
  /** All that came, when the other side has ended or the connection is closed. */
  readonly all: Promise<string>
  /** The code of the error that ended it, if one did. */
  code?: string
}

export function rawClient(to: { port: number } | { path: string }): Promise<RawClient> {
  const socket = netConnect({ host: '127.0.0.1', allowHalfOpen: true, ...to })
  let text = ''
  socket.setEncoding('utf8').on('data', (more) => (text += more))
  const all = new Promise<string>((resolve) => {
    socket.on('end', () => resolve(text)).on('close', () => resolve(text))
  })
  const client: RawClient = { socket, all }
  return new Promise((resolve, reject) => {
    socket.on('error', (error: NodeJS.ErrnoException) => {
      client.code = error.code as string
      reject(error)
    })
    socket.on('connect', () => resolve(client))
  })
}

/** Whether an error says that the other side is gone. */
export function isGone(error: unknown): boolean {
  return (
    error instanceof StreamClosed ||
    (error instanceof IOError && /^(ECONNRESET|EPIPE|ECONNREFUSED|ECONNABORTED|ENOENT)$/.test(error.code))
  )
}
