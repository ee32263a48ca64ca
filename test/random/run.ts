// Runs a program on the real library, on the virtual clock, and watches it. What is printed goes to the model for
// comparison; what is seen is checked against the invariants, each named by its rule.

import {
  all,
  allSettled,
  any,
  cancelAfter,
  ensure,
  Fiber,
  forEach,
  isStop,
  moveOnAfter,
  type Op,
  type Outcome,
  PolyphonyError,
  type Routine,
  race,
  receive,
  retry,
  scope,
  shield,
  sleep,
  snooze,
  spin,
  supervise,
  suppressedErrors,
  suspend,
  tap,
} from 'polyphony'
import { virtual } from 'polyphony/testing'
import { makeOutcome } from '#core/state'
import { Ledger } from './constructs/ledger.js'
import { Shop } from './constructs/shop.js'
import { type Kind, Watch } from './invariants.js'
import { type Program, print, RESTARTS } from './program.js'

// Programs bring their own seeds, and the model knows one order only.
delete process.env.POLY_SEED

/** What the statements of a running program use; the printed program uses the same. */
export class Recorder {
  readonly lines: string[] = []
  readonly errors: Error[] = []
  /** Fibers by number; 0 is main. */
  readonly f: (Fiber | undefined)[] = []
  private messages = 0
  private restarts = 0
  private runtime: any

  /** `quiet` is called whenever nobody can run, before time goes on. */
  begin(quiet: () => void): void {
    this.runtime = (Fiber.current as any).runtime
    const { timers } = this.runtime
    const fire = timers.fire.bind(timers)
    timers.fire = (now: number, most?: number) => {
      if (this.runtime.queue.size === 0) quiet()
      fire(now, most)
    }
  }
  get now(): number {
    return this.runtime.now()
  }
  get reports(): { kind: string; message: string; error?: unknown }[] {
    return this.runtime.backend.reports
  }
  log = (n: number, what?: unknown, fiber: Fiber = Fiber.current): void => {
    this.lines.push(`${this.now} ${fiber.name} ${n} ${show(what)}`)
  }
  error = (): Error => {
    const error = new Error(`E${this.errors.length}`)
    error.stack = error.message
    this.errors.push(error)
    return error
  }
  message = (): string => `m${this.messages++}`

  restart = (fiber: Fiber): string => {
    if (this.restarts++ >= RESTARTS) return 'enough'
    return this.allowed(() => fiber.restart()) ? 'restarted' : 'refused'
  }
  /** Whether a call that may make no sense was accepted. */
  allowed = (call: () => unknown): boolean => {
    try {
      call()
      return true
    } catch (error) {
      if (error instanceof PolyphonyError) return false
      throw error
    }
  }
  /** Everything that the run has left to read. */
  transcript(): string[] {
    const suppressed = this.errors.map(
      (error) => `${error.message} suppressed ${suppressedErrors(error).map(show)}`,
    )
    const reports = this.reports.map(({ kind, error }) => `report ${kind}${error ? ` ${show(error)}` : ''}`)
    return [...this.lines, ...suppressed, ...reports]
  }
}

function show(what: unknown): string {
  if (isStop(what)) return 'Stop'
  if (what instanceof Error) return /^E\d+$/.test(what.message) ? what.message : what.name
  if (what instanceof Fiber) return what.name
  if (Array.isArray(what)) return `[${what.map(show)}]`
  if (typeof what !== 'object' || what === null) return String(what)
  const outcome = what as Outcome<unknown>
  const inside = outcome.type === 'error' ? outcome.error : outcome.type === 'abandoned' ? '' : outcome.value
  return `${outcome.type}(${show(inside)})`
}

export interface Ran {
  transcript: string[]
  /** Rules that were broken. */
  broken: string[]
}

/** Runs a program; with a seed in a shuffled order, else first come, first served. */
export async function run(program: Program, seed?: number): Promise<Ran> {
  const recorder = new Recorder()
  const watch = new Watch(() => recorder.now)
  const told = hooks(recorder, watch)
  const shop = new Shop(recorder)
  const ledger = new Ledger(shop, recorder, watch, told, sleep)
  const main = compile(print(program, true), { ...library, ...tools(recorder), ...ledger.words(), ...told })
  return { transcript: await record(recorder, shop, main, { seed, watch, ledger }), broken: watch.broken }
}

/** Runs the program as it is printed, with nobody watching. */
export function runPrinted(program: Program): Promise<string[]> {
  const recorder = new Recorder()
  const shop = new Shop(recorder)
  return record(recorder, shop, compile(print(program), { ...library, ...tools(recorder), ...shop.words() }))
}

/** The program is run from its text: under `return()` generators inside generators would not be the same thing (F1). */
function compile(code: string, names: Record<string, unknown>): () => Op<unknown> {
  const body = new Function(...Object.keys(names), `return function* main() {\n${code}\n}`)
  return body(...Object.values(names))
}

const library = {
  all,
  allSettled,
  any,
  cancelAfter,
  ensure,
  Fiber,
  forEach,
  isStop,
  moveOnAfter,
  race,
  receive,
  retry,
  scope,
  shield,
  sleep,
  snooze,
  spin,
  supervise,
  suspend,
}

