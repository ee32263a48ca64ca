// A UDP socket: datagrams in and out. Node receives from the moment it is bound and cannot be told to pause, so what nobody
// waits for is kept here, up to a limit, and beyond it dropped and counted, as the system does with its own buffer.
//
//   dgram --message--> the first who waits, or [ unread ]        someone waits  =>  nothing is unread
//   send() --> dgram --> the system: the wait is over when the system has it
//
// The handle does not hold the process; a fiber that waits does (S64).

import type { RemoteInfo, Socket } from 'node:dgram'
import {
  type Attempt,
  check,
  type Fiber,
  IdleOp,
  type Op,
  OutsideOp,
  op,
  type Returned,
  Ring,
  type Routine,
  runBody,
  settle,
  type Waiter,
  Waiters,
} from '../core/index.js'
import { type IOError, ioError, StreamClosed } from './errors.js'
import { checkHost } from './lookup.js'
import { counted } from './reading.js'
import { type Destination, sendOp } from './udpsend.js'

/** What has been received, and from whom. It can be given to `send` as the place to answer to. */
export interface Datagram {
  /** What was sent. It is the receiver's own, and may be empty. */
  readonly data: Buffer
  /** The address it came from. */
  readonly address: string
  /** The port it came from. */
  readonly port: number
  /** The kind of the address. */
  readonly family: 'IPv4' | 'IPv6'
}

/** A group of hosts to receive from. */
export interface GroupOptions {
  /** The address of the network interface; default: the system chooses one. */
  interface?: string
  /** Only what comes from this address. */
  source?: string
}

/** How a socket is doing. */
export interface UdpStats {
  /** Datagrams that were received so far, dropped ones aside. */
  readonly received: number
  /** Datagrams that were dropped, because as many as `capacity` were unread. */
  readonly dropped: number
  /** Datagrams that nobody has taken yet. */
  readonly unread: number
  /** How many may be unread. */
  readonly capacity: number
  /** Datagrams that the system has taken so far. */
  readonly sent: number
  /** Datagrams that wait for the system to take them. */
  readonly sending: number
  /** Fibers that wait for a datagram. */
  readonly waiting: number
  /** Errors that the system has told so far, other than answers to `send`: nobody listens at the other end. */
  readonly errors: number
  /** Whether it was closed. */
  readonly closed: boolean
}

/** What those who wait get when the socket is closed: an error, or the end of their loop. */
type AtEnd = typeof OVER | undefined
const OVER = Symbol('over')

const OPEN = 0
/** What is being sent is waited for. */
const CLOSING = 1
const CLOSED = 2

class Recv extends IdleOp<any> {
  constructor(
    private readonly socket: UdpSocket,
    private readonly atEnd: AtEnd,
  ) {
    super()
  }
  enter(fiber: Fiber): void {
    this.socket.join(fiber, this, this.atEnd)
  }
  abort(fiber: Fiber): void {
    this.socket.leave(fiber)
  }
  /** It has got a datagram, and was iterated by hand (S69). */
  override late(value: unknown, fiber: Fiber): void {
    super.late(value, fiber)
    if (value !== OVER) this.socket.putBack(value as Datagram)
  }
  describe(): string {
    return `${this.socket.name}.recv()`
  }
  override get kind(): string {
    return 'read'
  }
  override get resource(): object {
    return this.socket
  }
}

/** Who gives up waiting for the close closes at once. */
class Close extends OutsideOp<void> {
  constructor(private readonly socket: UdpSocket) {
    super()
  }
  protected start(attempt: Attempt<void>): void {
    this.socket.beginClose(attempt)
  }
  protected cancel(): void {
    this.socket.destroy()
  }
  describe(): string {
    return `${this.socket.name}.close()`
  }
  override get kind(): string {
    return 'close'
  }
  override get resource(): object {
    return this.socket
  }
}

/**
 * A socket for datagrams: what `udp` gives.
 *
 * ```ts
 * const server = yield* udp({ host: '127.0.0.1' })
 * spin(() => server.recvLoop((question) => server.send(`${question.data}!`, question)))
 *
 * const client = yield* udp({ connect: { host: '127.0.0.1', port: server.port } })
 * yield* client.send('hello')
 * console.log(String((yield* client.recv()).data)) // hello!
 * yield* client.close()
 * yield* server.close()
 * ```
 */
export class UdpSocket {
  /** The address it is bound to. */
  readonly address: string
  /** The port it is bound to. */
  readonly port: number
  /** The kind of its address. */
  readonly family: 'IPv4' | 'IPv6'
  /** What messages call it: `udp 127.0.0.1:5353`. */
  readonly name: string
  private readonly waiters = new Waiters<AtEnd>()
  private readonly closing = new Set<Attempt<void>>()
  private readonly sending = new Set<Attempt<void>>()
  private readonly recvOp: Recv
  private readonly nextOp: Recv
  private unread = new Ring<Datagram>()
  /** An error that came while nobody waited: the next who receives is told, as the system does it. */
  private trouble: IOError | null = null
  private phase = OPEN
  private received = 0
  private dropped = 0
  private sent = 0
  private errors = 0

