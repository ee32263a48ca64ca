// How many descriptors are left. When the last is taken, libuv accepts what comes and closes it again without a word, and nobody in the
// program can open a file any more. So the last few are not given to connections.

import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'

const MOST_KEPT = 64

/** How many this process may have; Infinity where the system does not tell. */
let limit: number | undefined

function limitOf(): number {
  try {
    const line = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))
    return line === null ? Infinity : Number(line[1])
  } catch {
    return Infinity
  }
}

/** Connections may have descriptors below this number. */
export function descriptorBound(): number {
  limit ??= limitOf()
  return limit - Math.min(MOST_KEPT, Math.floor(limit / 8))
}

/** The system gives the lowest that is free, so its number says how many are in use. -1: not to be known. */
export function descriptorOf(socket: Socket): number {
  return (socket as unknown as { _handle: { fd?: number } | null })._handle?.fd ?? -1
}