function tools({ f, log, error, message, restart, allowed }: Recorder) {
  return { f, log, error, message, restart, allowed }
}

/** What a watched program calls, to tell what it does and sees. */
function hooks(recorder: Recorder, watch: Watch) {
  /** A wait, seen from outside. */
  function* wait<T>(kind: Kind, op: Op<T>, ms?: number): Routine<T> {
    const fiber = Fiber.current
    const { phase } = fiber
    const since = recorder.now
    try {
      const value = yield* op
      watch.passed(fiber, kind, phase, since, ms)
      return value
    } catch (thrown) {
      watch.struck(fiber, kind, thrown)
      throw thrown
    }
  }
  function* block<T>(op: Op<T>, walls = 0): Routine<T> {
    const leave = watch.enters(walls > 0 ? 'stops' : 'none', walls)
    try {
      return yield* op
    } catch (thrown) {
      watch.sees(Fiber.current, thrown)
      throw thrown
    } finally {
      leave()
    }
  }
  /** The cleanup of an `ensure`. It ends by itself, or by an error of its own. */
  function* cleanup(body: () => Op<unknown>): Routine<void> {
    const begun = watch.cleanupBegins()
    const leave = watch.enters('all', 1)
    try {
      yield* body()
      watch.cleanupEnds(begun)
    } catch (thrown) {
      watch.cleanupEnds(begun)
      throw thrown
    } finally {
      leave()
    }
  }
  function* select(fibers: Fiber[]): Routine<[Fiber, unknown]> {
    const selected = yield* wait('observe', Fiber.select(...fibers))
    if (!watch.hasEnded(selected[0])) watch.break('S37', `${selected[0].name} was selected and has not ended`)
    return selected
  }
  function* awaitAll(fibers: Fiber[]): Routine<unknown[]> {
    const running = fibers.filter((fiber) => fiber.outcome === undefined)
    try {
      return yield* wait('observe', Fiber.await(...fibers))
    } catch (thrown) {
      watch.failedAll(running, thrown)
      throw thrown
    }
  }
  function* children(how: 'joinChildren' | 'shutdownChildren'): Routine<Outcome<unknown>[]> {
    const { children } = Fiber.current
    const outcomes = yield* wait('observe', Fiber.current[how]())
    for (const [i, outcome] of outcomes.entries()) watch.told(children[i] as Fiber, outcome)
    return outcomes
  }
  return {
    wait,
    block,
    cleanup,
    select,
    awaitAll,
    children,
    calm: (isStopped: boolean) => watch.finallyBegins(isStopped),
    begins: () => watch.begins(Fiber.current),
    receives: watch.receives,
    woken: watch.woken,
    told: watch.told,
    send(fiber: Fiber, message: string) {
      const isSent = fiber.send(message)
      if (isSent) watch.sent(fiber, message)
      return isSent
    },
    schedule(fiber: Fiber, value: string) {
      const isWoken = fiber.schedule(value)
      if (isWoken) watch.wakes(fiber, value)
      return isWoken
    },
    stops(fiber: Fiber, grace?: number) {
      watch.stops(fiber, grace)
      return fiber
    },
    restart(fiber: Fiber) {
      const { incarnation, outcome } = fiber
      const result = recorder.restart(fiber)
      if (result === 'restarted') watch.restarts(fiber, incarnation, outcome === undefined)
      return result
    },
  }
}

/** Runs a main that uses a recorder; gives what was printed. A root looks after main, and after whatever was detached. */
export async function record(
  recorder: Recorder,
  shop: Shop,
  main: () => Op<unknown>,
  { seed, watch, ledger }: { seed?: number | undefined; watch?: Watch; ledger?: Ledger } = {},
): Promise<string[]> {
  let untap = () => {}
  const { error } = console
  console.error = () => {} // `virtual` tells of every shuffled run that fails; while shrinking these are many
  try {
    await virtual(
      function* () {
        const root = Fiber.current
        recorder.begin(() => ledger?.quiet())
        untap = tap((event, fiber: any, detail) => {
          if (fiber === root) return
          watch?.heard(event, fiber, detail)
          if (event === 'end') recorder.log(0, `ended ${show(makeOutcome(fiber.how, fiber.value))}`, fiber)
        })
        recorder.f[0] = spin({ name: 'main', link: false }, main)
        yield* persist(() => recorder.f[0]?.join() as Op<Outcome<unknown>>, watch)
        // Again and again: a fiber may answer a stop with a restart.
        do yield* persist(() => moveOnAfter(10_000, () => root.shutdownChildren(), []), watch)
        while (root.children.length > 0)
        yield* persist(() => shop.close(), watch)
      },
      { seed },
    )
  } finally {
    untap()
    console.error = error
  }
  ledger?.end()
  watch?.finish(recorder.reports)
  return recorder.transcript()
}

/** Waits for ends, whatever strikes meanwhile. */
function* persist(op: () => Op<Outcome<unknown> | Outcome<unknown>[]>, watch?: Watch): Routine<void> {
  for (;;) {
    try {
      const outcomes = yield* op()
      for (const outcome of [outcomes].flat()) {
        if (outcome.type === 'error') watch?.sees('root', outcome.error)
      }
      return
    } catch (error) {
      watch?.sees('root', error)
    }
  }
}
