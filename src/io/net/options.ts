// The options that connect and listen have in common, and their checks.

import { BadArgument, check, show } from '../../core/index.js'
import { checkCount, checkFlag, checkText } from '../checks.js'

/** Options of a connection. */
export interface SocketOptions {
  /** Whether small packets are sent at once; default true. */
  noDelay?: boolean
  /** Whether the system sends probes to find out if the other side is still there; a number: after so many milliseconds of silence. */
  keepAlive?: boolean | number
  /** How many bytes may arrive ahead of the fibers that read, for each connection; default 65,536. */
  readAhead?: number
  /** How many milliseconds `close` may take to send what was written; then the connection is cut, and `close` throws
   * `TimedOut`. Default 10,000; `Infinity`: as long as the other side takes. */
  closeTimeout?: number
}

/** Settings that all sockets of a server share. */
export interface ChannelSettings {
  /** The path of a Unix socket. */
  readonly path: string | undefined
  readonly readAhead: number
  readonly closeTimeout: number
}

/** How many bytes a socket holds unread before it stops reading, unless told otherwise. */
const READ_AHEAD = 64 * 1024
/** How long the close of a socket may take, unless told otherwise. */
const CLOSE_TIMEOUT = 10_000

export function channelSettings({
  path,
  readAhead = READ_AHEAD,
  closeTimeout = CLOSE_TIMEOUT,
}: SocketOptions & { path?: string }): ChannelSettings {
  return { path, readAhead, closeTimeout }
}

interface Waiter {
  host?: string | undefined
  port?: number | undefined
  path?: string | undefined
}

/** The options as Node names them. */
export function socketSettings({ noDelay = true, keepAlive = false }: SocketOptions): object {
  return {
    allowHalfOpen: true,
    noDelay,
    keepAlive: keepAlive !== false,
    keepAliveInitialDelay: typeof keepAlive === 'number' ? keepAlive : 0,
  }
}

/** For messages: 'localhost:80', '[::1]:80', ':80', or the path. */
export function whereOf({ host = '', port = 0, path }: Waiter): string {
  return path ?? `${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Refuses a port as the only argument, as in `net.connect(8080)`. */
export function checkNoPort(options: unknown, what: string): void {
  if (typeof options !== 'number') return
  throw new BadArgument(`${what}() needs an object of options: ${what}({ port: ${options} })`)
}

export function checkSocketOptions(
  { host, port, path, noDelay, keepAlive, readAhead, closeTimeout }: SocketOptions & Waiter,
  leastPort: number,
  where: string,
): void {
  checkText(host, `the host of ${where}`)
  if (host?.includes('/')) {
    throw new BadArgument(`the host of ${where} must be a name or an address and no URL, got ${show(host)}`)
  }
  checkText(path, `the path of ${where}`)
  checkLength(path, `the path of ${where}`)
  if (path !== undefined && (port !== undefined || host !== undefined)) {
    throw new BadArgument(`${where} needs either a path or a host and port, not both`)
  }
  if (port !== undefined && !(Number.isInteger(port) && port >= leastPort && port < 65536)) {
    throw new BadArgument(
      `the port of ${where} must be a whole number from ${leastPort} to 65535, got ${show(port)}`,
    )
  }
  checkFlag(noDelay, `noDelay of ${where}`)
  if (readAhead !== undefined) checkCount(readAhead, 1, `readAhead of ${where}`)
  if (closeTimeout !== undefined) check.timeLimit(closeTimeout, `closeTimeout of ${where}`)
  if (typeof keepAlive === 'number') check.ms(keepAlive, `keepAlive of ${where}`)
  else checkFlag(keepAlive, `keepAlive of ${where}`)
}

/** The longest path of a Unix socket that the system takes, in bytes. Older versions of Node cut a longer one silently. */
const LONGEST_PATH = process.platform === 'win32' ? Infinity : process.platform === 'linux' ? 107 : 103

function checkLength(path: string | undefined, what: string): void {
  const length = path === undefined ? 0 : Buffer.byteLength(path)
  if (length <= LONGEST_PATH) return
  throw new BadArgument(`${what} has ${length} bytes, but a Unix socket can have ${LONGEST_PATH}: ${path}`)
}
