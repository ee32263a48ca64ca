// What callers may give for a path and for permissions.

import { fileURLToPath } from 'node:url'
import { BadArgument, show } from '../core/index.js'

/** The path of a file, as text. */
export function checkPath(path: unknown, where: string): string {
  if (path instanceof URL && path.protocol === 'file:') return fileURLToPath(path)
  if (typeof path === 'string' && !path.includes('\0')) return path
  throw new BadArgument(`${where} needs a path, or a file: URL, got ${show(path)}`)
}

/** The permissions of a new file. */
export function checkMode(mode: unknown, where: string): number {
  if (Number.isInteger(mode) && (mode as number) >= 0 && (mode as number) <= 0o7777) return mode as number
  throw new BadArgument(`${where} needs permissions from 0 to 0o7777, got ${show(mode)}`)
}
