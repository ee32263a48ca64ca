// A reporter of node:test that hands events to scripts/suite.js: one line of JSON for each on file descriptor 3.
import { existsSync, readFileSync, writeSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { dirname, relative, resolve } from 'node:path'
import { inspect } from 'node:util'

const FD = 3
/** Characters of an error that are printed. */
const MOST = 4000
const path = []

export default async function* (events) {
  for await (const { type, data } of events) {
    if (type === 'test:dequeue') tell({ begin: data.name })
    if (type === 'test:diagnostic' && data.message.startsWith('Error: ')) tell({ said: data.message })
    if (type === 'test:start') path[data.nesting] = data.name
    if (type !== 'test:pass' && type !== 'test:fail') continue
    if (data.details.type === 'suite' && !isOwnFailure(data)) continue
    if (/does not match pattern/.test(data.skip)) continue // it was not asked for
    const name = [...path.slice(0, data.nesting), data.name].join(' > ')
    const event = { name, ms: data.details.duration_ms }
    if (data.skip !== undefined || data.todo !== undefined) event.error = 'it is left out (skip, todo)'
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
  const shown = text.replaceAll(/^ +at .*(node:internal|node:async_hooks).*\n?/gm, '').trimEnd()
  const rest = shown.length - MOST
  const cut = rest > 0 ? `${shown.slice(0, MOST)}\n... and ${rest} characters more` : shown
  return cut.replaceAll(/file:\/\/(\/\S+\.js):(\d+):(\d+)/g, original)
}

const maps = new Map()

/** The place in the source that a place in the built code comes from. */
function original(built, file, line, column) {
  if (!maps.has(file)) {
    const text = existsSync(`${file}.map`) ? readFileSync(`${file}.map`, 'utf8') : undefined
    maps.set(file, text === undefined ? undefined : new SourceMap(JSON.parse(text)))
  }
  const entry = maps.get(file)?.findEntry(line - 1, column - 1)
  if (entry?.originalSource === undefined) return built
  const source = relative('.', resolve(dirname(file), entry.originalSource))
  return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`
}

function tell(event) {
  writeSync(FD, `${JSON.stringify(event)}\n`)
}
