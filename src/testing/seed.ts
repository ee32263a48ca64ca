// Numbers that look random and can be had again.

import type { Policy } from '../core/index.js'

/** A generator of numbers from 0 (included) to 1, the same for the same seed. */
export function random(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x9e3779b9) >>> 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x85ebca6b)
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32
  }
}

/** Far enough to mix any order that matters, near enough to be quick with a hundred thousand runnable fibers. */
const REACH = 64

/** A scheduler that picks any of the next runnable fibers. */
export function seededPolicy(seed: number): Policy {
  const next = random(seed)
  return (queue) => queue.take(Math.floor(next() * Math.min(queue.size, REACH)))
}

export function seedFromEnvironment(): number | undefined {
  const text = globalThis.process?.env?.POLY_SEED
  return text === undefined || text === '' ? undefined : Number(text)
}
