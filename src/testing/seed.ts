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

/** A scheduler that picks any runnable fiber. */
export function seededPolicy(seed: number): Policy {
  const next = random(seed)
  return (queue) => queue.pick(Math.floor(next() * queue.size))
}

export function seedFromEnvironment(): number | undefined {
  const text = globalThis.process?.env?.POLY_SEED
  return text === undefined || text === '' ? undefined : Number(text)
}
