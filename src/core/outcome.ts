// How a fiber ended, as data. Built on demand from the fiber's own fields: nothing is kept for it.

import { ABANDONED, ERROR, VALUE } from './phase.js'

/** How a fiber ended: `yield* fiber.join()` gives one, and never throws. */
export type Outcome<T> =
  | { readonly type: 'value'; readonly value: T }
  | { readonly type: 'error'; readonly error: unknown }
  | { readonly type: 'stopped'; readonly value?: unknown }
  | { readonly type: 'abandoned' }

export function makeOutcome<T>(how: number, value: unknown): Outcome<T> {
  switch (how) {
    case VALUE:
      return { type: 'value', value: value as T }
    case ERROR:
      return { type: 'error', error: value }
    case ABANDONED:
      return { type: 'abandoned' }
    default:
      return { type: 'stopped', value }
  }
}
