// The one option of waits that the outside may answer too late.

import { BadArgument, checkOptions, show } from '../core/index.js'

/** What a wait for the outside may be told. */
export interface DiscardOptions<T> {
  /** Gets rid of a value that arrives after the fiber has left: closes it, releases it. */
  discard?: (value: T) => void
}

export function checkDiscard<T>(options: DiscardOptions<T>, where: string): ((value: T) => void) | undefined {
  const { discard } = checkOptions(options, ['discard'], where)
  if (discard === undefined || typeof discard === 'function') return discard
  throw new BadArgument(`${where} needs a function as discard, got ${show(discard)}`)
}
