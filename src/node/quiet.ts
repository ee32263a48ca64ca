// Errors that need no words: a program that ends of one says it with its exit code alone. `prog | head -1` is no crash.

import { suppressedErrors } from '../core/index.js'

const codes = new WeakMap<object, number>()

/** A program that ends because of this, as an error or its cause, prints nothing and exits with `code`. */
export function endQuietly(cause: object, code: number): void {
  codes.set(cause, code)
}

/** The exit code of an error that needs no words; undefined if there is something to be said. */
export function quietCode(error: unknown, told = new Set<unknown>()): number | undefined {
  told.add(error) // errors may suppress each other
  const others = suppressedErrors(error).filter((other) => !told.has(other))
  if (others.some((other) => quietCode(other, told) === undefined)) return undefined
  const seen = new Set<unknown>()
  for (let cause = error; cause instanceof Error && !seen.has(cause); cause = cause.cause) {
    const code = codes.get(cause)
    if (code !== undefined) return code
    seen.add(cause)
  }
  return undefined
}
