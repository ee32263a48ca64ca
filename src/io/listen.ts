// listen: a server that listens. One that is ready when its fiber has left is closed (S35).

import { chmodSync, existsSync, lstatSync, unlinkSync } from 'node:fs'
import { createServer, type Server as NetServer } from 'node:net'
import { dirname } from 'node:path'
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
import { checkCount } from './checks.js'
import { connect } from './connect.js'
import { IOError, ioError } from './errors.js'
import { Server } from './server.js'
import {
  checkFlag,
  checkNoPort,
  checkSocketOptions,
  type SocketOptions,
  socketSettings,
  whereOf,
} from './socketoptions.js'
import { Handshakes } from './tlshandshakes.js'
import { checkServerTls, type TlsServerOptions } from './tlsoptions.js'
import { TlsServer } from './tlsserver.js'

/** How many connections may wait to be accepted, unless told otherwise. */
const BACKLOG = 1024

/** Where to listen, and how. */
export interface ListenOptions extends SocketOptions {
  /** Default 0: any port that is free. */
  port?: number
  /** The address to listen on; default: all of them. */
  host?: string
  /** The path of a Unix socket, instead of host and port. Its file is removed when the server is closed. */
  path?: string
  /** How many connections may wait to be accepted; default 1,024. The system may allow fewer. */
  backlog?: number
  /** How many may be open at once in `acceptLoop`; more wait in the backlog. */
  maxConnections?: number
  /** Whether several processes may listen on the same port, which then share the connections; needs Node 22.12 and Linux or BSD. */
  reusePort?: boolean
  /** In a worker of `node:cluster`: whether the port is its own, not shared with the others. */
  exclusive?: boolean
  /** Whether connections by IPv4 are refused when it listens on all addresses of IPv6. */
  ipv6Only?: boolean
  /** The permissions of the file of a Unix socket, such as 0o660. */
  mode?: number
  /** Whether the file of a Unix socket on which nobody listens any more, left by a program that was killed, is removed. */
  removeStale?: boolean
  /** Certificate, key and more: the server speaks TLS. */
  tls?: TlsServerOptions
  /** The protocols that the server speaks, the best first: the first that a client offers is taken. */
  alpn?: readonly string[]
}

class Listen extends OutsideOp<Server> {
  private node: NetServer | null = null

  constructor(private readonly options: ListenOptions) {
    super()
  }

  protected start(attempt: Attempt<Server>): void {
    const { runtime } = attempt.fiber
    const { maxConnections = Infinity, backlog = BACKLOG, mode, path, tls, alpn } = this.options
    const shaking = tls === undefined ? null : new Handshakes(tls, alpn, runtime, this.describe())
    const node = createServer({ pauseOnConnect: true, ...socketSettings(this.options) })
    let server: Server | null = null
    node.on('connection', (socket) => server?.connected(socket))
    node.on('error', (error) => {
      if (server !== null) server.acceptFailed(error)
      else attempt.fail(refusal(error, this.describe(), path))
    })
    node.once('listening', () => {
      if (this.node !== node) {
        node.close() // it was looking up a name when it was told to close, which older versions of Node forget
        return
      }
      const parts = [runtime, node, maxConnections, backlog] as const
      server = shaking === null ? new Server(...parts) : new TlsServer(shaking, ...parts)
      attempt.settle(server)
    })
    node.unref() // it holds the process only while a fiber waits for it
    try {
      node.listen(this.target(backlog))
      if (mode !== undefined && node.listening) chmodSync(path as string, mode)
    } catch (error) {
      node.close()
      throw ioError(error, this.describe())
    }
    this.node = node
  }

  private target(backlog: number): object {
    const { port = 0, host, path, reusePort, exclusive = false, ipv6Only = false } = this.options
    if (path !== undefined) return { path, backlog, exclusive }
    return {
      port,
      backlog,
      exclusive,
      ipv6Only,
      ...(host === undefined ? {} : { host }),
      ...(reusePort === undefined ? {} : { reusePort }),
    }
  }

  protected cancel(): void {
    this.node?.close()
  }

  protected override over(): void {
    this.node = null
  }

