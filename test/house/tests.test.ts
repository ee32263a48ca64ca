// Where tests are: every rule has its describe in the file of its chapter, and the other files mirror src.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { readSources, type Source } from './sources.js'

/** Rooms of test that are not rooms of src. */
const OWN_ROOMS = [
  'documents',
  'explore',
  'house',
  'programs',
  'random',
  'semantics',
  'shared',
  'tools',
  'types',
]
/** Files that a room may have beside those named after files of src. */
const OF_A_ROOM = ['everywhere', 'foreign', 'kinds', 'misuse']
/** Named after the day or the mood in which it was written, and not after its subject. */
const NO_SUBJECT = /\d$|^(hostile|order|extra|more|misc|other|new|old)/

interface Chapter {
  /** The file in test/semantics, without `.test.ts`: the first word of the title. */
  file: string
  rules: string[]
}

/** The chapters of docs/semantics.md that have rules. */
function chaptersOf(text: string): Chapter[] {
  const parts = text.split(/^## /m).slice(1)
  return parts
    .map((part) => ({
      file: part.slice(0, part.search(/\W/)).toLowerCase(),
      rules: [...part.matchAll(/^\*\*(S\d+b?) /gm)].map(([, rule]) => rule as string),
    }))
    .filter(({ rules }) => rules.length > 0)
}

/** What is wrong with the files in test/semantics. */
function misplacedRules(chapters: Chapter[], files: Map<string, string>): string[] {
  const wrong: string[] = []
  for (const { file, rules } of chapters) {
    const text = files.get(file)
    if (text === undefined) {
      wrong.push(`test/semantics/${file}.test.ts is missing`)
      continue
    }
    const found = [...text.matchAll(/^describe\(\s*['"`]([^\s'"`]+)/gm)].map(([, first]) => first as string)
    for (const rule of rules) {
      const count = found.filter((each) => each === rule).length
      if (count !== 1) wrong.push(`${rule} has ${count} describes in ${file}.test.ts`)
    }
    for (const each of found)
      if (!rules.includes(each)) wrong.push(`'${each}' does not belong in ${file}.test.ts`)
    if (/^(test|it)\(/m.test(text)) wrong.push(`${file}.test.ts has a test outside of the describe of a rule`)
  }
  const known = new Set(chapters.map(({ file }) => file))
  for (const file of files.keys())
    if (!known.has(file)) wrong.push(`${file}.test.ts is named after no chapter`)
  return wrong
}

/** What is wrong with the names of test files: paths under test and under src. */
function misplacedFiles(tests: string[], sources: string[]): string[] {
  return tests.flatMap((path) => {
    const [, room = '', name = ''] = /^(?:(.*)\/)?([^/]+)\.test\.ts$/.exec(path) ?? []
    if (NO_SUBJECT.test(name)) return `${path} does not say what it tests`
    if (OWN_ROOMS.includes(room.split('/')[0] as string)) return []
    if (OF_A_ROOM.includes(name) && sources.some((source) => source.startsWith(`${room}/`))) return []
    return sources.includes(`${room}/${name}.ts`)
      ? []
      : `${path} tests no file: there is no src/${room}/${name}.ts`
  })
}

/** Also by another name that people give to tests: it would never run. */
const isTest = ({ path }: Source) => /[.-](test|spec)\.ts$/.test(path)

test('every rule has one describe, in the file of its chapter', () => {
  const chapters = chaptersOf(readFileSync('docs/semantics.md', 'utf8'))
  const files = readdirSync('test/semantics')
    .filter((name) => name.endsWith('.test.ts'))
    .map((name): [string, string] => [name.slice(0, -8), readFileSync(`test/semantics/${name}`, 'utf8')])
  assert.deepEqual(misplacedRules(chapters, new Map(files)), [])
})

test('the other test files are named after the files of src that they test', () => {
  const paths = (sources: Source[]) => sources.map(({ path }) => path)
  assert.deepEqual(misplacedFiles(paths(readSources('test').filter(isTest)), paths(readSources('src'))), [])
})

describe('the check for places', () => {
  const chapters = chaptersOf('## Words\n\n## Ending a fiber\n\n**S11 One.** x\n\n**S16b Two.**\n')
  const rows: [string, Record<string, string>, RegExp | undefined][] = [
    ['all in place', { ending: "describe('S11 one', f)\ndescribe('S16b two', f)" }, undefined],
    ['a chapter without a file', {}, /ending\.test\.ts is missing/],
    ['a rule without a describe', { ending: "describe('S11 one', f)" }, /S16b has 0/],
    [
      'a rule twice',
      { ending: "describe('S11 a', f)\ndescribe('S11 b', f)\ndescribe('S16b', f)" },
      /S11 has 2/,
    ],
    [
      'a foreign describe',
      { ending: "describe('S11 a', f)\ndescribe('S16b b', f)\ndescribe('c', f)" },
      /'c' does not/,
    ],
    ['a test by itself', { ending: "describe('S11 a', f)\ndescribe('S16b b', f)\ntest('c', f)" }, /outside/],
    ['a file too many', { ending: "describe('S11 a', f)\ndescribe('S16b b', f)", more: '' }, /no chapter/],
  ]
  for (const [what, files, expected] of rows) {
    test(`rules: ${what}`, () => {
      const wrong = misplacedRules(chapters, new Map(Object.entries(files))).join('\n')
      if (expected === undefined) assert.equal(wrong, '')
      else assert.match(wrong, expected)
    })
  }

  const names: [string, RegExp | undefined][] = [
    ['sync/pool.test.ts', undefined],
    ['sync/misuse.test.ts', undefined],
    ['explore/permits.test.ts', undefined],
    ['sync/pools.test.ts', /no file/],
    ['sync/pool.spec.ts', /no file|does not say/],
    ['wild/misuse.test.ts', /no file/],
    ['pool.test.ts', /no file/],
    ['sync/hostile.test.ts', /does not say/],
    ['core/order3.test.ts', /does not say/],
  ]
  for (const [path, expected] of names) {
    test(`names: ${path}`, () => {
      const wrong = misplacedFiles([path], ['sync/pool.ts']).join('\n')
      if (expected === undefined) assert.equal(wrong, '')
      else assert.match(wrong, expected)
    })
  }
})
