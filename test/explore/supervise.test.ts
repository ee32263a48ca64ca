// S42-S44: a supervisor with three children and one killer, in every order: no error is lost, nobody is forgotten,
// never two lives at once. The killer strikes at a child, at the supervisor, or at both.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  call,
  ensure,
  Fiber,
  isStop,
  type Op,
  RestartIntensityError,
  type Routine,
  type Strategy,
  sleep,
  snooze,
  spin,
  supervise,
} from 'polyphony'
import { explore, failEverywhere, InjectedFailure, raiseEverywhere, stopEverywhere } from 'polyphony/testing'
import { whole } from '../prelude.js'
import { soon } from './orders.js'

interface State {
  /** Bodies that run now, by name. */
  open: Map<string, number>
  lives: number
  /** Every error that left a child, and every error that somebody got. */
  thrown: unknown[]
  told: unknown[]
}
const fresh = (): State => ({ open: new Map(), lives: 0, thrown: [], told: [] })

/** Runs for a while; never two lives of the same child at once. */
function* life(state: State, name: string, ms: number): Routine<void> {
  const open = (by: number) => state.open.set(name, (state.open.get(name) ?? 0) + by)
  open(1)
  state.lives++
  assert.equal(state.open.get(name), 1, `two lives of ${name}`)
  try {
    yield* ms > 0 ? sleep(ms) : snooze()
  } catch (error) {
    if (!isStop(error)) state.thrown.push(error)
    throw error
  } finally {
    open(-1)
  }
}

function* supervised(state: State, strategy: Strategy, ms = 0): Routine<void> {
  yield* supervise(
    ['a', 'b', 'c'].map((name) => ({ name, body: life, args: [state, name, ms] })),
    { strategy, restart: 'onError', onError: (error) => void state.told.push(error) },
  )
}

/** What must hold when the supervisor is dead, whatever happened. */
function check(state: State, supervisor: Fiber): void {
  const { outcome } = supervisor
  const received = new Set(state.told)
  if (outcome?.type === 'error') for (const error of whole(outcome.error)) received.add(error)
  for (const error of state.thrown) assert.ok(received.has(error), `lost: ${error}`)
  for (const [name, count] of state.open) assert.equal(count, 0, `${name} is still open`)
  assert.deepEqual(supervisor.children, [])
}

/** Each does something at a turn of its own. */
type Strike = (supervisor: Fiber, children: readonly Fiber[]) => unknown
function scenario(strategy: Strategy, strikes: Strike[]) {
  return function* (): Routine<void> {
    const state = fresh()
    const supervisor = spin({ name: 'supervisor', link: false }, supervised, state, strategy)
    spin('killer', function* () {
      for (const strike of strikes) yield* soon(() => strike(supervisor, supervisor.children))
    })
    const { type } = yield* supervisor.join()
    if (strikes.length > 1) assert.equal(type, 'value') // both were restarted, or had ended before
    check(state, supervisor)
    yield* Fiber.current.joinChildren()
  }
}

const killers: Record<string, Strike[]> = {
  'a raise in a child': [(_, [victim]) => victim?.raise('oops')],
  'a raise in one child and then in another': [
    (_, [, victim]) => victim?.raise('first'),
    (_, [victim]) => victim?.raise('second'),
  ],
  'a raise in a child and a stop of the supervisor': [
    (supervisor, [victim]) => {
      victim?.raise('oops')
      supervisor.stop()
    },
  ],
  'a raise in the supervisor and one in a child': [
    (supervisor, [victim]) => {
      supervisor.raise('above')
      victim?.raise('below')
    },
  ],
  'a stop of a child': [(_, [victim]) => victim?.stop()],
}

const strategies: Strategy[] = ['oneForOne', 'oneForAll', 'restForOne']

function exploreSome(t: TestContext, body: () => unknown, maxSchedules: number): void {
  const { schedules, complete } = explore(body, { maxSchedules })
  t.diagnostic(`${schedules} orders${complete ? ', all there are' : ''}, no loss`)
  assert.ok(schedules > 10, 'there was little to choose')
}

