// Checks of what callers give: option names, durations. A wrong one is refused by name, with what is allowed.

import { BadArgument, show } from './errors.js'

/** The longest duration that timers of the platform can hold, about 24.8 days. */
const MAX_MS = 2 ** 31 - 1

/** Refuses durations that cannot be meant. */
export function checkMs(ms: unknown, where: string): number {
  if (typeof ms === 'number' && ms >= 0 && ms <= MAX_MS) return ms
  throw new BadArgument(`${where} needs a duration from 0 to ${MAX_MS} milliseconds, got ${show(ms)}`)
}

/** A grace may be left out, and for ever is one. */
export function checkGrace(grace: unknown, where: string): void {
  if (grace !== undefined && grace !== Infinity) checkMs(grace, `the grace of ${where}`)
}

/** A name is shown in trees and reports. */
export function checkName(name: unknown, where: string): void {
  if (name === undefined || (typeof name === 'string' && name !== '')) return
  throw new BadArgument(`${where} needs a name that is a string, got ${show(name)}`)
}

/** Refuses option names that do not exist. */
export function checkOptions<O extends object>(options: O, names: readonly string[], where: string): O {
  if (typeof options !== 'object' || options === null) {
    throw new BadArgument(`${where} needs an object of options, got ${show(options)}`)
  }
  for (const key of Object.keys(options)) {
    if (!names.includes(key)) {
      throw new BadArgument(`${where} has no option ${show(key)}; there are: ${names.join(', ')}`)
    }
  }
  return options
}
