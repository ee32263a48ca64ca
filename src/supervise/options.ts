// What `supervise` may be told, and its checks: wrong names and values are refused at the call.

import {
  BadArgument,
  checkBody,
  checkGrace,
  checkMs,
  checkName,
  checkOptions,
  Fiber,
  type Op,
  type Outcome,
  show,
} from '../core/index.js'
import { type BackoffOptions, readBackoff } from '../time/index.js'

const RULES = ['always', 'onError', 'never'] as const
/** Which ends of a child are answered by a restart. A child that somebody stopped is never restarted (S44). */
export type RestartRule = (typeof RULES)[number]

const STRATEGIES = ['oneForOne', 'oneForAll', 'restForOne'] as const
/** Who is restarted with a child: nobody else, all children, or those that were started after it (S42). */
export type Strategy = (typeof STRATEGIES)[number]

const UNTIL = ['any', 'all', 'never'] as const
/** When supervision is over: one child has ended for good, all have, or never (S44). */
export type SuperviseUntil = (typeof UNTIL)[number]

/** How often children may be restarted: more is a `RestartIntensityError` (S43). */
export interface RestartIntensity {
  /** So many restarts are allowed; 3 unless told otherwise. */
  restarts?: number
  /** Within so many milliseconds; 5,000 unless told otherwise. */
  within?: number
}

/** What a function may return that is not waited for: anything but promises and iterators. */
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
  /** What its body is called with, each time. */
  args?: readonly unknown[]
  /** Its own rule. */
  restart?: RestartRule
  /** Milliseconds that its cleanup may wait when it is stopped. */
  grace?: number
}

/** How to supervise. */
export interface SuperviseOptions extends BackoffOptions {
  /** Which ends are answered by a restart; default `'never'`. */
  restart?: RestartRule
  /** Who is restarted with a child; default `'oneForOne'`. */
  strategy?: Strategy
  /** How often children may be restarted; default 3 times in 5,000 ms. */
  intensity?: RestartIntensity
  /** When it is over; default `'all'`. */
  until?: SuperviseUntil
  /**
   * Called at every end, in the supervising fiber. May call `fiber.restart()`, or return `'restart'` or `'ignore'`: that
   * outweighs the rule. What it throws ends the supervision.
   */
  onDone?: (fiber: Fiber<any, any>, outcome: Outcome<unknown>) => Op<unknown> | Plain
  /** Called at every failure, before `onDone`, on the same terms. */
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

export function readPolicy(options: SuperviseOptions): Policy {
  const names = ['restart', 'strategy', 'intensity', 'backoff', 'jitter', 'until', 'onDone', 'onError']
  const { onDone, onError, intensity = {} } = checkOptions(options, names, WHERE)
  if (onDone !== undefined) checkBody(onDone, `the onDone of ${WHERE}`)
  if (onError !== undefined) checkBody(onError, `the onError of ${WHERE}`)
  return {
    restart: oneOf(options.restart ?? 'never', RULES, 'restart'),
    strategy: oneOf(options.strategy ?? 'oneForOne', STRATEGIES, 'strategy'),
    until: oneOf(options.until ?? 'all', UNTIL, 'until'),
    delay: readBackoff(options, WHERE),
    onDone,
    onError,
    ...readIntensity(intensity),
  }
}

function readIntensity(intensity: RestartIntensity): { restarts: number; within: number } {
  const where = `the intensity of ${WHERE}`
  const { restarts = 3, within = 5000 } = checkOptions(intensity, ['restarts', 'within'], where)
  if (!(Number.isInteger(restarts) || restarts === Infinity) || restarts < 0) {
    throw new BadArgument(`${where} needs restarts that are a whole number, 0 or more, got ${show(restarts)}`)
  }
  if (within !== Infinity && checkMs(within, where) === 0) {
    throw new BadArgument(`${where} needs a time above 0 in within`)
  }
  return { restarts, within }
}

/** Refuses what cannot be supervised, as far as can be seen from outside. */
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
  const { name, body, args, restart, grace } = checkOptions(
    spec,
    ['name', 'body', 'args', 'restart', 'grace'],
    where,
  )
  checkName(name, where)
  checkBody(body, where)
  checkGrace(grace, where)
  if (args !== undefined && !Array.isArray(args)) {
    throw new BadArgument(`the args of ${where} are an array, got ${show(args)}`)
  }
  if (restart !== undefined) oneOf(restart, RULES, 'restart')
}

function oneOf<T extends string>(given: T, allowed: readonly T[], what: string): T {
  if (allowed.includes(given)) return given
  const list = allowed.map((each) => `'${each}'`).join(', ')
  throw new BadArgument(`the ${what} of ${WHERE} is one of ${list}, got ${show(given)}`)
}
