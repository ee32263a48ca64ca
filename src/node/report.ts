// Reports and errors as text on stderr, in sentences, with the fiber path. And which errors set the exit code without
// a message, such as the EPIPE of `prog | head -1`.

import { errorFiber, type Report, suppressedErrors, userStack } from '../core/index.js'

export function printReport(report: Report): void {
  const lines = [`polyphony: ${report.message}`]
  if (report.error !== undefined) lines.push(formatError(report.error))
  process.stderr.write(`${lines.join('\n')}\n`)
}

/** The error, its causes, the fiber it came from, and every error it suppressed. Each error is shown once. */
export function formatError(error: unknown, indent = '', shown = new Set<unknown>()): string {
  if (shown.has(error)) return `${indent}(shown above)`
  shown.add(error)
  const lines = [text(error)]
  const fiber = errorFiber(error)
  if (fiber !== undefined) lines.push(`    in fiber: ${fiber.path}`)
  for (let cause = causeOf(error); cause instanceof Error && !shown.has(cause); cause = causeOf(cause)) {
    shown.add(cause)
    lines.push(`  caused by: ${text(cause)}`)
  }
  const inside = error instanceof AggregateError ? error.errors : []
  inside.forEach((other, i) => {
    lines.push(`  one of ${inside.length}, no. ${i + 1}:`, formatError(other, '    ', shown))
  })
  const suppressed = suppressedErrors(error)
  suppressed.forEach((other, i) => {
    lines.push(`  suppressed ${i + 1} of ${suppressed.length}:`, formatError(other, '    ', shown))
  })
  return lines
    .join('\n')
    .split('\n')
    .map((line) => indent + line)
    .join('\n')
}

function causeOf(error: unknown): unknown {
  try {
    return (error as Error | null | undefined)?.cause
  } catch {
    return undefined
  }
}

function text(error: unknown): string {
  try {
    if (error instanceof Error) return userStack(String(error.stack ?? `${error.name}: ${error.message}`))
    return `thrown: ${JSON.stringify(error)}`
  } catch {
    return 'thrown: something that cannot be shown'
  }
}

// ---- errors that set the exit code without a word

const codes = new WeakMap<object, number>()

/** A program that ends because of this, as an error or its cause, prints nothing and exits with `code`. */
export function exitSilently(cause: object, code: number): void {
  codes.set(cause, code)
}

/** The exit code of an error that needs no words; undefined if there is something to be said. */
export function silentExitCode(error: unknown, told = new Set<unknown>()): number | undefined {
  told.add(error) // errors may suppress each other
  const others = suppressedErrors(error).filter((other) => !told.has(other))
  if (others.some((other) => silentExitCode(other, told) === undefined)) return undefined
  const seen = new Set<unknown>()
  for (let cause = error; cause instanceof Error && !seen.has(cause); cause = cause.cause) {
    const code = codes.get(cause)
    if (code !== undefined) return code
    seen.add(cause)
  }
  return undefined
}
