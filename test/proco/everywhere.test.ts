// An executor, disturbed at every switchpoint: of its submitters, of its handlers, of its starter; and killed or told to
// exit at every moment. Whatever happens, no future stays open, nobody waits for ever, nothing is left behind, and it can
// be started again.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Fiber, isStop, moveOnAfter, type Routine, scope, sleep, snooze, spin } from 'polyphony'
import type { ProcoOptions } from 'polyphony/proco'
import { explore, failEverywhere, leaks, raiseEverywhere, stopEverywhere } from 'polyphony/testing'
import { aside, type Item, isExpected, joinAll, Witness } from './witness.js'

/** Every kind of handler in one: returns, waits, fails, leaves a child behind, returns too little. */
function* handle(given: Item | Item[]): Routine<unknown> {
  const items = Array.isArray(given) ? given : [given]
  for (const { id } of items) {
    if (id % 5 === 1) yield* sleep(2)
    if (id % 5 === 2) yield* snooze()
    if (id % 5 === 3) {
      yield* snooze()
      throw new Error('not this time')
    }
    if (id % 5 === 4) spin(() => sleep(50))
  }
  return Array.isArray(given) ? items.slice(0, 3).map(({ id }) => id) : items[0]?.id
}

const ways: Record<string, ProcoOptions> = {
  'item by item': { queueSize: 1 },
  'two handlers and two queues': { threads: 2, queues: 2, queueSize: 1 },
  'in batches': { batch: true, queueSize: 3 },
  'in batches with an interval, each with its own result': {
    batch: true,
    batchSize: 2,
    interval: 3,
    queueSize: 2,
    results: 'each',
    threads: 2,
  },
  'one after the other, with an interval': { interval: 2, queueSize: 2 },
}

/** Submitters of every kind. */
function* handIn(witness: Witness): Routine<void> {
  const fibers = [
    aside(() => witness.submit(witness.item())),
    aside(() => witness.submit(witness.item('a'))),
    aside(function* () {
      const futures = [
        yield* witness.submitAsync(witness.item('a')),
        yield* witness.submitAsync(witness.item()),
      ]
      futures[1]?.cancel()
      yield* (futures[0] as any).get()
    }),
    aside(() => witness.submit(witness.item(), { timeout: 3 })),
    aside(() => moveOnAfter(2, () => witness.submit(witness.item()))),
    aside(function* () {
      yield* snooze()
      witness.trySubmit(witness.item('a'))
      yield* sleep(1)
      witness.trySubmit(witness.item())
    }),
  ]
  yield* joinAll(fibers)
}

/** Everything together; the last one made is looked at after each run. */
class Scene {
  witness = new Witness()
  constructor(readonly options: ProcoOptions) {}

  readonly play = (): Routine<void> => this.body()
  private *body(): Routine<void> {
    const witness = (this.witness = new Witness(this.options, handle))
    yield* scope(function* () {
      witness.start()
      yield* handIn(witness)
      if (witness.proco.state !== 'idle') yield* expected(() => witness.proco.exit())
    })
  }

  readonly check = (): void => {
    this.witness.check()
    // A world of its own: it must not depend on that of before.
    explore(() => this.witness.again(), { maxSchedules: 1 })
  }
}

/** Whatever may come out of it. */
function* expected(body: () => any): Routine<void> {
  try {
    yield* body()
  } catch (error) {
    if (isStop(error) || !isExpected(error)) throw error
  }
}

describe('an executor, disturbed at every switchpoint', () => {
  for (const [name, options] of Object.entries(ways)) {
    const tests = { stopped: stopEverywhere, 'raised in': raiseEverywhere, failing: failEverywhere }
    for (const [how, everywhere] of Object.entries(tests)) {
      it(`S16b S78 S84 ${name}: ${how} anywhere, it leaves nothing open`, (t) => {
        const before = leaks()
        const { play, check } = new Scene(options)
        const { switchpoints, runs } = everywhere(play, { check })
        t.diagnostic(`${switchpoints} switchpoints, ${runs} runs`)
        assert.ok(switchpoints > 20)
        assert.deepEqual(leaks(), before)
      })
    }
  }
})

/** Runs the scene once, and does something to its executor at one of its switchpoints. Gives how many there were. */
function disturb(scene: Scene, at: number, act: (witness: Witness) => void): number {
  let seen = 0
  const errors: unknown[] = []
  explore(
    function* () {
      const self = Fiber.current as any
      self.runtime.probe = () => {
        if (seen++ !== at || scene.witness.proco.state === 'idle') return
        try {
          act(scene.witness)
        } catch (error) {
          errors.push(error) // it would be that of the fiber that is at this switchpoint
        }
      }
      self.budget = 0 // so that this one is seen as well
      scene.witness = new Witness()
      yield* scene.play()
    },
    { maxSchedules: 1 },
  )
  if (errors.length > 0) throw errors[0]
  return seen
}

describe('an executor, ended at every moment', () => {
  for (const [name, options] of Object.entries(ways)) {
    it(`S78 S84 ${name}: kill() at any switchpoint gives every open item its outcome before it returns`, (t) => {
      const before = leaks()
      const scene = new Scene(options)
      const kill = (witness: Witness) => {
        const { proco } = witness
        proco.kill()
        const { accepted, done, failed, cancelled, waiting } = proco.stats()
        assert.deepEqual([proco.state, waiting, witness.open], ['idle', 0, 0])
        assert.equal(accepted, done + failed + cancelled)
      }
      const moments = disturb(scene, -1, kill)
      for (let at = 0; at < moments; at++) {
        disturb(scene, at, kill)
        scene.check()
      }
      t.diagnostic(`${moments} moments`)
      assert.ok(moments > 20)
      assert.deepEqual(leaks(), before)
    })

    it(`S78 S84 ${name}: exit() at any switchpoint handles what is there, and ends`, async (t) => {
      const before = leaks()
      const scene = new Scene(options)
      const ends: PromiseLike<void>[] = []
      const exit = ({ proco }: Witness) => {
        const { depth } = proco.stats()
        ends.push(proco.exit().then(() => assert.equal(proco.stats().depth, 0)))
        assert.equal(proco.state === 'running', false)
        assert.equal(proco.stats().depth, depth)
        assert.equal(proco.stats().waiting, 0)
      }
      const moments = disturb(scene, -1, exit)
      for (let at = 0; at < moments; at++) {
        disturb(scene, at, exit)
        scene.check()
      }
      await Promise.all(ends)
      t.diagnostic(`${moments} moments, ${ends.length} ends`)
      assert.ok(ends.length > 20)
      assert.deepEqual(leaks(), before)
    })

    it(`S78 S84 ${name}: exit() and then kill(), at any two switchpoints`, async (t) => {
      const scene = new Scene(options)
      let exited = 0
      let killed = 0
      const ends: PromiseLike<void>[] = []
      const moments = disturb(scene, -1, () => {})
      for (let at = 0; at < moments; at++) {
        for (let later = 1; later <= 3; later++) {
          disturb(scene, at, ({ proco }) => {
            const end = proco.exit().then(
              () => void exited++,
              (error) => {
                assert.equal(error.code, 'KILLED')
                killed++
              },
            )
            ends.push(end)
            const { runtime } = Fiber.current as any
            let left = later
            runtime.probe = () => {
              if (--left === 0 && proco.state !== 'idle') proco.kill()
            }
          })
          scene.check()
        }
      }
      await Promise.all(ends)
      t.diagnostic(`${exited} exits, ${killed} kills`)
      assert.equal(exited + killed, ends.length)
      assert.ok(exited > 0 && killed > 0)
    })
  }
})
