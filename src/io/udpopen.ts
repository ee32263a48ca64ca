// Opening a UDP socket: names are looked up first, where a fiber can leave at once; then one op binds and connects. If the
// fiber leaves meanwhile, the socket is closed there and then, so nothing arrives late (S35).

import { createSocket, type Socket, type SocketOptions } from 'node:dgram'
import { isIP, isIPv6 } from 'node:net'
import {
  type Attempt,
  BadArgument,
  check,
  type Op,
  OutsideOp,
  op,
  type Routine,
  show,
} from '../core/index.js'
import { ioError } from './errors.js'
import { checkHost, checkPort, lookup } from './lookup.js'
import { UdpSocket } from './udp.js'

/** How a UDP socket is opened. */
export interface UdpOptions {
  /** The address to receive on, or its name; default: every one of this machine. */
  host?: string
  /** The port to receive on; default 0: the system chooses one that is free. */
  port?: number
  /** The kind of addresses; default: that of `host` or of the other end, else `'udp4'`. */
  type?: 'udp4' | 'udp6'
  /** The other end: `send` sends there, and only what comes from there is received. */
  connect?: { host: string; port: number }
  /** Several sockets may have the same port, to receive what is sent to a group. */
  reuseAddr?: boolean
  /** Several sockets share a port, and each datagram goes to one of them. Needs Node 22.12. */
  reusePort?: boolean
  /** With `udp6`: does not receive from IPv4 addresses. */
  ipv6Only?: boolean
  /** May send to every host of a network. */
  broadcast?: boolean
  /** How many networks a datagram may cross; default: what the system says, mostly 64. */
  ttl?: number
  /** Sending to groups. */
  multicast?: { interface?: string; ttl?: number; loopback?: boolean }
  /** How many bytes the system keeps before it drops datagrams. */
  recvBufferSize?: number
  /** How many bytes the system takes before `send` waits. */
  sendBufferSize?: number
  /** How many datagrams may be unread; what comes then is dropped, and counted in `stats()`. Default 1024. */
  capacity?: number
}

const OPTIONS = [
  'host',
  'port',
  'type',
  'connect',
  'reuseAddr',
  'reusePort',
  'ipv6Only',
  'broadcast',
  'ttl',
  'multicast',
  'recvBufferSize',
  'sendBufferSize',
  'capacity',
]
const SWITCHES = ['reuseAddr', 'reusePort', 'ipv6Only', 'broadcast'] as const
const DEFAULT_CAPACITY = 1024

/** What `udp` was given, checked, with names turned into addresses. */
interface Plan extends UdpOptions {
  type: 'udp4' | 'udp6'
  address: string
  port: number
  peer: { address: string; port: number } | undefined
}

class Bind extends OutsideOp<UdpSocket> {
  private socket: Socket | null = null

  constructor(private readonly plan: Plan) {
    super()
  }

  protected start(attempt: Attempt<UdpSocket>): void {
    const { plan } = this
    const { type, reuseAddr, reusePort, ipv6Only, recvBufferSize, sendBufferSize } = plan
    const options = { type, reuseAddr, reusePort, ipv6Only, recvBufferSize, sendBufferSize, lookup: known }
    const socket = createSocket(options as SocketOptions)
    this.socket = socket
    const refused = (error: unknown) => {
      letGo(socket)
      attempt.fail(ioError(error, `${this.describe()} in ${attempt.fiber.path}`))
    }
    const ready = () => {
      socket.removeAllListeners()
      attempt.settle(new UdpSocket(socket, plan.capacity ?? DEFAULT_CAPACITY, plan.peer))
    }
    socket.on('error', refused)
    try {
      socket.bind({ port: plan.port, address: plan.address }, () => {
        try {
          adjust(socket, plan)
          if (plan.peer === undefined) ready()
          else
            socket.connect(plan.peer.port, plan.peer.address, (error?: unknown) =>
              error ? refused(error) : ready(),
            )
        } catch (error) {
          refused(error)
        }
      })
    } catch (error) {
      refused(error) // a size of a buffer that the system does not like
    }
  }

  protected cancel(): void {
    if (this.socket !== null) letGo(this.socket)
  }

  describe(): string {
    const { address, port, peer } = this.plan
    return `udp(${address}:${port}${peer === undefined ? '' : ` to ${peer.address}:${peer.port}`})`
  }
  override get kind(): string {
    return 'bind'
  }
}

/** Closes what nobody will have. What it may still say is nobody's. */
function letGo(socket: Socket): void {
  socket.removeAllListeners().on('error', () => {})
  socket.close()
}

