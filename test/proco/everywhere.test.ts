// An executor, disturbed at every switchpoint, and in every order of its submitters: each item has one outcome, room and
// order are kept, no fiber waits for ever, nothing is left behind, and it can be started again.

import type { Future, ProcoOptions } from 'polyphony/proco'
import { soon } from '../explore/orders.js'
import {
  assert,
  describe,
  explore,
  Fiber,
  failEverywhere,
  isStop,
  leaks,
  moveOnAfter,
  type Op,
  type Routine,
  raiseEverywhere,
  scope,
  sleep,
  snooze,
  spin,
  stopEverywhere,
  test,
} from '../prelude.js'
import { killers } from '../shared/killers.js'
import { aside, type Item, isExpected, joinAll, Witness } from './witness.js'

/** Every kind of handler in one: returns, waits, fails, leaves a child behind, returns too little. */
function* handle(given: Item | Item[]): Routine<unknown> {
  const items = [given].flat()
  for (const { id } of items) {
    if (id % 5 === 1) yield* sleep(2)
    if (id % 5 === 2) yield* snooze()
    if (id % 5 === 3) {
      yield* snooze()
      throw new Error('not this time')
    }
    if (id % 5 === 4) spin(() => sleep(50))
  }
  return Array.isArray(given) ? items.slice(0, 3).map(({ id }) => id) : given.id
}

/** Submitters of every kind. */
function* handIn(witness: Witness): Routine<void> {
  yield* joinAll([
    aside(() => witness.submit(witness.item())),
    aside(() => witness.submit(witness.item('a'))),
    aside(function* () {
      const first = yield* witness.submitAsync(witness.item('a'))
      const second = yield* witness.submitAsync(witness.item())
      second.cancel()
      yield* first.get()
    }),
    aside(() => witness.submit(witness.item(), { timeout: 3 })),
    aside(() => moveOnAfter(2, () => witness.submit(witness.item()))),
    aside(function* () {
      yield* snooze()
      witness.trySubmit(witness.item('a'))
      yield* sleep(1)
      witness.trySubmit(witness.item())
    }),
  ])
}

/** The end, and then it works again. */
function* ending(witness: Witness): Routine<void> {
  try {
    if (witness.proco.state !== 'idle') yield* witness.proco.exit()
  } catch (error) {
    if (isStop(error) || !isExpected(error)) throw error
  }
}

/** Everything together; the last one made is looked at after each run. */
class Scene {
  witness = new Witness()
  constructor(readonly options: ProcoOptions) {}

  readonly play = (): Op<void> => {
    const witness = (this.witness = new Witness(this.options, handle))
    return scope(function* () {
      witness.start()
      yield* handIn(witness)
      yield* ending(witness)
    })
  }

  readonly check = (): void => {
    this.witness.check()
    explore(() => this.witness.again(), { maxSchedules: 1 }) // a world of its own: it must not depend on that of before
  }

  /** Plays once, and does something to the executor at one of the switchpoints. Gives how many there were. */
  disturb(at: number, act: (witness: Witness) => void): number {
    let seen = 0
    const errors: unknown[] = []
    const scene = this
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
        self.budget = 0 // so that this switchpoint is seen as well
        yield* scene.play()
      },
      { maxSchedules: 1 },
    )
    if (errors.length > 0) throw errors[0]
    return seen
  }

  /** The same at each switchpoint. */
  disturbEverywhere(act: (witness: Witness) => void): void {
    const moments = this.disturb(-1, act)
    for (let at = 0; at < moments; at++) {
      this.disturb(at, act)
      this.check()
    }
    assert.ok(moments > 20)
  }
}

