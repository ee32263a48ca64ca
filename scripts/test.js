// Runs tests and prints a screen: a dot for ten tests, the failures at the end, and "N passed, N failed".
//
//   npm test                       what needs no process of Node for each test: a minute
//   npm test -- queue              the test files with "queue" in their path, long ones too; shows what they print
//   npm test -- S16                the tests of a rule, or with other words in their name
//   npm test -- --slow             also the ten slowest
//   npm run test:all               everything: also programs, documents, searches, memory
import { readFileSync } from 'node:fs'
import { needBuilt, readArgs } from './args.js'
import { isLong, runSuite, testFiles } from './suite.js'

const DOT = 10
const { values: options, words } = readArgs(
  'npm test -- [word in the path of a test file, or in the name of a test ...] [--all] [--slow]',
  { all: { type: 'boolean' }, slow: { type: 'boolean' } },
  Infinity,
)
needBuilt('build/test')

let count = 0
const tests = []
const start = performance.now()
const all = testFiles()
const usual = options.all ? all : all.filter((file) => !isLong(file))
/** Words that are in no path: they are looked for in the names of tests. */
const named = words.filter((word) => !all.some((file) => file.includes(word)))
const byPath = all.filter((file) => words.some((word) => file.includes(word)))
const sum = { files: 0, passed: 0, failed: 0, cpu: 0, litter: [], output: '' }
if (words.length === 0) await run(usual)
if (byPath.length > 0) await run(byPath)
if (named.length > 0) {
  const pattern = new RegExp(named.map(patternOf).join('|'), 'i')
  const others = all.filter(
    (file) => !byPath.includes(file) && (usual.includes(file) || hasText(file, pattern)),
  )
  await run(others, String(pattern))
}
process.stdout.write('\n')

for (const { room, name, error } of tests.filter(({ error }) => error !== undefined)) {
  console.log(`\n${room} > ${name}\n${error.replaceAll(/^/gm, '    ')}`)
}
if (words.length > 0 && sum.output !== '') console.log(`\nprinted:\n${sum.output.trimEnd()}`)
if (options.slow) printSlowest()
if (sum.litter.length > 0) console.log(`\nleft behind: ${sum.litter.join(', ')}`)
const unknown = named.filter((word) => !tests.some(({ name }) => new RegExp(patternOf(word), 'i').test(name)))
for (const word of unknown) console.log(`\nno test has '${word}' in its name or in the path of its file`)
const seconds = (performance.now() - start) / 1000
console.log(`\n${sum.files} files, ${sum.cpu.toFixed(0)} CPU-seconds in ${seconds.toFixed(0)} s`)
console.log(`${sum.passed} passed, ${sum.failed} failed`)
const isClean = sum.failed === 0 && sum.litter.length === 0 && unknown.length === 0
if (!isClean || sum.passed === 0) process.exitCode = 1

async function run(files, pattern) {
  const { passed, failed, cpu, litter, output } = await runSuite(files, { pattern, onTest })
  sum.files += files.length
  sum.passed += passed
  sum.failed += failed
  sum.cpu += cpu
  sum.litter.push(...litter)
  sum.output += output
}

function onTest(test) {
  tests.push(test)
  if (test.error !== undefined) process.stdout.write('F')
  else if (++count % DOT === 0) process.stdout.write('.')
}

/** A rule is meant whole: S1 is not S16. Of a name as it is printed, `suite > test`, the last part counts. */
function patternOf(word) {
  const last = word.split(' > ').at(-1).trim()
  const text = last.replace(/[^\w\s]/g, '\\$&')
  return /^S\d+b?$/i.test(last) ? `\\b${text}\\b` : text
}

/** Long tests are looked for only where the words are in the source. */
function hasText(file, pattern) {
  return pattern.test(readFileSync(`test/${file}.test.ts`, 'utf8'))
}

function printSlowest() {
  console.log('\nthe slowest:')
  for (const { room, name, ms } of tests.sort((a, b) => b.ms - a.ms).slice(0, 10)) {
    console.log(`${ms.toFixed(0).padStart(7)} ms  ${room} > ${name}`)
  }
}
