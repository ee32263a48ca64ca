// listen: makes a server that listens. A server that is ready after its fiber has left is closed (S35).

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
} from '../../core/index.js'
import { checkCount, checkFlag } from '../checks.js'
import { IOError, ioError } from '../errors.js'
import { checkServerTls, type TlsServerOptions } from '../tls/options.js'
import { Handshakes, TlsServer } from '../tls/server.js'
import { connect } from './connect.js'
import { checkNoPort, checkSocketOptions, type SocketOptions, socketSettings, whereOf } from './options.js'
import { Server } from './server.js'
import { acceptConnections } from './wire.js'

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
  /** How many connections may be open at once in `acceptLoop`; more wait in the backlog. */
  maxConnections?: number
  /** Whether several processes may listen on the same port, which then share the connections; needs Node 22.12 and Linux or BSD. */
  reusePort?: boolean
  /** In a worker of `node:cluster`: whether the port is its own, not shared with the others. */
  exclusive?: boolean
  /** Whether connections by IPv4 are refused when it listens on all addresses of IPv6. */
  ipv6Only?: boolean
  /** The permissions of the file of a Unix socket, such as 0o660. */
  mode?: number
  /** Whether the file of a Unix socket that a killed program has left, so that no process listens on it, is removed. */
  removeStale?: boolean
  /** Certificate, key and more: the server speaks TLS. */
  tls?: TlsServerOptions
  /** The protocols that the server speaks, the best first: the first that a client offers is taken. */
  alpn?: readonly string[]
  /** Whether it goes on listening when the scope or fiber that opened it is over: the caller closes it. Default false. */
  detached?: boolean
}

class Listen extends OutsideOp<Server> {
  private node: NetServer | null = null

  constructor(private readonly options: ListenOptions) {
    super()
  }

  protected start(attempt: Attempt<Server>): void {
    const { runtime } = attempt.fiber
    const {
      maxConnections = Infinity,
      backlog = BACKLOG,
      mode,
      path,
      tls,
      alpn,
      detached = false,
    } = this.options
    const shaking = tls === undefined ? null : new Handshakes(tls, alpn, runtime, this.describe())
    const node = createServer({ pauseOnConnect: true, ...socketSettings(this.options) })
    let server: Server | null = null
    node.on('error', (error) => {
      if (server !== null) server.acceptFailed(error)
      else attempt.fail(refusal(error, this.describe(), path))
    })
    node.once('listening', () => {
      if (this.node !== node) {
        node.close() // it was closed while a name was looked up: older versions of Node listen all the same
        return
      }
      const parts = [runtime, node, this.options, maxConnections, backlog] as const
      server = shaking === null ? new Server(...parts) : new TlsServer(shaking, ...parts)
      acceptConnections(node, server, shaking === null)
      if (!detached && attempt.isOpen) server.ownedBy(attempt.fiber)
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

/** The error of a listen, with advice where there is some. */
function refusal(error: Error, what: string, path: string | undefined): IOError {
  const failed = ioError(error, what)
  const advice = adviceOn(failed.code, path)
  return advice === undefined ? failed : new IOError(`${failed.message}. ${advice}`, error)
}

function adviceOn(code: string, path: string | undefined): string | undefined {
  if (code === 'EADDRINUSE') {
    return path === undefined
      ? 'A process listens there already: choose another port, or 0 for any that is free.'
      : 'A process listens there already, or the file was left by a program that was killed: then remove it, or listen with removeStale: true.'
  }
  const folder = path === undefined ? '/' : dirname(path)
  return existsSync(folder) ? undefined : `There is no folder ${folder}.` // Node's code for that is EACCES
}

/** Listens; if the file of a socket is in the way on which no process listens, removes it first. */
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
  'readAhead',
  'closeTimeout',
  'reusePort',
  'exclusive',
  'ipv6Only',
  'mode',
  'removeStale',
  'tls',
  'alpn',
  'detached',
]

/**
 * Listens on a TCP port or a Unix socket; goes on when it listens. The server belongs to the innermost `scope`, or else to the
 * fiber, that opened it, and is closed with it, unless it is `detached`.
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
  for (const key of ['reusePort', 'exclusive', 'ipv6Only', 'removeStale', 'detached'] as const) {
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