describe('disturbed at every switchpoint, nothing is left open', () => {
  const scenes: [how: string, options: ProcoOptions][] = [
    ['item by item', { queueSize: 1 }],
    ['two handlers and two queues', { threads: 2, queues: 2, queueSize: 1 }],
    ['in batches', { batch: true, queueSize: 3 }],
    [
      'in batches with an interval, each with its own result',
      { batch: true, batchSize: 2, interval: 3, queueSize: 2, results: 'each', threads: 2 },
    ],
    ['one after the other, with an interval', { interval: 2, queueSize: 2 }],
  ]
  for (const [how, options] of scenes) {
    const leavesNothing = (what: string, body: (scene: Scene) => unknown) =>
      test(`${how}: ${what}`, async () => {
        const before = leaks()
        await body(new Scene(options))
        assert.deepEqual(leaks(), before)
      })

    for (const everywhere of [stopEverywhere, raiseEverywhere, failEverywhere]) {
      leavesNothing(everywhere.name, ({ play, check }) =>
        assert.ok(everywhere(play as () => any, { check }).switchpoints > 20),
      )
    }

    leavesNothing('kill() gives every open item its outcome before it returns', (scene) =>
      scene.disturbEverywhere((witness) => {
        const { proco } = witness
        proco.kill()
        const { accepted, done, failed, cancelled, waiting } = proco.stats()
        assert.deepEqual([proco.state, waiting, witness.open], ['idle', 0, 0])
        assert.equal(accepted, done + failed + cancelled)
      }),
    )

    leavesNothing('exit() handles what is there; a kill() soon after it ends it', async (scene) => {
      const ends: Promise<string>[] = []
      for (const later of [Infinity, 1, 2, 3]) {
        scene.disturbEverywhere(({ proco }) => {
          const before = proco.stats().depth
          const exit = proco.exit().then(() => `exited, ${proco.stats().depth} left`)
          ends.push(exit.catch((error) => error.code))
          const { state, depth, waiting } = proco.stats()
          assert.deepEqual([state === 'running', depth, waiting], [false, before, 0])
          let left = later
          ;(Fiber.current as any).runtime.probe = () => {
            if (--left === 0 && proco.state !== 'idle') proco.kill()
          }
        })
      }
      assert.deepEqual(new Set(await Promise.all(ends)), new Set(['exited, 0 left', 'KILLED']))
    })
  }
})

/** Three submitters, by what each does with its number, and something beside them. */
interface Way {
  options: ProcoOptions
  submit?: (witness: Witness, n: number, futures: Future<any>[]) => Routine<unknown>
  handler?: (given: any) => unknown
  beside?: (witness: Witness, futures: Future<any>[]) => unknown
}

function* takesAMoment(): Routine<string> {
  yield* snooze()
  return 'done'
}

function* viaFuture(witness: Witness, _: number, futures: Future<any>[]): Routine<unknown> {
  const future = yield* witness.submitAsync(witness.item())
  futures.push(future)
  return yield* future.get()
}

const exit = ({ proco }: Witness) => aside(() => proco.exit())

const ways: Record<string, Way> = {
  'a full queue, and items in it are cancelled': {
    options: { queueSize: 1 },
    submit: viaFuture,
    beside: (_, futures) => [futures[0], futures.at(-1)].map((future) => future?.cancel()),
  },
  'two handlers, two queues, keys, and a kill': {
    options: { threads: 2, queues: 2, queueSize: 1 },
    submit: (witness, n) => witness.submit(witness.item(n === 1 ? 'b' : 'a')),
    handler: takesAMoment,
    beside: ({ proco }) => proco.kill(),
  },
  'two exits': { options: { queueSize: 1 }, beside: (witness) => [exit(witness), exit(witness)] },
  'a batch, one of whose items is cancelled, and one fails': {
    options: { batch: true, results: 'each' },
    submit: viaFuture,
    *handler(items: Item[]) {
      yield* snooze()
      return items.map(({ id }) => (id === 1 ? new Error('not this time') : id))
    },
    beside: (_, futures) => futures[0]?.cancel(),
  },
  'time-outs as there is room, and as the result comes': {
    options: { queueSize: 1 },
    submit: (witness, n) => witness.submit(witness.item(), n === 1 ? {} : { timeout: 5 }),
    handler: () => sleep(5),
  },
}

function scenario(way: Way, kill: (fibers: Fiber<any>[]) => unknown): () => Routine<void> {
  return function* () {
    const witness = new Witness(way.options, way.handler).start()
    const { submit = () => witness.submit(witness.item()), beside = () => {} } = way
    const futures: Future<any>[] = []
    const submitters = [0, 1, 2].map((n) => aside(() => submit(witness, n, futures)))
    const acts = [() => kill(submitters), () => beside(witness, futures)]
    const others = acts.map((act) => aside(() => soon(act)))
    yield* joinAll([...submitters, ...others])
    yield* ending(witness)
    witness.check()
    yield* witness.again()
  }
}

describe('in every order of three submitters and a killer, nothing is lost', () => {
  for (const [what, way] of Object.entries(ways)) {
    test(what, () => {
      if (process.env.POLY_SEED) return // the same orders again
      for (const [, kill] of killers) {
        // Every order that differs from that of the queue once at the most, then some that differ more.
        assert.ok(explore(scenario(way, kill), { preemptions: 1 }).schedules > 20)
        explore(scenario(way, kill), { maxSchedules: 100 })
      }
    })
  }
})
