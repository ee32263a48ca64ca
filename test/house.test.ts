// The rules of the house, read from the source: which room may know which, how long files are, what the API is.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'

/** Each room may import from the rooms before it. A new room must be given its place here. */
const FLOORS = ['core', 'view', 'time', 'sync', 'interop', 'combine', 'supervise', 'node', 'io', 'proco']
/** The side building: public, but nothing of the house imports it. */
const TESTING = 'testing'

const MAX_LINES = 300
/** Types, imports, comments and lone brackets aside. Why not 1,500: docs/decisions/0005-size-of-the-core.md. */
const MAX_CORE_LINES = 3050

interface Source {
  /** From src: 'core/fiber.ts'. */
  path: string
  room: string
  text: string
}

const sources: Source[] = readdirSync('src', { recursive: true })
  .map(String)
  .filter((path) => path.endsWith('.ts'))
  .map((path) => ({ path, room: roomOf(path), text: readFileSync(join('src', path), 'utf8') }))

/** '' for src/index.ts itself. */
function roomOf(path: string): string {
  return path.includes('/') ? (path.split('/')[0] as string) : ''
}

/** Everything a file imports or re-exports, types included. */
function importsOf({ text }: Source): string[] {
  const statements = /^(?:import|export)\b[^'"]*?\bfrom '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)/gm
  const code = text.replaceAll(/^ *\*.*$/gm, '') // examples in comments import too
  return [...code.matchAll(statements)].map((match) => (match[1] ?? match[2] ?? match[3]) as string)
}

/** Why a file may not import that; undefined if it may. */
function objection(source: Source, imported: string): string | undefined {
  const { path, room } = source
  if (!imported.startsWith('.')) {
    if (room === 'core') return 'the core knows no module but its own'
    return imported.startsWith('node:') ? undefined : 'no runtime dependencies'
  }
  const target = join(dirname(path), imported.replace(/\.js$/, '.ts'))
  const targetRoom = roomOf(target)
  if (!sources.some((other) => other.path === target)) return 'there is no such file'
  if (targetRoom === room) return undefined
  if (target !== `${targetRoom}/index.ts`) return 'another room is entered through its index.ts'
  if (targetRoom === TESTING) return 'nothing of the house imports the testing room'
  if (room === '') return undefined
  const floor = room === TESTING ? FLOORS.indexOf('time') : FLOORS.indexOf(room)
  return FLOORS.indexOf(targetRoom) < floor ? undefined : 'that room is on a higher floor'
}

/** Lines that are neither blank nor comment. */
function linesOfCode(text: string): number {
  let count = 0
  let inComment = false
  for (const line of text.split('\n').map((each) => each.trim())) {
    if (line.startsWith('/*')) inComment = true
    if (!inComment && line !== '' && !line.startsWith('//')) count++
    if (inComment && line.includes('*/')) {
      inComment = false
      if (!line.endsWith('*/')) count++ // code after a comment on the same line
    }
  }
  return count
}

/** Lines of built code that say something: no comments, imports or lone brackets, and types are gone already. */
function statements(built: string): number {
  return built
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/^(import|export)\s[^;(]*?from\s.*$/gm, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('//') && !/^[{}()[\];,]+$/.test(line)).length
}

test('every room has its floor', () => {
  const rooms = new Set(sources.map((source) => source.room).filter((room) => room !== ''))
  assert.deepEqual([...rooms].sort(), [...FLOORS, TESTING].sort())
})

test('a room imports only from lower floors, through their index, and the core from nobody', () => {
  const objections = sources.flatMap((source) =>
    importsOf(source).flatMap((imported) => {
      const why = objection(source, imported)
      return why === undefined ? [] : `src/${source.path} imports '${imported}': ${why}`
    }),
  )
  assert.deepEqual(objections, [])
})

test('the reader of imports sees every form, and objects where it should', () => {
  const text = [
    "import { a } from './a.js'",
    "import type { B } from '../time/index.js'",
    'import {',
    '  c,',
    "} from './c.js'",
    "export * from 'node:fs'",
    "import 'left-pad'",
    "const lazy = await import('./lazy.js')",
    " * import { an } from 'example'",
  ].join('\n')
  const source = { path: 'core/made-up.ts', room: 'core', text }
  assert.deepEqual(importsOf(source), [
    './a.js',
    '../time/index.js',
    './c.js',
    'node:fs',
    'left-pad',
    './lazy.js',
  ])
  const timer = { path: 'time/made-up.ts', room: 'time', text: '' }
  const tester = { path: 'testing/made-up.ts', room: 'testing', text: '' }
  assert.equal(objection(source, './ring.js'), undefined)
  assert.match(objection(source, './no-such-file.js') ?? '', /no such file/)
  assert.match(objection(source, '../time/index.js') ?? '', /higher floor/)
  assert.match(objection(source, 'node:fs') ?? '', /the core knows/)
  assert.equal(objection(timer, '../core/index.js'), undefined)
  assert.match(objection(timer, '../core/ring.js') ?? '', /index\.ts/)
  assert.match(objection(timer, '../node/index.js') ?? '', /higher floor/)
  assert.match(objection(timer, 'left-pad') ?? '', /dependencies/)
  assert.match(objection(timer, '../testing/index.js') ?? '', /testing room/)
  assert.equal(objection(tester, '../core/index.js'), undefined)
  assert.match(objection(tester, '../time/index.js') ?? '', /higher floor/)
})

test('lines of code are counted without comments and blank lines', () => {
  const text = '// a\n\n/** b */\n/**\n * c\n */\ncode()\n/** @internal */ field: number\n  *method() {}\n'
  assert.equal(linesOfCode(text), 3)
})

test(`no file has more than ${MAX_LINES} lines of code`, () => {
  const long = sources
    .map(({ path, text }) => ({ path, lines: linesOfCode(text) }))
    .filter(({ lines }) => lines > MAX_LINES)
  assert.deepEqual(long, [])
})

test(`the core has at most ${MAX_CORE_LINES} lines of code`, () => {
  const lines = sources
    .filter(({ room }) => room === 'core')
    .reduce(
      (sum, { path }) => sum + statements(readFileSync(join('dist', path.replace(/ts$/, 'js')), 'utf8')),
      0,
    )
  assert.ok(lines <= MAX_CORE_LINES, `the core has ${lines} lines of code`)
})

test('every file opens with a comment that says what it is for', () => {
  assert.deepEqual(
    sources.filter(({ text }) => !/^(\/\/|\/\*)/.test(text)).map(({ path }) => path),
    [],
  )
})

test('docs/api.txt is the API as it is built (npm run api writes it)', () => {
  const built = execFileSync(process.execPath, ['scripts/api.js'], { encoding: 'utf8' })
  assert.doesNotMatch(built, /\?\?\?/, 'every exported name has a declaration')
  assert.equal(readFileSync('docs/api.txt', 'utf8'), built)
})
