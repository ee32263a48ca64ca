// A tree of supervisors whose fibers are killed at random, a thousand times: invariants hold, and nothing is left.
// The seed is printed; POLY_SEED repeats a run.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  ensure,
  type Fiber,
  isStop,
  RestartIntensityError,
  type RestartRule,
  type Routine,
  type Strategy,
  sleep,
  spin,
  supervise,
} from 'polyphony'
import { virtual } from 'polyphony/testing'
import { random, whole } from '../prelude.js'

const KILLS = 1000
const STRATEGIES: Strategy[] = ['oneForOne', 'oneForAll', 'restForOne']
const RULES: RestartRule[] = ['always', 'onError', 'onError']

test('S42 S43 a supervised tree killed at random a thousand times keeps its invariants and leaks nothing', async (t) => {
  const seed = Number(process.env.POLY_SEED ?? Math.floor(Math.random() * 1_000_000))
  t.diagnostic(`seed ${seed} (POLY_SEED=${seed} repeats it)`)
  const counts = { kills: 0, lives: 0, told: 0 }
  await virtual(() => massacre(random(seed), counts), { seed })
  t.diagnostic(`${counts.kills} kills, ${counts.lives} lives, ${counts.told} errors told`)
  assert.equal(counts.kills, KILLS)
  assert.ok(counts.lives > KILLS / 2, `only ${counts.lives} lives`)
})

function* massacre(
  chance: () => number,
  counts: { kills: number; lives: number; told: number },
): Routine<void> {
  const pick = <T>(list: readonly T[]): T =>
    list[Math.min(list.length - 1, Math.floor(chance() * list.length))] as T
  const open = new Map<string, number>()
  const thrown = new Set<unknown>()
  const told = new Set<unknown>()
  const unlimited = { restarts: Infinity }

  /** A leaf: never two lives at once; sometimes it ends by itself, sometimes its cleanup waits or fails. */
  function* leaf(name: string): Routine<void> {
    counts.lives++
    open.set(name, (open.get(name) ?? 0) + 1)
    assert.equal(open.get(name), 1, `two lives of ${name}`)
    const [lasts, cleanup] = [1 + chance() * 300, chance()]
    try {
      yield* ensure(
        () => sleep(lasts),
        function* () {
          if (cleanup < 0.5) yield* sleep(cleanup * 10)
          if (cleanup > 0.97) throw new Error(`cleanup of ${name}`)
        },
      )
    } catch (error) {
      if (!isStop(error)) thrown.add(error)
      throw error
    } finally {
      open.set(name, (open.get(name) as number) - 1)
    }
  }

  /** Supervisors three levels deep. Whatever is told of an error is remembered. */
  function* level(depth: number, path: string): Routine<void> {
    const names = ['a', 'b', 'c'].map((name) => `${path}${name}`)
    const isLow = depth === 0
    yield* supervise(
      names.map((name) => ({
        name,
        body: isLow ? leaf : level,
        args: isLow ? [name] : [depth - 1, name],
        restart: isLow ? pick(RULES) : 'always',
      })),
      {
        strategy: pick(STRATEGIES),
        intensity: depth === 2 ? unlimited : { restarts: 20, within: 1000 },
        backoff: pick([0, () => chance() * 20]), // chance of our own: a seed repeats all of it
        until: isLow ? 'all' : 'never',
        // A supervisor that was stopped comes back all the same, else nobody would be left after a while.
        onDone: (_, outcome) => (!isLow && outcome.type === 'stopped' ? 'restart' : undefined),
        onError(error) {
          counts.told++
          for (const one of whole(error)) told.add(one)
          if (error instanceof RestartIntensityError) for (const one of whole(error.cause)) told.add(one)
        },
      },
    )
  }

  const top = spin({ name: 'top', link: false }, level, 2, '')
  yield* sleep(1)
  while (counts.kills < KILLS) {
    yield* sleep(chance() * 20)
    const victim = pick(everybody(top))
    if (victim === top) continue
    counts.kills++
    const verb = pick(['raise', 'raise', 'raise', 'stop', 'kill', 'restart'] as const)
    if (verb === 'raise') victim.raise(`kill ${counts.kills}`)
    else victim[verb]()
    checkTree(top)
  }
  const outcome = yield* top.stop()
  if (outcome.type === 'error') for (const one of whole(outcome.error)) told.add(one)
  for (const [name, count] of open) assert.equal(count, 0, `${name} is still open`)
  assert.deepEqual(top.children, [])
  for (const error of thrown) assert.ok(told.has(error), `lost: ${error}`)
}

function everybody(top: Fiber): Fiber[] {
  const all = [top]
  for (const fiber of all) all.push(...fiber.children)
  return all
}

/** Children know their parent, are alive, and are no more than their supervisor has specs. */
function checkTree(top: Fiber): void {
  for (const fiber of everybody(top)) {
    for (const child of fiber.children) {
      assert.equal(child.parent, fiber)
      assert.notEqual(child.state, 'dead')
    }
    assert.ok(fiber.children.length <= 3, `${fiber.path} has ${fiber.children.length} children`)
  }
}
