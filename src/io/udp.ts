// UDP sockets: a thin layer over node:dgram. Node receives from the moment a socket is bound and cannot be paused, so a datagram
// that no fiber waits for is kept, up to `capacity`; beyond that it is dropped and counted, as the system does with its own buffer.
//
//   dgram --message--> the first fiber in recv(), else [ unread ], else dropped        a fiber waits => nothing is unread
//   send() --> dgram --> the system has the datagram: the wait is over
//
//   open -> closing: sends in progress are finished -> closed
//
// The handle does not hold the process; a fiber that waits does (S64).

import { createSocket, type RemoteInfo, type Socket, type SocketOptions } from 'node:dgram'
import { isIP, isIPv6 } from 'node:net'
import {
  type Attempt,
  addCleanup,
  BadArgument,
  type Checks,
  check,
  ensure,
  type Fiber,
  IdleOp,
  LATER,
  type Op,
  OutsideOp,
  op,
  type Result,
  type Returned,
  Ring,
  type Routine,
  runBody,
  runningFiber,
  type Switchpoint,
  settle,
  show,
} from '../core/index.js'
import { checkHost, checkPort, checkReusePort, wholeFrom } from './checks.js'
import { closedByOwner, type IOError, ioError, StreamClosed } from './errors.js'
import { lookup } from './net/lookup.js'
import { OutsideWaiters } from './stream/outside-waiters.js'
import { counted } from './stream/read-ops.js'

/** A datagram that was received. It can be given to `send` as the destination of an answer. */
export interface Datagram {
  /** Its bytes, which belong to the receiver. May be empty. */
  readonly data: Buffer
  /** The address it was sent from. */
  readonly address: string
  /** The port it was sent from. */
  readonly port: number
  /** The family of the address. */
  readonly family: 'IPv4' | 'IPv6'
}

/** Where a datagram is sent: a host by name or address, or the sender of another datagram. */
export type Destination = { host?: string; port: number } | { address: string; port: number }

/** Which datagrams of a multicast group are received. */
export interface GroupOptions {
  /** The address of the network interface; default: the system chooses one. */
  interface?: string
  /** Only datagrams from this address. */
  source?: string
}

/** The counters of a socket. */
export interface UdpStats {
  /** Datagrams received so far, without those that were dropped. */
  readonly received: number
  /** Datagrams dropped so far, because `capacity` datagrams were unread. */
  readonly dropped: number
  /** Datagrams that were received and not taken yet. */
  readonly unread: number
  /** How many may be unread. */
  readonly capacity: number
  /** Datagrams that the system has taken so far. */
  readonly sent: number
  /** Datagrams that the system has not taken yet. */
  readonly sending: number
  /** Fibers that wait for a datagram. */
  readonly waiting: number
  /** Errors of the socket so far, other than those of `send`: for example, no program listens at the other end. */
  readonly errors: number
  /** Whether it was closed. */
  readonly closed: boolean
}

/** Options of `udp`. */
export interface UdpOptions {
  /** The address to receive on, or its name; default: all addresses of this machine. */
  host?: string
  /** The port to receive on; default 0: the system chooses a free one. */
  port?: number
  /** The family of addresses; default: that of `host` or of the other end, else `'udp4'`. */
  type?: 'udp4' | 'udp6'
  /** The other end: `send` sends to it, and datagrams are received only from it. */
  connect?: { host: string; port: number }
  /** Whether other sockets may bind the same port, to receive from the same multicast group. */
  reuseAddr?: boolean
  /** Whether other sockets may bind the same port; each datagram goes to one of them. Needs Node 22.12. */
  reusePort?: boolean
  /** With `udp6`: whether datagrams from IPv4 addresses are not received. */
  ipv6Only?: boolean
  /** Whether it may send to the broadcast address of a network. */
  broadcast?: boolean
  /** How many routers a datagram may pass; default: that of the system, usually 64. */
  ttl?: number
  /** How datagrams are sent to multicast groups. */
  multicast?: { interface?: string; ttl?: number; loopback?: boolean }
  /** The size of the system's receive buffer in bytes. When it is full, the system drops datagrams. */
  recvBufferSize?: number
  /** The size of the system's send buffer in bytes. When it is full, `send` waits. */
  sendBufferSize?: number
  /** How many datagrams may be unread; further ones are dropped, and counted in `stats()`. Default 1024. */
  capacity?: number
  /** Whether it stays open when the scope or fiber that opened it is over; default false. */
  detached?: boolean
}

