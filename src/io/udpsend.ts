// Sending a datagram: where to, and the wait until the system has it. A name is looked up first, where a fiber can leave at
// once; the rest is one op.

import { isIP } from 'node:net'
import {
  type Attempt,
  BadArgument,
  LATER,
  type Op,
  OutsideOp,
  op,
  type Routine,
  show,
} from '../core/index.js'
import { checkHost, checkPort, lookup } from './lookup.js'
import type { UdpSocket } from './udp.js'

/** Where a datagram goes: a host by its name or address, or where another came from. */
export type Destination = { host?: string; port: number } | { address: string; port: number }

/** The system reads the bytes until it has taken them, so a fiber that is stopped waits for that (S35): LATER. */
class Send extends OutsideOp<void> {
  constructor(
    private readonly socket: UdpSocket,
    private readonly data: Uint8Array,
    private readonly port: number | undefined,
    private readonly address: string | undefined,
  ) {
    super()
  }
  protected start(attempt: Attempt<void>): void {
    this.socket.transmit(attempt, this.data, this.port, this.address)
  }
  protected cancel(): typeof LATER {
    return LATER
  }
  describe(): string {
    return `${this.socket.name}.send()`
  }
  override get kind(): string {
    return 'write'
  }
  override get resource(): object {
    return this.socket
  }
}

/** What `socket.send(...)` gives; refuses what cannot be meant. */
export function sendOp(
  socket: UdpSocket,
  data: string | Uint8Array,
  to: number | Destination | undefined,
  host: string | undefined,
): Op<void> {
  const bytes = bytesOf(data)
  const { remote } = socket
  if (remote !== undefined) {
    if (to === undefined && host === undefined) return new Send(socket, bytes, undefined, undefined)
    throw new BadArgument(
      `${socket.name} is connected to ${remote.address}:${remote.port}: send(data) takes nothing else`,
    )
  }
  const { port, name } = destinationOf(socket, to, host)
  if (isIP(name) !== 0) return new Send(socket, bytes, port, checkFamily(socket, name))
  return op(`${socket.name}.send()`, () => sendByName(socket, bytes, port, name))
}

function* sendByName(socket: UdpSocket, data: Uint8Array, port: number, name: string): Routine<void> {
  const { address } = yield* lookup(name, { family: socket.family === 'IPv4' ? 4 : 6 })
  yield* new Send(socket, data, port, address)
}

function destinationOf(
  socket: UdpSocket,
  to: number | Destination | undefined,
  host: string | undefined,
): { port: number; name: string } {
  if (to === undefined || to === null) {
    throw new BadArgument(
      `${socket.name} is not connected: say where to, as in send(data, port, host), or open it with udp({ connect: { host, port } })`,
    )
  }
  const given = typeof to === 'object' ? (to as { port: number; host?: string; address?: string }) : null
  const name = given === null ? host : (given.host ?? given.address)
  return {
    port: checkPort(given === null ? to : given.port, 'send()', 1),
    name: checkHost(name ?? (socket.family === 'IPv4' ? '127.0.0.1' : '::1'), 'send()'),
  }
}

function checkFamily(socket: UdpSocket, address: string): string {
  const kind = isIP(address)
  if (socket.family === `IPv${kind}`) return address
  throw new BadArgument(
    `${socket.name} is a socket for ${socket.family}, it cannot send to ${address}. Open one with udp({ type: 'udp${kind}' })`,
  )
}

function bytesOf(data: string | Uint8Array): Uint8Array {
  if (typeof data === 'string') return Buffer.from(data)
  if (data instanceof Uint8Array) return data
  throw new BadArgument(`send() needs a string or bytes, got ${show(data)}`)
}
