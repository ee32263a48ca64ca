// A reporter of node:test that hands events to scripts/suite.js: one line of JSON for each on file descriptor 3.
import { writeSync } from 'node:fs'
import { inspect } from 'node:util'

const FD = 3
const path = []

export default async function* (events) {
  for await (const { type, data } of events) {
    if (type === 'test:start') path[data.nesting] = data.name
    if (type !== 'test:pass' && type !== 'test:fail') continue
    if (data.details.type === 'suite' && !isOwnFailure(data)) continue
    if (data.skip !== undefined) continue // its name does not match the words that were asked for
    const name = [...path.slice(0, data.nesting), data.name].join(' > ')
    const event = { name, ms: data.details.duration_ms }
    if (type === 'test:fail') event.error = describe(data.details.error.cause ?? data.details.error)
    tell(event)
  }
  const { userCPUTime, systemCPUTime } = process.resourceUsage()
  tell({ cpu: (userCPUTime + systemCPUTime) / 1e6 })
}

/** A suite fails with its tests, which are told already; or by itself, in a hook or while it is being declared. */
function isOwnFailure({ details: { error } }) {
  return error !== undefined && error.failureType !== 'subtestsFailed'
}

/** The message and the frames of the project; what an error carries besides, if it is no failed assertion. */
function describe(error) {
  const text = error?.code === 'ERR_ASSERTION' ? error.stack : inspect(error)
  return text.replaceAll(/^ +at .*(node:internal|node:async_hooks).*\n?/gm, '').trimEnd()
}

function tell(event) {
  writeSync(FD, `${JSON.stringify(event)}\n`)
}
