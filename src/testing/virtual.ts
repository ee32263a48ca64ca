// virtual: runs a body on a virtual clock (world.ts) and returns a promise, for any test runner; with a seed, in a shuffled order.

import { check, type Policy, type Report, type Result, type Returned } from '../core/index.js'
import { World } from './world.js'

/** Options of `virtual`. */
export interface VirtualOptions {
  /** Shuffles the order of runnable fibers, in the same way for the same number; default POLY_SEED. */
  seed?: number
  /**
   * Called with each report, such as the error of a fiber that was not awaited. What it throws, `virtual` rejects with. Default:
   * prints it to stderr, as `run` does.
   */
  onReport?: (report: Report) => void
}
const OPTIONS = { seed: check.number(0), onReport: check.function }

/**
 * Runs a body on a virtual clock: `sleep(3_600_000)` takes no time. Rejects if the body fails, if no fiber can ever run
 * again, or if a fiber, timer or wait outlives the body. With a `seed` (or POLY_SEED=...) the order of runnable fibers is
 * shuffled.
 *
 * ```ts
 * import assert from 'node:assert/strict'
 * import { test } from 'node:test'
 * import { moveOnAfter, sleep } from 'polyphony'
 * import { virtual } from 'polyphony/testing'
 *
 * test('gives up after an hour', () =>
 *   virtual(function* () {
 *     assert.equal(yield* moveOnAfter(3_600_000, () => sleep(), 'gave up'), 'gave up')
 *   }))
 * ```
 */
export async function virtual<R>(body: () => Returned<R>, options: VirtualOptions = {}): Promise<Result<R>> {
  const { seed = seedFromEnvironment(), onReport = print } = check.options(options, OPTIONS, 'virtual()')
  const world = new World(body, {
    where: 'virtual()',
    onReport,
    policy: seed === undefined ? null : seededPolicy(seed),
  })
  try {
    await live(world)
    const result = world.result() as Result<R>
    world.checkReports()
    world.checkLeaks()
    return result
  } catch (error) {
    if (seed !== undefined)
      console.error(`polyphony: this run was shuffled, repeat it with POLY_SEED=${seed}`)
    throw error
  } finally {
    world.close()
  }
}

function print({ message, error }: Report): void {
  console.error(`polyphony: ${message}`, ...(error === undefined ? [] : [error]))
}

/** While fibers wait for promises, the real event loop gets a few turns before the clock jumps. */
async function live(world: World): Promise<void> {
  const { backend } = world
  while (world.advance(false) === 'outside') {
    const came = new Promise<void>((resolve) => {
      backend.onWake = resolve
      backend.onTimer = world.runtime.timers.size === 0 ? resolve : null
    })
    if (backend.onTimer !== null) await came
    else {
      await Promise.race([came, turns(3)])
      if (world.runtime.queue.isEmpty && world.runtime.timers.size > 0) world.jump()
    }
  }
}

async function turns(n: number): Promise<void> {
  for (let i = 0; i < n; i++) await new Promise<void>((resolve) => setImmediate(resolve))
}

// ---- seeds: an order of fibers that looks random and can be had again

/** A generator of numbers from 0 (included) to 1, the same for the same seed. */
function random(seed: number): () => number {
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
function seededPolicy(seed: number): Policy {
  const next = random(seed)
  return (queue) => queue.take(Math.floor(next() * queue.count(REACH)))
}

function seedFromEnvironment(): number | undefined {
  const text = globalThis.process?.env?.POLY_SEED
  return text === undefined || text === '' ? undefined : Number(text)
}
