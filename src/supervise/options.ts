// The options of `supervise` and their checks: wrong names and values throw at the call. What the options do is in
// supervisor.ts.

import { BadArgument, type Checks, check, Fiber, type Op, type Outcome, show } from '../core/index.js'
import { BACKOFF_OPTIONS, type BackoffOptions, readBackoff } from '../time/index.js'

const RULES = ['always', 'onError', 'never'] as const
/** Which ends of a child lead to a restart. A child that was stopped is never restarted (S44). */
export type RestartRule = (typeof RULES)[number]

const STRATEGIES = ['oneForOne', 'oneForAll', 'restForOne'] as const
/** Which children are restarted together with a failed one: no other, all, or those started after it (S42). */
export type Strategy = (typeof STRATEGIES)[number]

const UNTIL = ['any', 'all', 'never'] as const
/** When supervision ends: when one child has ended for good, when all have, or never (S44). */
export type SuperviseUntil = (typeof UNTIL)[number]

/** How often children may be restarted: more is a `RestartIntensityError` (S43). */
export interface RestartIntensity {
  /** How many restarts are allowed; default 3. */
  restarts?: number
  /** The window, in milliseconds; default 5,000. */
  within?: number
}

/** What a plain function may return: anything but promises and iterators. */
type Plain =
  | void
  | string
  | number
  | bigint
  | boolean
  | symbol
  | null
  | undefined
  | (object & { then?: never; next?: never })

/** A child that `supervise` spins. */
export interface ChildSpec {
  /** Shown in trees and reports. */
  name?: string
  /** What it runs. */
  body: (...args: any[]) => Op<unknown> | Plain
  /** Arguments of the body, the same at every restart. */
  args?: readonly unknown[]
  /** Overrides the rule of the supervision. */
  restart?: RestartRule
  /** Milliseconds that its cleanup may wait when it is stopped. */
  grace?: number
}

/** Options of `supervise`. */
export interface SuperviseOptions extends BackoffOptions {
  /**
   * Which ends lead to a restart; default `'never'`. Then `strategy`, `intensity` and `backoff` matter only to children with a rule
   * of their own, and to those that a callback restarts.
   */
  restart?: RestartRule
  /** Which children are restarted together; default `'oneForOne'`. */
  strategy?: Strategy
  /** How often children may be restarted; default 3 times in 5,000 ms. */
  intensity?: RestartIntensity
  /** When supervision ends; default `'all'`. */
  until?: SuperviseUntil
  /**
   * Called at every end of a child, in the supervising fiber. It may call `fiber.restart()`, or return `'restart'` or
   * `'ignore'`, which overrides the rule. If it throws, supervision ends with that error.
   */
  onDone?: (fiber: Fiber<any, any>, outcome: Outcome<unknown>) => Op<unknown> | Plain
  /** Called at every failure of a child, before `onDone`, on the same terms. */
  onError?: (error: unknown, fiber: Fiber<any, any>) => Op<unknown> | Plain
}

/** The options, checked and complete. */
export interface Policy {
  readonly restart: RestartRule
  readonly strategy: Strategy
  readonly restarts: number
  readonly within: number
  readonly until: SuperviseUntil
  readonly onDone: SuperviseOptions['onDone']
  readonly onError: SuperviseOptions['onError']
  /** How long to wait before a child is restarted for the nth time in a row. */
  readonly delay: (nth: number) => number
}

const WHERE = 'supervise()'

const INTENSITY: Checks<RestartIntensity> = {
  restarts(count, what) {
    if (count === Infinity || (Number.isInteger(count) && count >= 0)) return
    throw new BadArgument(`${what} need a whole number of 0 or more, or Infinity, got ${show(count)}`)
  },
  within(ms, what) {
    if (check.timeLimit(ms, what) === 0) throw new BadArgument(`${what} needs a duration above 0, got 0`)
  },
}

const OPTIONS: Checks<SuperviseOptions> = {
  restart: check.oneOf(...RULES),
  strategy: check.oneOf(...STRATEGIES),
  intensity: (intensity, what) => check.options(intensity, INTENSITY, what),
  ...BACKOFF_OPTIONS,
  until: check.oneOf(...UNTIL),
  onDone: check.body,
  onError: check.body,
}

const CHILD: Checks<ChildSpec> = {
  name: check.name,
  body: check.body,
  args: check.array,
  restart: check.oneOf(...RULES),
  grace: check.timeLimit,
}

export function readPolicy(options: SuperviseOptions): Policy {
  const { restart = 'never', strategy = 'oneForOne', until = 'all' } = check.options(options, OPTIONS, WHERE)
  const { onDone, onError, intensity: { restarts = 3, within = 5000 } = {} } = options
  return { restart, strategy, until, onDone, onError, restarts, within, delay: readBackoff(options, WHERE) }
}

/** Throws for children that are invalid whatever the state of the tree. */
export function checkChildren(children: readonly (Fiber<any, any> | ChildSpec)[]): void {
  const seen = new Set<unknown>()
  for (const child of children) {
    if (!(child instanceof Fiber)) checkSpec(child)
    else if (seen.has(child)) throw new BadArgument(`${WHERE} was given ${child.path} twice`)
    else seen.add(child)
  }
}

function checkSpec(spec: ChildSpec): void {
  const where = `a child of ${WHERE}`
  if (typeof spec !== 'object' || spec === null) {
    throw new BadArgument(`${where} is a fiber or {name, body, args, restart, grace}, got ${show(spec)}`)
  }
  check.options(spec, CHILD, where, ['body'])
}
