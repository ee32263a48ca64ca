// Tests with real sockets and processes: what a body opens is closed with it, and afterwards nothing is left of it.

import { mkdtempSync, rmSync } from 'node:fs'
import { type Socket as NetSocket, connect as netConnect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type ConnectOptions,
  connect,
  IOError,
  type ListenOptions,
  listen,
  type Server,
  type Socket,
  StreamClosed,
} from 'polyphony/io'
import {
  assert,
  BadArgument,
  cancelAfter,
  eventually,
  Fiber,
  type Op,
  type Report,
  type Routine,
  run,
  snooze,
  spin,
  tap,
  test,
  thrownBy,
  turns,
  until,
  use,
} from '../prelude.js'
import { held, untilHeld } from '../shared/outside.js'

/** A test that hangs fails after this many milliseconds. */
const LIMIT = 30_000

/** Runs a body on the real backend; afterwards nothing that it opened is open. It is given the reports made meanwhile. */
export async function real(body: (reports: Report[]) => Routine<unknown>): Promise<void> {
  await turns(3) // what ended before lets go
  const before = held()
  const reports: Report[] = []
  let backend: { report?: (report: Report) => void } = {}
  try {
    await run(function* () {
      const { runtime } = Fiber.current as any
      backend = runtime.backend
      backend.report = (report) => void reports.push(report)
      yield* spin('test', () => cancelAfter(LIMIT, () => body(reports), 'this took too long'))
      yield* eventually(() => runtime.stats().pendingOps === 0 && runtime.external === 0)
    })
  } finally {
    delete backend.report // the one of its class again
  }
  await untilHeld(before)
}

/** Declares a test whose body runs in `real`. */
export const realTest = (name: string, body: (reports: Report[]) => Routine<unknown>): void =>
  test(name, () => real(body))

/** Opens something that is destroyed when the fiber is over. */
export function* opened<T extends { destroy(): unknown }>(op: Op<T>): Routine<T> {
  return yield* use(yield* op, (each) => void each.destroy())
}

/** A server on a free port of 127.0.0.1, or where the options say. */
export const listening = (options: ListenOptions = {}): Routine<Server> =>
  opened(listen(options.path === undefined ? { host: '127.0.0.1', ...options } : options))

/** Where a server can be reached. */
export const placeOf = ({ port, address }: Server): { host: string; port: number } | { path: string } =>
  port === 0 ? { path: address } : { host: '127.0.0.1', port }

/** A connection to a server. */
export const connected = (server: Server, options: Partial<ConnectOptions> = {}): Routine<Socket> =>
  opened(connect({ ...placeOf(server), ...options }))

/** The next connection of a server. */
export const accepted = <S extends Socket>(server: { accept(): Op<S | undefined> }): Routine<S> =>
  opened(server.accept() as Op<S>)

/** The two ends of a connection, the accepted one first. */
export function* bothEnds(server: Server): Routine<[Socket, Socket]> {
  const client = yield* connected(server)
  return [yield* accepted(server), client]
}

/** A client of Node's. */
interface RawClient {
  readonly socket: NetSocket
  /** All that came, when the other side has ended or the connection is closed. */
  readonly all: Promise<string>
}

export function* rawClient(server: Server): Routine<RawClient> {
  const socket = netConnect({ allowHalfOpen: true, ...placeOf(server) })
  yield* use(socket, () => void socket.destroy())
  let text = ''
  socket.setEncoding('utf8').on('data', (more) => (text += more))
  const all = new Promise<string>((resolve) => {
    socket.on('end', () => resolve(text)).on('close', () => resolve(text))
  })
  yield* until(
    new Promise<void>((resolve, reject) => socket.on('connect', () => resolve()).on('error', reject)),
  )
  return { socket, all }
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

/** Sees that an op that a fiber waits for refuses a second wait. The op, and the fiber that waits. */
export function* refusesTwo<T>(make: () => Op<T>): Routine<[Op<T>, Fiber<T>]> {
  for (;;) {
    const op = make()
    const first = spin(() => op) as Fiber<T>
    yield* snooze()
    if (first.state === 'waiting') {
      assert.ok((yield* thrownBy(op)) instanceof BadArgument)
      return [op, first]
    }
    const early = (yield* first) as { destroy?: () => void } // the machine is that busy
    early.destroy?.()
  }
}

/** A folder that is removed when the fiber is over. */
export const folder = (): Op<string> =>
  use(mkdtempSync(join(tmpdir(), 'polyphony-')), (path) => rmSync(path, { recursive: true }))

/** Whether an error says that the other side is gone. */
export function isGone(error: unknown): boolean {
  return (
    error instanceof StreamClosed ||
    (error instanceof IOError && /^(ECONNRESET|EPIPE|ECONNREFUSED|ECONNABORTED|ENOENT)$/.test(error.code))
  )
}