const DEFAULT_CAPACITY = 1024
const ANY = { udp4: '0.0.0.0', udp6: '::' }

const PEER: Checks<NonNullable<UdpOptions['connect']>> = {
  host: (host) => checkHost(host, 'connect of udp()'),
  port: (port) => checkPort(port, 'connect of udp()', 1),
}
const MULTICAST: Checks<NonNullable<UdpOptions['multicast']>> = {
  interface: checkHost,
  ttl: wholeFrom(0, 255),
  loopback: check.boolean,
}
const OPTIONS: Checks<UdpOptions> = {
  host: (host) => checkHost(host, 'udp()'),
  port: (port) => checkPort(port, 'udp()', 0),
  type: check.oneOf('udp4', 'udp6'),
  connect: (peer) => check.options(peer, PEER, 'connect of udp()', ['host', 'port']),
  reuseAddr: check.boolean,
  reusePort: checkReusePort,
  ipv6Only: check.boolean,
  broadcast: check.boolean,
  ttl: wholeFrom(1, 255),
  multicast: (multicast) => check.options(multicast, MULTICAST, 'multicast of udp()'),
  recvBufferSize: wholeFrom(1, 2 ** 31 - 1),
  sendBufferSize: wholeFrom(1, 2 ** 31 - 1),
  capacity: check.limit,
  detached: check.boolean,
}

// ---- opening

/**
 * Opens a UDP socket; it is bound when the wait is over. Throws `IOError` if the system refuses: `EADDRINUSE`, `EACCES`,
 * `EADDRNOTAVAIL`, `ENOTFOUND`.
 *
 * ```ts
 * const socket = yield* udp({ host: '127.0.0.1' }) // closed when this fiber is over
 * yield* socket.send('to myself', socket.port)
 * const { data, address } = yield* socket.recv()
 * console.log(String(data), address) // to myself 127.0.0.1
 * ```
 *
 * It belongs to the innermost `scope`, or else to the fiber, that opens it, and is closed at the end of that, however it ends;
 * with `detached: true` the program closes it. An open socket does not hold the process; a fiber that waits in `recv` or `send` does
 * (S64). Datagrams cannot be slowed down: those beyond `capacity` are dropped.
 */
export function udp(options?: UdpOptions): Op<UdpSocket>
/**
 * With a body, the socket is closed when the body is over, however it ends, and the result of the body is returned.
 *
 * ```ts
 * const port = yield* udp({ host: '127.0.0.1' }, (socket) => socket.port)
 * console.log(port > 0) // true
 * ```
 */
export function udp<R>(options: UdpOptions, body: (socket: UdpSocket) => Returned<R>): Op<Result<R>>
export function udp(options: UdpOptions = {}, body?: (socket: UdpSocket) => unknown): Op<any> {
  const given = { ...check.options(options, OPTIONS, 'udp()') }
  if (body === undefined) return op('udp()', () => opening(given))
  check.body(body, 'udp()')
  if (given.detached === true) {
    throw new BadArgument('udp() with a body closes its socket: it has no use for detached: true')
  }
  return op('udp()', () => withSocket(given, body as (socket: UdpSocket) => Op<unknown>))
}

