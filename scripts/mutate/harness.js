// Stands in for node:test inside a workspace: collects tests instead of running them, so that any of them can be run
// alone and in any order. `child.js` runs them.
import { mock } from 'node:test'

export { mock }

/** Every test by its id: the file, the suites around it, and its name. */
export const tests = new Map()
let suite = null

/** Loads a test file; its tests are in `tests` afterwards. */
export async function load(file, url) {
  suite = { name: file, parent: null, hooks: { before: [], after: [], beforeEach: [], afterEach: [] } }
  await import(url)
  suite = null
}

export function describe(name, options, body = options) {
  const outer = suite
  suite = { name, parent: outer, hooks: { before: [], after: [], beforeEach: [], afterEach: [] } }
  try {
    body()
  } finally {
    suite = outer
  }
}
export { describe as suite }

export function test(name, options, body = options) {
  const path = [name]
  for (let each = suite; each !== null; each = each.parent) path.unshift(each.name)
  let id = path.join(' > ')
  for (let n = 2; tests.has(id); n++) id = `${path.join(' > ')} #${n}`
  tests.set(id, { id, name, body, suite, timeout: options?.timeout })
}
export { test as it }

const hook = (kind) => (body) => suite.hooks[kind].push(body)
export const before = hook('before')
export const after = hook('after')
export const beforeEach = hook('beforeEach')
export const afterEach = hook('afterEach')

/** Suites whose `before` has run and whose `after` is due at the end. */
const begun = new Set()

/** Runs one test with the hooks around it. Throws what it throws. */
export async function runTest({ name, body, suite }) {
  const suites = []
  for (let each = suite; each !== null; each = each.parent) suites.unshift(each)
  const afters = []
  const context = {
    name,
    diagnostic() {},
    after: (each) => afters.push(each),
    signal: new AbortController().signal,
  }
  for (const each of suites) {
    if (begun.has(each)) continue
    begun.add(each)
    for (const hook of each.hooks.before) await hook(context)
  }
  try {
    for (const { hooks } of suites) for (const hook of hooks.beforeEach) await hook(context)
    await body(context)
  } finally {
    for (const each of afters) await each()
    for (const { hooks } of suites.reverse()) for (const hook of hooks.afterEach) await hook(context)
  }
}

/** Runs what is due at the end of the suites that have begun. */
export async function endSuites() {
  for (const { hooks } of [...begun].reverse()) for (const hook of hooks.after) await hook()
}
