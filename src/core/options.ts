// Checks of arguments and options. The error names the argument and says what is allowed. Each options object has one table, with
// a check for each option:
//
//   checkOptions(given, { name: checkName, grace: checkTimeLimit }, 'spin()')
//     { nmae: 'x' }     spin() has no option "nmae"; there are: name, grace
//     { grace: -1 }     the grace of spin() needs a duration from 0 to 2147483647 milliseconds, or Infinity for no limit, got -1

import { checkSignal } from './abort.js'
import { checkBody } from './body.js'
import { BadArgument, show } from './errors.js'

/** The longest duration that timers of the platform can hold, about 24.8 days. */
const MAX_MS = 2 ** 31 - 1

/** Checks a value; `what` names it in the message: 'sleep()', 'the grace of spin()'. */
export type Check = (value: any, what: string) => unknown

/** The table of an options object: a check for each option. */
export type Checks<O> = { readonly [K in keyof O]-?: Check }

function refusal(what: string, needed: string, given: unknown): BadArgument {
  const verb = /^the \w*[^s]s of /.test(what) ? 'need' : 'needs' // the args of once() need ...
  return new BadArgument(`${what} ${verb} ${needed}, got ${show(given)}`)
}

/** A duration. */
export function checkMs(ms: unknown, what: string): number {
  if (typeof ms === 'number' && ms >= 0 && ms <= MAX_MS) return ms
  throw refusal(what, `a duration from 0 to ${MAX_MS} milliseconds`, ms)
}

/** A time limit: a duration, or `Infinity` for none. */
export function checkTimeLimit(ms: unknown, what: string): number {
  if (ms === Infinity || (typeof ms === 'number' && ms >= 0 && ms <= MAX_MS)) return ms
  throw refusal(what, `a duration from 0 to ${MAX_MS} milliseconds, or Infinity for no limit`, ms)
}

/** A name is shown in trees and reports. */
export function checkName(name: unknown, what: string): void {
  if (typeof name !== 'string' || name === '') throw refusal(what, 'a string that is not empty', name)
}

export function checkBoolean(given: unknown, what: string): void {
  if (typeof given !== 'boolean') throw refusal(what, 'true or false', given)
}

export function checkCount(count: unknown, what: string): number {
  if (Number.isSafeInteger(count) && (count as number) > 0) return count as number
  throw refusal(what, 'a whole number above 0', count)
}

/** How many there may be: a count, or `Infinity` for any number. */
export function checkLimit(limit: unknown, what: string): number {
  if (limit === Infinity || (Number.isSafeInteger(limit) && (limit as number) > 0)) return limit as number
  throw refusal(what, 'a whole number above 0, or Infinity', limit)
}

export function checkFunction(given: unknown, what: string): void {
  if (typeof given !== 'function') throw refusal(what, 'a function', given)
}

function checkArray(given: unknown, what: string): void {
  if (!Array.isArray(given)) throw refusal(what, 'an array', given)
}

/** A number in a range, both ends included. */
function numberFrom(least: number, most = Infinity): Check {
  const range = most === Infinity ? `of ${least} or more` : `from ${least} to ${most}`
  return (given, what) => {
    if (typeof given !== 'number' || !(given >= least && given <= most))
      throw refusal(what, `a number ${range}`, given)
  }
}

function oneOf(...words: readonly string[]): Check {
  return (given, what) => {
    if (!words.includes(given))
      throw refusal(what, `one of ${words.map((word) => `'${word}'`).join(', ')}`, given)
  }
}

/** A fiber. Known by its runtime, since this file must not load the class. */
export function checkFiber(fiber: unknown, what: string): void {
  const { runtime, generator } = (fiber ?? {}) as { runtime?: unknown; generator?: unknown }
  if (typeof runtime !== 'object' || generator === undefined) throw refusal(what, 'a fiber', fiber)
}

/** Options are an object with fields: an array, a promise or an error in their place is a mistake, and would pass for one without any. */
function isOptions(given: unknown): boolean {
  if (typeof given !== 'object' || given === null || given instanceof Error) return false
  return !(Symbol.iterator in given) && typeof (given as { then?: unknown }).then !== 'function'
}

/** Throws for unknown options, and for those that their check refuses. One that is undefined counts as left out. */
export function checkOptions<O extends object>(
  options: O,
  known: readonly string[] | NoInfer<Checks<O>>,
  where: string,
  required: readonly (keyof NoInfer<O>)[] = [],
): O {
  if (!isOptions(options)) throw refusal(where, 'an object of options', options)
  const isList = Array.isArray(known)
  for (const key of Object.keys(options) as (keyof O & string)[]) {
    if (isList ? !known.includes(key) : !Object.hasOwn(known, key)) {
      const names = isList ? known : Object.keys(known)
      const hint =
        key === 'timeout'
          ? '. For a time limit, put cancelAfter(ms, ...) or moveOnAfter(ms, ...) around it'
          : ''
      throw new BadArgument(`${where} has no option ${show(key)}; there are: ${names.join(', ')}${hint}`)
    }
    const value = options[key]
    if (!isList && value !== undefined) (known as Checks<O>)[key](value, `the ${key} of ${where}`)
  }
  for (const key of required) {
    if (options[key] === undefined) (known as Checks<O>)[key](undefined, `the ${String(key)} of ${where}`)
  }
  return options
}

/**
 * Checks of arguments. A wrong argument throws `BadArgument`, with a message that says what is allowed. The last argument of
 * each check names the value, for that message.
 *
 * ```ts
 * interface Options {
 *   timeout?: number
 *   mode?: 'fast' | 'safe'
 * }
 * const OPTIONS = { timeout: check.timeLimit, mode: check.oneOf('fast', 'safe') }
 * function open(options: Options = {}) {
 *   const { timeout = 1000 } = check.options(options, OPTIONS, 'open()')
 *   return timeout
 * }
 * console.log(open(), open({ timeout: 5 })) // 1000 5
 * try {
 *   open({ mode: 'odd' } as object)
 * } catch (error) {
 *   console.log((error as Error).message) // the mode of open() needs one of 'fast', 'safe', got "odd"
 * }
 * ```
 */
export const check = {
  /**
   * Throws for unknown options, and for those that their check refuses; returns the options. An option that is undefined counts as
   * left out, unless the last argument names it as required. Without checks, a list of names is enough.
   */
  options: checkOptions,
  /** A name that is not empty. */
  name: checkName,
  /** True or false. */
  boolean: checkBoolean,
  /** A duration in milliseconds. */
  ms: checkMs,
  /** A duration in milliseconds, or `Infinity`. */
  timeLimit: checkTimeLimit,
  /** A whole number above 0. */
  count: checkCount,
  /** A whole number above 0, or `Infinity`. */
  limit: checkLimit,
  /** Makes a check of a number in a range, both ends included: `check.number(0, 1)`, `check.number(0)`. */
  number: numberFrom,
  /** Makes a check of one of some words. */
  oneOf,
  /** A function of any kind. */
  function: checkFunction,
  /** An array. */
  array: checkArray,
  /** An `AbortSignal`. */
  signal: checkSignal,
  /** A body: not an async function, not an op itself (S05). */
  body: checkBody,
  /** Anything: what it may be is checked elsewhere, or there is nothing to check. */
  any: (): void => {},
} as const
