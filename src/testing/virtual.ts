// virtual: runs a body on a virtual clock, in a promise that any test runner understands.

import { checkOptions, type Result, type Returned } from '../core/index.js'
import { seededPolicy, seedFromEnvironment } from './seed.js'
import { World } from './world.js'

/**
 * Runs a body with time that jumps: `sleep(3_600_000)` takes no time at all. Rejects if the body fails, if nothing can
 * ever happen again, or if something is left behind. With a `seed` (or POLY_SEED=...) the order of runnable fibers is shuffled.
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
export async function virtual<R>(
  body: () => Returned<R>,
  options: { seed?: number } = {},
): Promise<Result<R>> {
  checkOptions(options, ['seed'], 'virtual()')
  const seed = options.seed ?? seedFromEnvironment()
  const world = new World(body, {
    where: 'virtual()',
    policy: seed === undefined ? null : seededPolicy(seed),
  })
  try {
    await live(world)
    const result = world.result() as Result<R>
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

/** While fibers wait for promises, the real event loop gets a few turns before time jumps past them. */
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
      if (world.runtime.queue.size === 0 && world.runtime.timers.size > 0) world.jump()
    }
  }
}

async function turns(n: number): Promise<void> {
  for (let i = 0; i < n; i++) await new Promise<void>((resolve) => setImmediate(resolve))
}
