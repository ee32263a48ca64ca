// Runs tests of a workspace in one process and tells of each on file descriptor 3, one line of JSON for an event.
// Its job is the file given as argument: { steps: [{ file, ids | null }], stopAtFirst, reached }
import { readdirSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { endSuites, load, runTest, tests } from './harness.js'

const here = new URL('.', import.meta.url)
const job = JSON.parse(readFileSync(process.argv[2], 'utf8'))
globalThis.$harness = true
const tell = (event) => writeSync(3, `${JSON.stringify(event)}\n`)

let failure = null
let noticed = () => {}
const uncaught = (error) => {
  failure ??= { error }
  noticed(failure)
}
process.on('uncaughtException', uncaught)
process.on('unhandledRejection', uncaught)

const loaded = new Set()
/** What runs when modules are loaded counts for every test. */
const atLoad = []
main: for (const { file, ids } of job.steps) {
  if (!loaded.has(file)) {
    loaded.add(file)
    tell({ begin: `${file} (loading)` })
    try {
      await load(file, new URL(`build/test/${file}`, here).href)
    } catch (error) {
      tell({ end: `${file} (loading)`, error: String(error?.stack ?? error).slice(0, 400) })
      if (job.stopAtFirst) break
      continue
    }
    tell({ end: `${file} (loading)` })
    if (job.reached) atLoad.push(...reachedIds())
  }
  for (const id of ids ?? [...tests.keys()].filter((each) => each.startsWith(`${file} > `))) {
    const test = tests.get(id)
    if (test === undefined) continue
    globalThis.$reached?.fill(0)
    failure = null
    tell({ begin: id })
    const start = process.hrtime.bigint()
    const surprise = new Promise((resolve) => {
      noticed = resolve
    })
    const ended = runTest(test).then(
      () => null,
      (error) => ({ error }),
    )
    let outcome = await Promise.race([ended, surprise])
    if (outcome === null) {
      await new Promise((resolve) => setImmediate(resolve)) // a rejection that is not handled is told now
      outcome = failure
    }
    const ms = Number(process.hrtime.bigint() - start) / 1e6
    const event = { end: id, ms: Math.round(ms * 100) / 100 }
    if (outcome !== null) event.error = String(outcome.error?.stack ?? outcome.error).slice(0, 400)
    if (job.reached) event.reached = [...new Set([...atLoad, ...reachedIds()])]
    tell(event)
    if (outcome !== null && job.stopAtFirst) break main
  }
}
tell({ done: true })
await endSuites().catch(() => {})
process.exit(0)

/** By this process and by those that the test started. */
function reachedIds() {
  const ids = new Set()
  const reached = globalThis.$reached
  if (reached !== undefined) for (let id = 0; id < reached.length; id++) if (reached[id] === 1) ids.add(id)
  const folder = new URL('reached/', here)
  for (const name of readdirSync(folder)) {
    for (const id of readFileSync(new URL(name, folder), 'utf8').split(','))
      if (id !== '') ids.add(Number(id))
    rmSync(new URL(name, folder))
  }
  return [...ids]
}
