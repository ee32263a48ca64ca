// What every file of the library must have, how small it may be, and what its public names are.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { codeLines, isSplinter, MIN_LINES, readSources, type Source } from './sources.js'

/** Types, imports, comments and lone brackets aside. Why so many: docs/decisions/0005-size-of-the-core.md. */
const MAX_CORE_LINES = 4020

/** Files that are shorter still, and why. The list may only shrink. */
const SPLINTERS: Record<string, string> = {
  'proco/keys.ts': 'waits for the second edition of proco',
  'proco/proco.ts': 'waits for the second edition of proco',
  'proco/transport.ts': 'waits for the second edition of proco',
}

/** A file with more lines of code is more than one idea. */
const MAX_LINES = 450

const sources = readSources('src')

/** Lines of built code that say something: no comments, imports or lone brackets, and types are gone already. */
function statements(built: string): number {
  return built
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/^(import|export)\s[^;(]*?from\s.*$/gm, '')
    .replace(/ const [^;]*\$ = [^;]*; export \{.*\};$/m, '') // scripts/localize.js
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

test('what is exported is a constant of its module, unless it can change (scripts/localize.js)', () => {
  const missed = sources.filter(({ path }) => /^export (const|class|function)/m.test(builtText(path)))
  assert.deepEqual(
    missed.map(({ path }) => path),
    [],
  )
})

test(`no file is a splinter of fewer than ${MIN_LINES} lines`, () => {
  const short = sources.filter(isSplinter).map(({ path }) => path)
  const added = short.filter((path) => !(path in SPLINTERS))
  assert.deepEqual(added, [], 'put these into the file that they belong to')
  const gone = Object.keys(SPLINTERS).filter((path) => !short.includes(path))
  assert.deepEqual(gone, [], 'no splinters any more: take them off the list')
})

function withoutImports(source: Source): Source {
  return { ...source, text: source.text.replace(/^import\s[^;]*?from '.*'$/gm, '') }
}

test(`no file has more than ${MAX_LINES} lines of code, imports aside`, () => {
  const long = sources
    .filter((source) => codeLines(withoutImports(source)) > MAX_LINES)
    .map(({ path }) => path)
  assert.deepEqual(long, [])
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

test('every decision record has a number of its own, which its heading repeats', () => {
  const records = readdirSync('docs/decisions').sort()
  const numbers = records.map((name) => name.slice(0, 4))
  assert.deepEqual([...new Set(numbers)], numbers)
  for (const [i, name] of records.entries()) {
    assert.match(readFileSync(join('docs/decisions', name), 'utf8'), new RegExp(`^# ${numbers[i]}:? `), name)
  }
})

test('docs/api.txt is the API as it is built (npm run api writes it)', () => {
  const built = execFileSync(process.execPath, ['scripts/api.js'], { encoding: 'utf8' })
  assert.doesNotMatch(built, /\?\?\?/, 'every exported name has a declaration')
  assert.equal(readFileSync('docs/api.txt', 'utf8'), built)
})

test('a line of code is neither blank nor only comment', () => {
  const rows: [lines: string[], count: number][] = [
    [['// why', '', 'a()', '  // how', '  b() // and what'], 2],
    [['/** One', ' * two', ' */', 'a()'], 1],
    [['/* one */ a()', '/* two */'], 1],
    [['/*', '*/ a()'], 1],
    [["a('//')", 'b(/* */)'], 2],
  ]
  for (const [lines, count] of rows)
    assert.equal(codeLines({ path: '', room: '', text: lines.join('\n') }), count, lines.join('\n'))
})