for (const strategy of strategies) {
  for (const [what, strikes] of Object.entries(killers)) {
    test(`S42 S22 ${strategy}, ${what}: no error is lost in any order`, (t) =>
      exploreSome(t, scenario(strategy, strikes), strikes.length > 1 ? 10_000 : 6_000))
  }

  test(`S42 ${strategy}: stopped, raised in or failing at every switchpoint, nothing is left and no error is lost`, () => {
    let state = fresh()
    let supervisor!: Fiber
    const everything = function* () {
      state = fresh()
      supervisor = spin({ name: 'supervisor', link: false }, function* () {
        yield* supervised(state, strategy, 10)
      })
      yield* sleep(5)
      supervisor.children[1]?.raise(new InjectedFailure('mine'))
      yield* supervisor.join()
    }
    const isSound = () => {
      if (supervisor.state === 'dead') check(state, supervisor)
    }
    assert.ok(stopEverywhere(everything, { check: isSound }).switchpoints > 5)
    raiseEverywhere(everything, { check: isSound })
    failEverywhere(everything, { check: isSound })
  })
}

const strikesOnAGroup: Record<string, Strike> = {
  'a stop of that child': (_, children) => children.at(-1)?.stop(),
  'a stop of the supervisor': (supervisor) => supervisor.stop(),
  'a raise in the supervisor': (supervisor) => supervisor.raise('above'),
  'a kill of the supervisor': (supervisor) => supervisor.kill(),
}

for (const [what, strike] of Object.entries(strikesOnAGroup)) {
  test(`S41 ${what}, in any order with a restart of its group: whatever waits for a child is told in the end`, (t) => {
    const scenario = function* () {
      const state = fresh()
      const child = spin({ name: 'c', link: false }, life, state, 'c', 0)
      const supervisor = spin({ name: 'supervisor', link: false }, () =>
        supervise([{ name: 'a', body: life, args: [state, 'a', 0] }, child], {
          strategy: 'oneForAll',
          restart: 'onError',
          onError: (error) => void state.told.push(error),
        }),
      )
      const waiters = [
        spin(() => child.join()),
        spin({ link: false }, () => call(child, 'question') as Op<any>),
      ]
      spin('killer', function* () {
        const [victim] = supervisor.children
        yield* soon(() => victim?.raise('oops'))
        yield* soon(() => strike(supervisor, [child]))
      })
      yield* supervisor.join()
      for (const waiter of waiters) yield* waiter.join()
      check(state, supervisor)
      yield* Fiber.current.joinChildren()
    }
    exploreSome(t, scenario, 6_000)
  })
}

test('S44 a child that is detached, stopped or restarted from outside at any moment never holds the supervisor for ever', (t) => {
  for (const verb of ['detach', 'stop', 'restart'] as const) {
    const scenario = function* () {
      const state = fresh()
      const supervisor = spin('supervisor', supervised, state, 'oneForAll')
      spin(soon, () => supervisor.children[0]?.[verb]())
      yield* supervisor.join()
      yield* Fiber.current.joinChildren()
      check(state, supervisor)
    }
    exploreSome(t, scenario, 10_000)
  }
})

test('S43 a storm ends in every order, with the error that caused it', (t) => {
  exploreSome(
    t,
    function* () {
      const bad = new Error('bad')
      let lives = 0
      const fails = () => {
        lives++
        throw bad
      }
      const supervisor = spin({ link: false }, () =>
        supervise([{ body: fails }, { body: () => ensure(snooze, snooze) }], {
          restart: 'onError',
          strategy: 'restForOne',
          intensity: { restarts: 2 },
        }),
      )
      const outcome = yield* supervisor.join()
      assert.ok(outcome.type === 'error' && outcome.error instanceof RestartIntensityError)
      assert.equal((outcome.error as Error).cause, bad)
      assert.equal(lives, 3)
    },
    10_000,
  )
})