/** Names are looked up first: a fiber that is stopped meanwhile leaves at once. */
function* opening(options: UdpOptions): Routine<UdpSocket> {
  const { connect, host, port = 0 } = options
  const type = options.type ?? (isIPv6(host ?? connect?.host ?? '') ? 'udp6' : 'udp4')
  const family = type === 'udp6' ? 6 : 4
  const address = host === undefined ? ANY[type] : (yield* lookup(host, { family })).address
  const peer = connect && { address: (yield* lookup(connect.host, { family })).address, port: connect.port }
  return yield* new Open({ ...options, type, address, port, peer })
}

function* withSocket(options: UdpOptions, body: (socket: UdpSocket) => Op<unknown>): Routine<unknown> {
  const socket = yield* opening(options)
  return yield* ensure(
    () => body(socket),
    () => socket.close(),
  )
}

type Peer = Readonly<{ address: string; port: number }>
/** The options with addresses instead of names. */
type Plan = UdpOptions & Peer & { readonly type: 'udp4' | 'udp6'; readonly peer: Peer | undefined }

/** Binds a socket and connects it. If the fiber leaves meanwhile, the socket is closed at once, so nothing arrives late (S35). */
class Open extends OutsideOp<UdpSocket> {
  private socket: Socket | null = null

  constructor(private readonly plan: Plan) {
    super()
  }

  protected start(attempt: Attempt<UdpSocket>): void {
    const { plan } = this
    const { type, reuseAddr, reusePort, ipv6Only, recvBufferSize, sendBufferSize, peer } = plan
    const options = { type, reuseAddr, reusePort, ipv6Only, recvBufferSize, sendBufferSize, lookup: known }
    const socket = createSocket(options as SocketOptions)
    this.socket = socket
    const failed = (error: unknown) => {
      abandon(socket)
      attempt.fail(ioError(error, `${this.describe()} in ${attempt.fiber.path}`))
    }
    const ready = () => {
      socket.removeAllListeners()
      const opened = new UdpSocket(socket, plan.capacity ?? DEFAULT_CAPACITY, peer)
      if (plan.detached !== true) opened.ownedBy(attempt.fiber)
      attempt.settle(opened)
    }
    const bound = () => {
      try {
        adjust(socket, plan)
        if (peer === undefined) ready()
        else socket.connect(peer.port, peer.address, (error?: unknown) => (error ? failed(error) : ready()))
      } catch (error) {
        failed(error)
      }
    }
    socket.on('error', failed)
    try {
      socket.bind({ port: plan.port, address: plan.address }, bound)
    } catch (error) {
      failed(error) // the system refuses the size of a buffer
    }
  }

  protected cancel(): void {
    if (this.socket !== null) abandon(this.socket)
  }

  override discard(socket: UdpSocket): void {
    socket.destroy()
  }

  describe(): string {
    const { address, port, peer } = this.plan
    return `udp(${place(address, port)}${peer === undefined ? '' : ` to ${place(peer.address, peer.port)}`})`
  }
  override get kind(): string {
    return 'bind'
  }
}

/** Closes a socket that no fiber will get, and ignores its errors. */
function abandon(socket: Socket): void {
  socket.removeAllListeners().on('error', () => {})
  socket.close()
}

/** Node looks up addresses too, in the thread pool, which takes a turn of the event loop each. */
function known(address: string, _: unknown, done: (error: null, address: string, family: number) => void) {
  done(null, address, isIP(address))
}

function adjust(socket: Socket, { broadcast, ttl, multicast = {} }: Plan): void {
  if (broadcast !== undefined) socket.setBroadcast(broadcast)
  if (ttl !== undefined) socket.setTTL(ttl)
  if (multicast.interface !== undefined) socket.setMulticastInterface(multicast.interface)
  if (multicast.ttl !== undefined) socket.setMulticastTTL(multicast.ttl)
  if (multicast.loopback !== undefined) socket.setMulticastLoopback(multicast.loopback)
}

