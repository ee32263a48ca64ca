// What connect and listen may both be told, and the checks of it.

import { BadArgument, check, show } from '../core/index.js'

/** How a connection is to behave. */
export interface SocketOptions {
  /** Whether small packets are sent at once; default true. */
  noDelay?: boolean
  /** Whether the system looks now and then if the other side is still there; true, or after how many milliseconds of silence. */
  keepAlive?: boolean | number
}

interface Waiter {
  host?: string | undefined
  port?: number | undefined
  path?: string | undefined
}

/** In the words of Node. */
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

/** What people write who know `net.connect(8080)`. */
export function checkNoPort(options: unknown, what: string): void {
  if (typeof options !== 'number') return
  throw new BadArgument(`${what}() needs an object of options: ${what}({ port: ${options} })`)
}

export function checkSocketOptions(
  { host, port, path, noDelay, keepAlive }: SocketOptions & Waiter,
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
  if (typeof keepAlive === 'number') check.ms(keepAlive, `keepAlive of ${where}`)
  else checkFlag(keepAlive, `keepAlive of ${where}`)
}

/** The system has so much room for the path of a Unix socket. Older versions of Node cut what is longer, without a word. */
const LONGEST_PATH = process.platform === 'win32' ? Infinity : process.platform === 'linux' ? 107 : 103

function checkLength(path: string | undefined, what: string): void {
  const length = path === undefined ? 0 : Buffer.byteLength(path)
  if (length <= LONGEST_PATH) return
  throw new BadArgument(`${what} has ${length} bytes, but a Unix socket can have ${LONGEST_PATH}: ${path}`)
}

export function checkFlag(value: unknown, what: string): void {
  if (value === undefined || typeof value === 'boolean') return
  throw new BadArgument(`${what} must be true or false, got ${show(value)}`)
}

function checkText(value: unknown, what: string): void {
  if (value === undefined || (typeof value === 'string' && value !== '' && !value.includes('\0'))) return
  throw new BadArgument(`${what} must be a string that is not empty, got ${show(value)}`)
}
