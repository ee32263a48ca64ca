// Checks of arguments that several folders of io share. `what` and `where` name the argument or the call in the message.

import { fileURLToPath } from 'node:url'
import { BadArgument, type Check, check, show } from '../core/index.js'

/** A whole number, `least` or more. */
export function checkCount(count: unknown, least: number, what: string | (() => string)): number {
  if (Number.isSafeInteger(count) && (count as number) >= least) return count as number
  throw new BadArgument(
    `${typeof what === 'string' ? what : what()} needs a whole number, ${least} or more, got ${show(count)}`,
  )
}

/** Makes a check of a whole number in a range, both ends included. */
export function wholeFrom(least: number, most: number): Check {
  return (given, what) => {
    if (Number.isInteger(given) && given >= least && given <= most) return
    throw new BadArgument(`${what} needs a whole number from ${least} to ${most}, got ${show(given)}`)
  }
}

/** A path of a file, as a string or a file: URL. Returns it as a string. */
export function checkPath(path: unknown, where: string): string {
  if (path instanceof URL && path.protocol === 'file:') return fileURLToPath(path)
  if (typeof path === 'string' && !path.includes('\0')) return path
  throw new BadArgument(`${where} needs a path, or a file: URL, got ${show(path)}`)
}

/** Permissions of a new file. */
export function checkMode(mode: unknown, where: string): number {
  if (Number.isInteger(mode) && (mode as number) >= 0 && (mode as number) <= 0o7777) return mode as number
  throw new BadArgument(`${where} needs permissions from 0 to 0o7777, got ${show(mode)}`)
}

/** True, false, or left out. */
export function checkFlag(value: unknown, what: string): void {
  if (value === undefined || typeof value === 'boolean') return
  throw new BadArgument(`${what} must be true or false, got ${show(value)}`)
}

/** A string that is not empty and has no zero byte, or left out. */
export function checkText(value: unknown, what: string): void {
  if (value === undefined || (typeof value === 'string' && value !== '' && !value.includes('\0'))) return
  throw new BadArgument(`${what} must be a string that is not empty, got ${show(value)}`)
}

/** The name or the address of a host. */
export function checkHost(host: unknown, where: string): string {
  if (typeof host === 'string' && host !== '' && !host.includes('\0')) return host
  throw new BadArgument(`${where} needs a host, a name or an address, got ${show(host)}`)
}

/** A port; `least` is 0 where the system may choose one. */
export function checkPort(port: unknown, where: string, least: 0 | 1): number {
  if (Number.isInteger(port) && (port as number) >= least && (port as number) <= 65_535) return port as number
  throw new BadArgument(`${where} needs a port from ${least} to 65535, got ${show(port)}`)
}

/** The option `reusePort`, which older versions of Node ignore silently. */
export function checkReusePort(given: unknown, what: string): void {
  check.boolean(given, what)
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (given === false || major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12)) return
  throw new BadArgument(`${what} needs Node 22.12 or later, this is ${process.version}`)
}