  /** @internal It must be bound. */
  constructor(
    private readonly socket: Socket,
    /** How many datagrams may be unread. */
    readonly capacity: number,
    /** The other end, if it is connected to one. */
    readonly remote: { readonly address: string; readonly port: number } | undefined,
  ) {
    const { address, port, family } = socket.address()
    this.address = address
    this.port = port
    this.family = family as 'IPv4' | 'IPv6'
    this.name = `udp ${family === 'IPv6' ? `[${address}]` : address}:${port}`
    this.recvOp = new Recv(this, undefined).droppable()
    this.nextOp = new Recv(this, OVER).droppable()
    socket.unref()
    socket.on('message', this.arrived)
    socket.on('error', this.troubled)
  }

  // ---- in

  /**
   * The next datagram. Waits until there is one; those who wait are served in the order they came. To wait for a datagram is
   * to wait for new work, so a fiber that is being stopped cannot (S17). Throws `StreamClosed`
   * if the socket is closed meanwhile.
   */
  recv(): Op<Datagram> {
    return this.recvOp.handOut()
  }

  /** The next datagram if one is there, else undefined. */
  tryRecv(): Datagram | undefined {
    return this.unread.size > 0 ? this.unread.shift() : undefined
  }

  /**
   * Runs a body for every datagram, one after the other; ends when it returns false, or when the socket is closed.
   *
   * ```ts
   * const socket = yield* udp({ host: '127.0.0.1' })
   * for (const word of ['one', 'two', 'enough']) yield* socket.send(word, socket)
   * yield* socket.recvLoop(({ data }) => {
   *   console.log(String(data)) // one, two, enough
   *   return String(data) !== 'enough'
   * })
   * yield* socket.close()
   * ```
   */
  recvLoop<R = unknown>(body: (datagram: Datagram) => Returned<R>): Op<void> {
    check.body(body, 'recvLoop()')
    return op(`${this.name}.recvLoop()`, () => this.receiving(body as (d: Datagram) => Op<unknown>))
  }

  private *receiving(body: (datagram: Datagram) => Op<unknown>): Routine<void> {
    for (;;) {
      const datagram: Datagram | typeof OVER = yield* this.nextOp.handOut()
      if (datagram === OVER) return
      if ((yield* runBody(body, datagram)) === false) return
    }
  }

  // ---- out

  /**
   * Sends a datagram: to a port of a host (default: this machine), to where another datagram came from, or, on a connected
   * socket, to its other end. The wait is over when the system has it; whether it arrives, nobody can tell.
   *
   * ```ts
   * const a = yield* udp({ host: '127.0.0.1' })
   * const b = yield* udp({ host: '127.0.0.1' })
   * yield* a.send('ping', b.port, '127.0.0.1')
   * yield* b.send('pong', yield* b.recv())
   * console.log(String((yield* a.recv()).data)) // pong
   * yield* a.close()
   * yield* b.close()
   * ```
   */
  send(data: string | Uint8Array, to?: number | Destination, host?: string): Op<void> {
    return sendOp(this, data, to, host)
  }

  // ---- groups

  /**
   * Receives also what is sent to a group of hosts (multicast).
   *
   * ```ts
   * const socket = yield* udp({ multicast: { interface: '127.0.0.1' } })
   * socket.joinGroup('239.1.2.3', { interface: '127.0.0.1' })
   * yield* socket.send('to all of you', socket.port, '239.1.2.3')
   * console.log(String((yield* socket.recv()).data)) // to all of you
   * yield* socket.close()
   * ```
   */
  joinGroup(group: string, options: GroupOptions = {}): void {
    this.changeGroup('join', group, options)
  }

  /** No longer receives what is sent to the group. */
  leaveGroup(group: string, options: GroupOptions = {}): void {
    this.changeGroup('leave', group, options)
  }

  private changeGroup(verb: 'join' | 'leave', group: string, options: GroupOptions): void {
    const where = `${verb}Group()`
    checkHost(group, where)
    const { source, interface: face } = check.options(options, ['interface', 'source'], where)
    if (this.isClosed) throw this.isOver(`${verb}Group`)
    const { socket } = this
    try {
      if (source === undefined) {
        if (verb === 'join') socket.addMembership(group, face)
        else socket.dropMembership(group, face)
      } else if (verb === 'join') socket.addSourceSpecificMembership(source, group, face)
      else socket.dropSourceSpecificMembership(source, group, face)
    } catch (error) {
      throw ioError(error, `${this.name}.${verb}Group(${group})`)
    }
  }

  // ---- closing

