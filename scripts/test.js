// Runs the suite: every *.test.js under build/test, or those whose path contains one of the words given.
// Ends with the line "N passed, N failed".
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { needBuilt, readArgs, refuse } from './args.js'

const { words } = readArgs('node scripts/test.js [word in the path of a test file ...]', {}, Infinity)
needBuilt('build/test')
const files = readdirSync('build/test', { recursive: true })
  .map((name) => join('build/test', String(name)))
  .filter((file) => file.endsWith('.test.js'))
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  .sort()
if (files.length === 0)
  refuse(`no test file has ${words.map((word) => `'${word}'`).join(' or ')} in its path`)

let passed = 0
let failed = 0
const stream = run({ files, concurrency: true })
stream.on('test:pass', (test) => {
  if (isCase(test)) passed++
})
stream.on('test:fail', (test) => {
  if (isCase(test)) failed++
})
stream.compose(new spec()).pipe(process.stdout)
stream.on('end', () => {
  setImmediate(() => {
    console.log(`\n${passed} passed, ${failed} failed`)
    if (failed > 0 || passed === 0) process.exitCode = 1
  })
})

/** Suites and files are not counted, unless a file itself failed. */
function isCase(test) {
  return (
    test.details?.type !== 'suite' && (!test.name.endsWith('.test.js') || test.details.error !== undefined)
  )
}