function place(address: string, port: number): string {
  return isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`
}

// ---- the waits

/** The answer of a `recvLoop` that waits when the socket is closed. */
const OVER = Symbol('over')

class Recv extends IdleOp<any> {
  constructor(
    private readonly socket: UdpSocket,
    /** Whether the end of the socket is an answer, and not an error. */
    readonly endsQuietly: boolean,
  ) {
    super()
  }
  enter(fiber: Fiber): void {
    this.socket.receive(fiber, this)
  }
  abort(fiber: Fiber): void {
    this.socket.line.leave(fiber)
  }
  /** The op was iterated by hand when it had a datagram (S69). */
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

/** A wait for the system. */
abstract class SystemCall extends OutsideOp<void> {
  constructor(
    protected readonly socket: UdpSocket,
    private readonly verb: 'send' | 'close',
  ) {
    super()
  }
  describe(): string {
    return `${this.socket.name}.${this.verb}()`
  }
  override get kind(): string {
    return this.verb === 'send' ? 'write' : 'close'
  }
  override get resource(): object {
    return this.socket
  }
}

/** The system reads the bytes until it has taken them, so a fiber that is stopped waits for that (S35). */
class Send extends SystemCall {
  constructor(
    socket: UdpSocket,
    readonly data: Uint8Array,
    readonly to: Peer | undefined,
  ) {
    super(socket, 'send')
  }
  protected start(attempt: Attempt<void>): void {
    this.socket.transmit(attempt, this)
  }
  protected cancel(): typeof LATER {
    return LATER
  }
}

/** Closes a socket in order. A fiber that cannot wait for that, or is stopped while it waits, closes it at once. */
class Close extends SystemCall {
  /** A pending signal, or a fiber that is forced to end (S19), keeps the op from being entered: the socket is closed all the same. */
  override next(): IteratorResult<Switchpoint, void> {
    const fiber = runningFiber()
    try {
      return super.next()
    } finally {
      if (fiber !== null && !this.socket.isClosed) this.socket.destroy()
    }
  }
  protected start(attempt: Attempt<void>): void {
    this.socket.beginClose(attempt)
  }
  protected cancel(): void {
    this.socket.destroy()
  }
}

// ---- the socket

/**
 * A socket for datagrams. Made by `udp`.
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
  /** The family of its address. */
  readonly family: 'IPv4' | 'IPv6'
  /** Its name in messages: `udp 127.0.0.1:5353`. */
  readonly name: string
  /** @internal Fibers in `recv` and `recvLoop`. */
  readonly line = new OutsideWaiters<Recv>(true)
  private readonly closing = new Set<Attempt<void>>()
  private readonly sending = new Set<Attempt<void>>()
  private readonly recvOp: Recv
  private readonly nextOp: Recv
  private unread = new Ring<Datagram>()
  /** An error that came while no fiber was in `recv`: the next `recv` throws it, as in the system's own interface. */
  private failure: IOError | null = null
  private phase: 'open' | 'closing' | 'closed' = 'open'
  /** Removes the cleanup of its owner. */
  private disown: (() => void) | null = null
  /** Why it is closed, if its owner did that. */
  private closedBy: string | null = null
  private readonly counts = { received: 0, dropped: 0, sent: 0, errors: 0 }

  /** @internal The socket of Node must be bound. */
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
    this.name = `udp ${place(address, port)}`
    this.recvOp = new Recv(this, false).droppable()
    this.nextOp = new Recv(this, true).droppable()
    socket.unref()
    socket.on('message', this.arrived)
    socket.on('error', this.failed)
  }

  // ---- receiving

  /**
   * The next datagram. Waits until there is one; fibers are served in the order in which they began to wait. A datagram is new
   * work, so a fiber that is being stopped cannot wait for one (S17). Throws `StreamClosed` if the socket is closed meanwhile.
   */
  recv(): Op<Datagram> {
    return this.recvOp.handOut()
  }

  /** The next datagram if there is one, else undefined. Never waits. */
  tryRecv(): Datagram | undefined {
    return this.unread.size > 0 ? this.unread.shift() : undefined
  }

  /**
   * Runs a body for each datagram, one after the other; ends when the body returns false, or when the socket is closed.
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
    const where = `${this.name}.recvLoop()`
    check.body(body, where)
    return op(where, () => this.receiving(body as (datagram: Datagram) => Op<unknown>))
  }

  private *receiving(body: (datagram: Datagram) => Op<unknown>): Routine<void> {
    for (;;) {
      const datagram: Datagram | typeof OVER = yield* this.nextOp.handOut()
      if (datagram === OVER || (yield* runBody(body, datagram)) === false) return
    }
  }

  // ---- sending

  /**
   * Sends a datagram: to a port of a host (default: this machine), to the sender of another datagram, or, on a connected
   * socket, to its other end. The wait is over when the system has the datagram; UDP does not tell whether it arrives.
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
    if (typeof data !== 'string' && !(data instanceof Uint8Array)) {
      throw new BadArgument(`${this.name}.send() needs a string or bytes, got ${show(data)}`)
    }
    const bytes = typeof data === 'string' ? Buffer.from(data) : data
    const { remote, name, family } = this
    if (remote !== undefined) {
      if (to === undefined && host === undefined) return new Send(this, bytes, undefined)
      throw new BadArgument(
        `${name} is connected to ${place(remote.address, remote.port)}: send(data) takes no destination`,
      )
    }
    const { port, host: target } = this.destination(to, host)
    const version = isIP(target)
    if (version === 0) return op(`${name}.send()`, () => this.sendByName(bytes, port, target))
    if (family === `IPv${version}`) return new Send(this, bytes, { address: target, port })
    throw new BadArgument(
      `${name} is a socket for ${family}, it cannot send to ${target}. Open one with udp({ type: 'udp${version}' })`,
    )
  }

  private destination(to: unknown, host: string | undefined): { port: number; host: string } {
    if (to === undefined || to === null) {
      throw new BadArgument(
        `${this.name} is not connected: give send(data, port, host) a destination, or open it with udp({ connect: { host, port } })`,
      )
    }
    const given = (typeof to === 'object' ? to : { port: to, host }) as Record<string, unknown>
    const target = given.host ?? given.address ?? (this.family === 'IPv4' ? '127.0.0.1' : '::1')
    const where = `${this.name}.send()`
    return { port: checkPort(given.port, where, 1), host: checkHost(target, where) }
  }

  private *sendByName(data: Uint8Array, port: number, host: string): Routine<void> {
    const { address } = yield* lookup(host, { family: this.family === 'IPv4' ? 4 : 6 })
    yield* new Send(this, data, { address, port })
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

  /** Stops receiving what is sent to the group. */
  leaveGroup(group: string, options: GroupOptions = {}): void {
    this.changeGroup('leave', group, options)
  }

  private changeGroup(verb: 'join' | 'leave', group: string, options: GroupOptions): void {
    const where = `${this.name}.${verb}Group()`
    checkHost(group, where)
    const { source, interface: face } = check.options(
      options,
      { interface: checkHost, source: checkHost },
      where,
    )
    if (this.isClosed) throw this.closedError(`${verb}Group`)
    const { socket } = this
    try {
      if (source === undefined) socket[verb === 'join' ? 'addMembership' : 'dropMembership'](group, face)
      else if (verb === 'join') socket.addSourceSpecificMembership(source, group, face)
      else socket.dropSourceSpecificMembership(source, group, face)
    } catch (error) {
      throw ioError(error, `${this.name}.${verb}Group(${group})`)
    }
  }

  // ---- closing

  /**
   * Closes it when the system has all datagrams that are being sent. Fibers in `recv` get `StreamClosed`, a `recvLoop` ends, unread
   * datagrams are dropped. If the wait is stopped, the socket is closed at once. Closing it again has no effect.
   */
  close(): Op<void> {
    return new Close(this, 'close')
  }

  /** Closes at once: datagrams that are being sent may be lost, and the fibers that send them get `StreamClosed`. Never waits. */
  destroy(): void {
    this.endRecv()
    if (this.phase === 'closed') return
    this.phase = 'closed'
    this.disown?.()
    this.socket.close()
    for (const attempt of this.sending) attempt.fail(this.closedError('send')) // Node answers some of them, not all
    this.sending.clear()
    for (const attempt of this.closing) attempt.settle()
    this.closing.clear()
  }

  /** Whether it is closed, or closing. */
  get isClosed(): boolean {
    return this.phase !== 'open'
  }

  /** Closes it: for `using`. */
  [Symbol.dispose](): void {
    this.destroy()
  }

  /** Closes it: for `use` and `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.destroy()
  }

  /** Its counters. */
  stats(): UdpStats {
    return {
      ...this.counts,
      unread: this.unread.size,
      capacity: this.capacity,
      sending: this.sending.size,
      waiting: this.line.size,
      closed: this.isClosed,
    }
  }

  // ---- for the ops

  /** @internal The innermost scope of the fiber, or else the fiber, closes it at its end. */
  ownedBy(fiber: Fiber): void {
    const close = (): Op<void> => {
      this.closedBy = closedByOwner()
      return this.close()
    }
    this.disown = addCleanup(fiber, close, this)
  }

  /** @internal Answers the op, or puts its fiber in line. */
  receive(fiber: Fiber, op: Recv): void {
    const { failure } = this
    if (this.isClosed) {
      if (!op.endsQuietly || this.closedBy !== null) throw this.closedError('recv')
      settle(fiber, op, OVER)
    } else if (failure !== null) {
      this.failure = null
      throw failure
    } else if (this.unread.size > 0) settle(fiber, op, this.unread.shift())
    else this.line.join(fiber, op)
  }

  /** @internal */
  putBack(datagram: Datagram): void {
    if (!this.isClosed && !this.line.handOver(datagram)) this.unread.unshift(datagram)
  }

  /** @internal */
  transmit(attempt: Attempt<void>, { data, to }: Send): void {
    if (this.isClosed) throw this.closedError('send')
    const done = (error: Error | null) => {
      this.sending.delete(attempt)
      if (error) attempt.fail(ioError(error, `${this.name}.send() of ${counted(data.length, 'byte')}`))
      else {
        this.counts.sent++
        attempt.settle()
      }
      if (this.sending.size === 0 && this.phase === 'closing') this.destroy()
    }
    if (to === undefined) this.socket.send(data, done)
    else this.socket.send(data, to.port, to.address, done)
    this.sending.add(attempt) // Node never calls back before it returns
  }

  /** @internal Answers when it is closed. */
  beginClose(attempt: Attempt<void>): void {
    this.endRecv()
    if (this.sending.size === 0) this.destroy()
    if (this.phase === 'closed') attempt.settle()
    else this.closing.add(attempt)
  }

  /** Ends receiving; sends in progress go on. */
  private endRecv(): void {
    if (this.phase !== 'open') return
    this.phase = 'closing'
    this.unread = new Ring()
    for (let waiter = this.line.first; waiter !== null; waiter = this.line.first) {
      if (waiter.item.endsQuietly) this.line.handOver(OVER)
      else this.line.refuse(this.closedError('recv'))
    }
  }

  private readonly arrived = (data: Buffer, { address, port, family }: RemoteInfo): void => {
    if (this.phase !== 'open') return
    const datagram: Datagram = { data, address, port, family }
    if (!this.line.handOver(datagram)) {
      if (this.unread.size >= this.capacity) {
        this.counts.dropped++
        return
      }
      this.unread.push(datagram)
    }
    this.counts.received++
  }

  private readonly failed = (error: Error): void => {
    this.counts.errors++
    const failure = ioError(error, `${this.name}.recv()`)
    if (!this.line.refuse(failure)) this.failure = failure
  }

  private closedError(verb: string): StreamClosed {
    return new StreamClosed(`${this.name}.${verb}() failed: ${this.closedBy ?? 'the socket is closed'}`)
  }
}
