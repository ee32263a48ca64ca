// What people read when something goes wrong: on stderr, in sentences, with the fiber path.

import { errorFiber, type Report, suppressedErrors } from '../core/index.js'

export function printReport(report: Report): void {
  const lines = [`polyphony: ${report.message}`]
  if (report.error !== undefined) lines.push(formatError(report.error))
  process.stderr.write(`${lines.join('\n')}\n`)
}

/** The error, its causes as Node shows them, the fiber it came from, and every error it outshone. */
export function formatError(error: unknown, indent = ''): string {
  const lines = [text(error)]
  const fiber = errorFiber(error)
  if (fiber !== undefined) lines.push(`    in fiber: ${fiber.path}`)
  for (let cause = (error as Error)?.cause; cause instanceof Error; cause = cause.cause) {
    lines.push(`  caused by: ${text(cause)}`)
  }
  const suppressed = suppressedErrors(error)
  suppressed.forEach((other, i) => {
    lines.push(`  suppressed ${i + 1} of ${suppressed.length}:`, formatError(other, '    '))
  })
  return lines
    .join('\n')
    .split('\n')
    .map((line) => indent + line)
    .join('\n')
}

function text(error: unknown): string {
  if (error instanceof Error) return error.stack ?? `${error.name}: ${error.message}`
  try {
    return `thrown: ${JSON.stringify(error)}`
  } catch {
    return `thrown: ${String(error)}`
  }
}
