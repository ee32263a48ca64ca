// What people read when something goes wrong: on stderr, in sentences, with the fiber path.

import { errorFiber, type Report, suppressedErrors, userStack } from '../core/index.js'

export function printReport(report: Report): void {
  const lines = [`polyphony: ${report.message}`]
  if (report.error !== undefined) lines.push(formatError(report.error))
  process.stderr.write(`${lines.join('\n')}\n`)
}

/** The error, its causes, the fiber it came from, and every error it outshone. Each error is told once. */
export function formatError(error: unknown, indent = '', told = new Set<unknown>()): string {
  if (told.has(error)) return `${indent}(told above)`
  told.add(error)
  const lines = [text(error)]
  const fiber = errorFiber(error)
  if (fiber !== undefined) lines.push(`    in fiber: ${fiber.path}`)
  for (let cause = causeOf(error); cause instanceof Error && !told.has(cause); cause = causeOf(cause)) {
    told.add(cause)
    lines.push(`  caused by: ${text(cause)}`)
  }
  const inside = error instanceof AggregateError ? error.errors : []
  inside.forEach((other, i) => {
    lines.push(`  one of ${inside.length}, no. ${i + 1}:`, formatError(other, '    ', told))
  })
  const suppressed = suppressedErrors(error)
  suppressed.forEach((other, i) => {
    lines.push(`  suppressed ${i + 1} of ${suppressed.length}:`, formatError(other, '    ', told))
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
