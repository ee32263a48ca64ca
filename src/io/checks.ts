// What the options of this room have in common: numbers that count something.

import { BadArgument, show } from '../core/index.js'

/** A whole number, `least` or more. `what` says of which option. */
export function checkCount(count: unknown, least: number, what: string): number {
  if (Number.isSafeInteger(count) && (count as number) >= least) return count as number
  throw new BadArgument(`${what} needs a whole number, ${least} or more, got ${show(count)}`)
}
