// What every file of the library must have, how small it may be, and what its public names are.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readSources } from './sources.js'

/** Types, imports, comments and lone brackets aside. Why not 1,500: docs/decisions/0005-size-of-the-core.md. */
const MAX_CORE_LINES = 3050

/** One idea, one file: a file with fewer lines is rarely an idea. */
const MIN_LINES = 40
const MAY_BE_SHORT = /(^|\/)(index|errors|types)\.ts$/
/** Files that are shorter still. The list may only shrink. */
const SPLINTERS = [
  'core/abort.ts',
  'core/backend.ts',
  'core/options.ts',
  'core/outcome.ts',
  'interop/discard.ts',
  'io/adopt.ts',
  'io/checks.ts',
  'io/descriptors.ts',
  'io/disposal.ts',
  'io/filepath.ts',
  'io/filepipe.ts',
  'io/items.ts',
  'io/phase.ts',
  'io/tlsconnect.ts',
  'io/wide.ts',
  'node/quiet.ts',
  'node/treedump.ts',
  'proco/keys.ts',
  'proco/proco.ts',
  'proco/transport.ts',
  'supervise/held.ts',
  'sync/source.ts',
  'testing/seed.ts',
  'time/now.ts',
]

const sources = readSources('src')

/** Lines of built code that say something: no comments, imports or lone brackets, and types are gone already. */
function statements(built: string): number {
  return built
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/^(import|export)\s[^;(]*?from\s.*$/gm, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('//') && !/^[{}()[\];,]+$/.test(line)).length
}

test(`the core has at most ${MAX_CORE_LINES} lines of code`, () => {
  const lines = sources
    .filter(({ room }) => room === 'core')
    .reduce((sum, { path }) => sum + statements(builtText(path)), 0)
  assert.ok(lines <= MAX_CORE_LINES, `the core has ${lines} lines of code`)
})

function builtText(path: string): string {
  return readFileSync(join('dist', path.replace(/ts$/, 'js')), 'utf8')
}

test(`no file is a splinter of fewer than ${MIN_LINES} lines`, () => {
  const short = sources
    .filter(({ path, text }) => text.split('\n').length <= MIN_LINES && !MAY_BE_SHORT.test(path))
    .map(({ path }) => path)
  const added = short.filter((path) => !SPLINTERS.includes(path))
  assert.deepEqual(added, [], 'put these into the file that they belong to')
  const gone = SPLINTERS.filter((path) => !short.includes(path))
  assert.deepEqual(gone, [], 'no splinters any more: take them off the list')
})

test('every file opens with a comment that says what it is for', () => {
  assert.deepEqual(
    sources.filter(({ text }) => !/^(\/\/|\/\*)/.test(text)).map(({ path }) => path),
    [],
  )
})

test('no example names the temp folder of one system: what it writes would be left there, and two runs would share it', () => {
  assert.deepEqual(
    sources.filter(({ text }) => text.includes('/tmp/')).map(({ path }) => path),
    [],
  )
})

test('docs/api.txt is the API as it is built (npm run api writes it)', () => {
  const built = execFileSync(process.execPath, ['scripts/api.js'], { encoding: 'utf8' })
  assert.doesNotMatch(built, /\?\?\?/, 'every exported name has a declaration')
  assert.equal(readFileSync('docs/api.txt', 'utf8'), built)
})
