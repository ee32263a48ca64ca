// What debug mode reports of ops that were made and never waited for.

import { setDebug } from '#core/debug'
import { type Routine, reports, spin, virtual } from '../prelude.js'

/** What a body has made and not waited for, by the reports of debug mode. */
export function forgotten(body: () => unknown): Promise<string[]> {
  setDebug(true)
  return virtual(function* (): Routine<string[]> {
    yield* spin(body as () => any)
    const floating = reports().filter((each) => each.startsWith('floating'))
    return floating.map((each) => each.slice('floating: '.length).split(' was made')[0] as string)
  }).finally(() => setDebug(false))
}