type KnownCallback = (error: null, address: string, family: number) => void

/** Node looks up every address, known ones too, which would cost a turn each. Ours are known. */
function known(address: string, _family: unknown, callback: KnownCallback): void {
  callback(null, address, isIP(address))
}

function adjust(socket: Socket, { broadcast, ttl, multicast = {} }: Plan): void {
  if (broadcast !== undefined) socket.setBroadcast(broadcast)
  if (ttl !== undefined) socket.setTTL(ttl)
  if (multicast.interface !== undefined) socket.setMulticastInterface(multicast.interface)
  if (multicast.ttl !== undefined) socket.setMulticastTTL(multicast.ttl)
  if (multicast.loopback !== undefined) socket.setMulticastLoopback(multicast.loopback)
}

/**
 * Opens a UDP socket; it is bound when the wait is over. Throws `IOError` if the system refuses: `EADDRINUSE`, `EACCES`,
 * `EADDRNOTAVAIL`, `ENOTFOUND`.
 *
 * ```ts
 * const socket = yield* use(yield* udp({ host: '127.0.0.1' })) // closed when this fiber is over
 * yield* socket.send('to myself', socket.port)
 * const { data, address } = yield* socket.recv()
 * console.log(String(data), address) // to myself 127.0.0.1
 * ```
 *
 * An open socket does not hold the process; a fiber that waits in `recv` or `send` does (S64). Nothing else can be
 * told to wait when datagrams come faster than they are taken: those beyond `capacity` are dropped.
 */
export function udp(options: UdpOptions = {}): Op<UdpSocket> {
  checkUdpOptions(options)
  return op('udp()', () => opening({ ...options }))
}

function* opening(options: UdpOptions): Routine<UdpSocket> {
  const { connect, host } = options
  const type = options.type ?? (isIPv6(host ?? connect?.host ?? '') ? 'udp6' : 'udp4')
  const family = type === 'udp6' ? 6 : 4
  const address = host === undefined ? ANY[type] : (yield* lookup(host, { family })).address
  const peer =
    connect === undefined
      ? undefined
      : { address: (yield* lookup(connect.host, { family })).address, port: connect.port }
  return yield* new Bind({ ...options, type, address, port: options.port ?? 0, peer })
}

const ANY = { udp4: '0.0.0.0', udp6: '::' }

// ---- checks

function checkUdpOptions(options: UdpOptions): void {
  const { host, port, type, connect, multicast } = check.options(options, OPTIONS, 'udp()')
  if (host !== undefined) checkHost(host, 'udp()')
  if (port !== undefined) checkPort(port, 'udp()', 0)
  if (type !== undefined && type !== 'udp4' && type !== 'udp6') {
    throw new BadArgument(`the type of udp() is 'udp4' or 'udp6', got ${show(type)}`)
  }
  if (connect !== undefined) {
    check.options(connect, ['host', 'port'], 'connect of udp()')
    checkHost(connect.host, 'connect of udp()')
    checkPort(connect.port, 'connect of udp()', 1)
  }
  for (const name of SWITCHES) checkSwitch(options[name], `${name} of udp()`)
  if (options.reusePort === true && !canReusePort()) {
    throw new BadArgument(`reusePort of udp() needs Node 22.12 or newer, this is ${process.version}`)
  }
  checkNumber(options.ttl, 1, 255, 'the ttl of udp()')
  if (multicast !== undefined) {
    check.options(multicast, ['interface', 'ttl', 'loopback'], 'multicast of udp()')
    if (multicast.interface !== undefined)
      checkHost(multicast.interface, 'the interface of multicast of udp()')
    checkNumber(multicast.ttl, 0, 255, 'the ttl of multicast of udp()')
    checkSwitch(multicast.loopback, 'loopback of multicast of udp()')
  }
  for (const name of ['recvBufferSize', 'sendBufferSize'] as const) {
    checkNumber(options[name], 1, 2 ** 31 - 1, `the ${name} of udp()`)
  }
  if (options.capacity !== Infinity) {
    checkNumber(options.capacity, 1, Number.MAX_SAFE_INTEGER, 'the capacity of udp()')
  }
}

function checkSwitch(value: unknown, what: string): void {
  if (value === undefined || typeof value === 'boolean') return
  throw new BadArgument(`${what} is true or false, got ${show(value)}`)
}

function checkNumber(value: unknown, least: number, most: number, what: string): void {
  if (value === undefined) return
  if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most) return
  throw new BadArgument(`${what} is a whole number from ${least} to ${most}, got ${show(value)}`)
}

/** Older ones ignore the option without a word. */
function canReusePort(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  return major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12)
}