  /**
   * Closes it when the system has what is being sent. Those who wait in `recv` get `StreamClosed`, a `recvLoop` ends, what
   * is unread is dropped. Whoever gives up waiting closes at once. Closing it again changes nothing.
   */
  close(): Op<void> {
    return new Close(this)
  }

  /** Closes at once: what is being sent may be lost, and those who send get `StreamClosed`. Never waits. */
  destroy(): void {
    this.endRecv()
    if (this.phase !== CLOSED) this.socket.close()
    this.phase = CLOSED
    for (const attempt of this.sending) attempt.fail(this.isOver('send')) // Node forgets some of them
    this.sending.clear()
    for (const attempt of this.closing) attempt.settle()
    this.closing.clear()
  }

  /** Whether it is closed, or closing. */
  get isClosed(): boolean {
    return this.phase !== OPEN
  }

  /** Closes it: for `using`. */
  [Symbol.dispose](): void {
    this.destroy()
  }

  /** Closes it: for `use` and `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.destroy()
  }

  /** How it is doing. */
  stats(): UdpStats {
    const { received, dropped, capacity, sent, errors } = this
    return {
      received,
      dropped,
      unread: this.unread.size,
      capacity,
      sent,
      sending: this.sending.size,
      waiting: this.waiters.size,
      errors,
      closed: this.isClosed,
    }
  }

  // ---- inside

  /** @internal Answers when it is closed. */
  beginClose(attempt: Attempt<void>): void {
    this.closing.add(attempt)
    this.endRecv()
    if (this.sending.size === 0) this.destroy()
  }

  /** Nothing is received or sent any more. */
  private endRecv(): void {
    if (this.phase !== OPEN) return
    this.phase = CLOSING
    this.unread = new Ring()
    for (let place = this.waiters.first; place !== null; place = this.waiters.first) {
      if (place.item === OVER) this.give(place, OVER)
      else this.refuse(place, this.isOver('recv'))
    }
  }

  /** @internal */
  join(fiber: Fiber, op: Recv, atEnd: AtEnd): void {
    if (this.isClosed) {
      if (atEnd === undefined) throw this.isOver('recv')
      settle(fiber, op, OVER)
    } else if (this.trouble !== null) {
      const { trouble } = this
      this.trouble = null
      throw trouble
    } else if (this.unread.size > 0) settle(fiber, op, this.unread.shift())
    else {
      this.waiters.join(fiber, atEnd)
      fiber.runtime.hold()
      fiber.runtime.external++
    }
  }

  /** @internal */
  leave(fiber: Fiber): void {
    this.waiters.leave(fiber)
    letGo(fiber)
  }

  /** @internal */
  putBack(datagram: Datagram): void {
    if (this.isClosed) return
    if (this.waiters.first === null) this.unread.unshift(datagram)
    else this.give(this.waiters.first, datagram)
  }

  /** @internal */
  transmit(
    attempt: Attempt<void>,
    data: Uint8Array,
    port: number | undefined,
    address: string | undefined,
  ): void {
    if (this.isClosed) throw this.isOver('send')
    this.sending.add(attempt)
    const done = (error: Error | null) => {
      this.sending.delete(attempt)
      if (error === null || error === undefined) {
        this.sent++
        attempt.settle()
      } else attempt.fail(ioError(error, `${this.name}.send() of ${counted(data.length, 'byte')}`))
      if (this.sending.size === 0 && this.phase === CLOSING) this.destroy()
    }
    if (port === undefined) this.socket.send(data, done)
    else this.socket.send(data, port, address as string, done)
  }

  private readonly arrived = (data: Buffer, { address, port, family }: RemoteInfo): void => {
    if (this.phase !== OPEN) return
    if (this.waiters.first === null && this.unread.size >= this.capacity) {
      this.dropped++
      return
    }
    this.received++
    const datagram: Datagram = { data, address, port, family }
    if (this.waiters.first === null) this.unread.push(datagram)
    else this.give(this.waiters.first, datagram)
  }

  private readonly troubled = (error: Error): void => {
    this.errors++
    const told = ioError(error, `${this.name}.recv()`)
    if (this.waiters.first === null) this.trouble = told
    else this.refuse(this.waiters.first, told)
  }

  private give(place: Waiter<AtEnd>, value: Datagram | typeof OVER): void {
    this.waiters.remove(place)
    letGo(place.fiber as Fiber)
    place.give(value)
  }

  private refuse(place: Waiter<AtEnd>, error: Error): void {
    this.waiters.remove(place)
    letGo(place.fiber as Fiber)
    place.refuse(error)
  }

  private isOver(what: string): StreamClosed {
    return new StreamClosed(`${this.name}.${what}() came too late: the socket is closed`)
  }
}

/** A wait is over: gives back what it held. */
function letGo({ runtime }: Fiber): void {
  runtime.external--
  runtime.release()
}
