// The options of an executor: their names, defaults and checks. One of them at a time by the chain, or all by an object.

import { BadArgument, type Checks, check } from '../core/index.js'
import type { Logger } from './log.js'

/** How an executor works; `Proco.threads(4).batch(true)` says the same as `{ threads: 4, batch: true }`. */
export interface ProcoOptions {
  /** How many handlers run at a time; default 1. */
  threads?: number
  /** How many queues there are, each with its own dispatcher; default 1. */
  queues?: number
  /** How many items a queue holds before submitters wait; default 1,000. */
  queueSize?: number
  /** Milliseconds from one dispatch of a queue to the next; default 0: as soon as a handler is free. */
  interval?: number
  /** `true`: the handler gets an array of items; default `false`: one item. */
  batch?: boolean
  /** How many items a batch may have; a queue with so many is dispatched before its interval is over. Default: no limit. */
  batchSize?: number
  /** In batch mode: `'shared'`, one result for the whole batch (the default); `'each'`, the handler returns an array of them. */
  results?: 'shared' | 'each'
  /** Is told what happens. */
  logger?: Logger
  /** What trees and messages call it; default `proco`. */
  name?: string
}

/** With all defaults filled in. */
export type Setup = Required<Omit<ProcoOptions, 'logger'>> & { logger: Logger | undefined }

const DEFAULTS: Readonly<Setup> = Object.freeze({
  threads: 1,
  queues: 1,
  queueSize: 1000,
  interval: 0,
  batch: false,
  batchSize: Infinity,
  results: 'shared',
  logger: undefined,
  name: 'proco',
})

const LEVELS = ['debug', 'info', 'warn', 'error'] as const

const OPTIONS: Checks<ProcoOptions> = {
  threads: check.count,
  queues: check.count,
  queueSize: check.limit,
  interval: check.ms,
  batch: check.boolean,
  batchSize: check.limit,
  results: check.oneOf('shared', 'each'),
  logger: checkLogger,
  name: check.name,
}

function checkLogger(value: unknown, what: string): void {
  const missing = LEVELS.filter((level) => typeof (value as Logger | null)?.[level] !== 'function')
  if (missing.length === 0) return
  throw new BadArgument(
    `${what} needs the functions ${LEVELS.join(', ')}; ${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} missing`,
  )
}

export const OPTION_NAMES = Object.keys(OPTIONS) as (keyof ProcoOptions)[]

/** Checks one of them. */
export function checkOption(key: keyof ProcoOptions, value: unknown, where: string): unknown {
  check.options({ [key]: value }, OPTIONS, where, [key])
  return value
}

/** What is given, over what was given before, over the defaults. */
export function makeSetup(before: ProcoOptions, options: ProcoOptions, where: string): Setup {
  const given = Object.entries(check.options(options, OPTIONS, where)).filter(
    ([, value]) => value !== undefined,
  )
  const setup: Setup = { ...DEFAULTS, ...before, ...Object.fromEntries(given) }
  if (setup.results === 'each' && !setup.batch) {
    throw new BadArgument(
      `results: 'each' of ${where} needs batch: true; without it each item has its own result anyway`,
    )
  }
  return setup
}