  override discard(server: Server): void {
    server.destroy()
  }

  describe(): string {
    return `listen(${whereOf(this.options)})`
  }
  override get kind(): string {
    return 'listen'
  }
}

/** With what to do about it, where that can be said. */
function refusal(error: Error, what: string, path: string | undefined): IOError {
  const failed = ioError(error, what)
  const advice = adviceOn(failed.code, path)
  return advice === undefined ? failed : new IOError(`${failed.message}. ${advice}`, error)
}

function adviceOn(code: string, path: string | undefined): string | undefined {
  if (code === 'EADDRINUSE') {
    return path === undefined
      ? 'Somebody listens there already: choose another port, or 0 for any that is free.'
      : 'Somebody listens there already, or the file was left by a program that was killed: then remove it, or listen with removeStale: true.'
  }
  const folder = path === undefined ? '/' : dirname(path)
  return existsSync(folder) ? undefined : `There is no folder ${folder}.` // for which Node says EACCES
}

/** Listens; if a file is in the way that nobody listens on, removes it and listens then. */
function* listenAnew(options: ListenOptions): Routine<Server> {
  try {
    return yield* new Listen(options)
  } catch (error) {
    const path = options.path as string
    if (!(error instanceof IOError && error.code === 'EADDRINUSE' && (yield* isStale(path)))) throw error
    unlinkSync(path)
  }
  return yield* new Listen(options)
}

function* isStale(path: string): Routine<boolean> {
  if (!lstatSync(path, { throwIfNoEntry: false })?.isSocket()) return false
  try {
    const socket = yield* connect({ path })
    socket.destroy()
    return false
  } catch (error) {
    if (error instanceof IOError) return error.code === 'ECONNREFUSED'
    throw error
  }
}

const OPTIONS = [
  'port',
  'host',
  'path',
  'backlog',
  'maxConnections',
  'noDelay',
  'keepAlive',
  'reusePort',
  'exclusive',
  'ipv6Only',
  'mode',
  'removeStale',
  'tls',
  'alpn',
]

/**
 * Listens on a TCP port or a Unix socket; goes on when it listens.
 *
 * ```ts
 * const server = yield* listen({ port: 0 })
 * spin(() => server.acceptLoop((socket) => socket.readLoop((chunk) => socket.write(chunk))))
 * const socket = yield* connect({ port: server.port })
 * yield* socket.end('echo\n')
 * console.log(yield* socket.gets()) // echo
 * yield* server.close()
 * ```
 */
export function listen(options: ListenOptions & { tls: TlsServerOptions }): Op<TlsServer>
export function listen(options?: ListenOptions): Op<Server>
export function listen(options: ListenOptions = {}): Op<Server> {
  checkNoPort(options, 'listen')
  check.options(options, OPTIONS, 'listen()')
  checkSocketOptions(options, 0, 'listen()')
  const { path, backlog, maxConnections, mode, removeStale, reusePort } = options
  if (backlog !== undefined) checkCount(backlog, 1, 'the backlog of listen()')
  if (maxConnections !== undefined && maxConnections !== Infinity)
    checkCount(maxConnections, 1, 'maxConnections of listen()')
  for (const key of ['reusePort', 'exclusive', 'ipv6Only', 'removeStale'] as const) {
    checkFlag(options[key], `${key} of listen()`)
  }
  if (mode !== undefined && !(Number.isInteger(mode) && mode >= 0 && mode <= 0o777)) {
    throw new BadArgument(`the mode of listen() must be from 0 to 0o777, got ${show(mode)}`)
  }
  for (const key of ['mode', 'removeStale'] as const) {
    if (options[key] !== undefined && path === undefined) {
      throw new BadArgument(`listen() has ${key} for Unix sockets only; it needs a path`)
    }
  }
  if (reusePort === true && !canReusePort) {
    throw new BadArgument(`listen({ reusePort: true }) needs Node 22.12 or later, this is ${process.version}`)
  }
  checkServerTls(options.tls, options.alpn, 'listen()')
  const own = { ...options }
  return removeStale === true ? op(`listen(${path})`, () => listenAnew(own)) : new Listen(own)
}

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const canReusePort = major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12)
