// Wrong input as a table: a call, the values that it refuses, and what its error says.

import { inspect } from 'node:util'
import { assert, test } from '../prelude.js'

export type Refusal = [what: string, call: (wrong: any) => unknown, wrongs: unknown[], message: RegExp]

/** Declares a test for each row: the call throws at once, for each of the values. */
export function refuses(rows: Refusal[], code = 'BAD_ARGUMENT'): void {
  for (const [what, call, wrongs, message] of rows) {
    const list = wrongs.map((wrong) => inspect(wrong, { breakLength: Infinity })).join(', ')
    test(`${what} refuses ${list}`, () => {
      for (const wrong of wrongs) assert.throws(() => call(wrong), { code, message })
    })
  }
}

/** Declares a test for each row: outside any fiber the call throws, and names what was used. */
export function needFiber(rows: [call: () => unknown, what: RegExp][]): void {
  for (const [call, what] of rows) {
    test(`${String(call).slice(6)} needs a fiber`, () =>
      assert.throws(call, (error: any) => error.code === 'NOT_IN_FIBER' && what.test(error.message)))
  }
}

/** Bodies that cannot be one. */
export const NO_BODIES = [undefined, null, 42, 'text', {}, async () => 1, (function* () {})()]
