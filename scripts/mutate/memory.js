// What earlier runs have found, in build/mutants/results.json. A mutant that was noticed stays noticed while its own file
// and the test, with the helpers that it imports, are as they were; one that survived is tried again as soon as any test has changed.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { hashOf, hashOfTest } from './coverage.js'

const FILE = 'build/mutants/results.json'
/** By the key of the mutant: { by, why, source, test }. */
const known = existsSync(FILE) ? JSON.parse(readFileSync(FILE, 'utf8')) : {}
let saved = 0

/** Short hashes of files of the library, of test files, and of all tests together. */
export function fingerprints() {
  const source = cached((file) => hash(existsSync(`dist/${file}`) ? readFileSync(`dist/${file}`) : ''))
  const test = cached((file) => hashOfTest(file).slice(0, 16))
  return { source, test, tests: hashOf('build/test') }
}

function cached(make) {
  const cache = new Map()
  return (key) => {
    if (!cache.has(key)) cache.set(key, make(key))
    return cache.get(key)
  }
}

/** Results that still hold, by the key of the mutant. */
export function recall(prints) {
  const valid = new Map()
  for (const [key, { by, why, source, test }] of Object.entries(known)) {
    const [file] = key.split(' ')
    if (prints.source(file) === source && testPrint(prints, by) === test) valid.set(key, { by, why })
  }
  return valid
}

/** Keeps a result; it is written now and then, so that a run that is ended goes on where it was. */
export function remember(prints, { mutant, by, why }) {
  known[mutant.key] = { by, why, source: prints.source(mutant.file), test: testPrint(prints, by) }
  if (performance.now() - saved > 5000) save()
}

export function save() {
  mkdirSync('build/mutants', { recursive: true })
  writeFileSync(FILE, JSON.stringify(known))
  saved = performance.now()
}

function testPrint(prints, by) {
  return by === null ? prints.tests : prints.test(by.split(' ')[0])
}

function hash(bytes) {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 16)
}
