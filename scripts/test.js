// Runs tests and prints a screen: a dot for ten tests, the failures at the end, and "N passed, N failed".
//
//   npm test                       what runs inside one process: a minute
//   npm test -- queue              only test files with "queue" in their path, long ones too
//   npm test -- S16                only tests of a rule, or with other words in their name
//   npm test -- --slow             also the ten slowest
//   npm run test:all               everything: also programs, documents, searches, memory
import { needBuilt, readArgs } from './args.js'
import { isLong, runSuite, testFiles } from './suite.js'

const DOT = 10
const { values: options, words } = readArgs(
  'npm test -- [word in the path of a test file, or in the name of a test ...] [--all] [--slow]',
  { all: { type: 'boolean' }, slow: { type: 'boolean' } },
  Infinity,
)
needBuilt('build/test')
const { files, pattern } = choose(testFiles())

let count = 0
const failures = []
const times = []
const start = performance.now()
const { passed, failed, cpu, litter } = await runSuite(files, {
  pattern,
  onTest(test) {
    times.push(test)
    if (test.error !== undefined) failures.push(test)
    if (test.error !== undefined) process.stdout.write('F')
    else if (++count % DOT === 0) process.stdout.write('.')
  },
})
process.stdout.write('\n')

for (const { room, name, error } of failures) {
  console.log(`\n${room} > ${name}\n${error.replaceAll(/^/gm, '    ')}`)
}
if (options.slow) printSlowest()
if (litter.length > 0) console.log(`\nleft in the temp folder: ${litter.join(', ')}`)
if (passed + failed === 0) console.log(`no test has ${quoted(words)} in its name or in the path of its file`)
const seconds = (performance.now() - start) / 1000
console.log(`\n${files.length} files, ${cpu.toFixed(0)} CPU-seconds in ${seconds.toFixed(0)} s`)
console.log(`${passed} passed, ${failed} failed`)
if (failed > 0 || passed === 0 || litter.length > 0) process.exitCode = 1

/** A word that is in the path of a file means those files, any other is looked for in the names of tests. */
function choose(all) {
  const usual = options.all ? all : all.filter((file) => !isLong(file))
  if (words.length === 0) return { files: usual }
  const found = all.filter((file) => words.some((word) => file.includes(word)))
  if (found.length > 0) return { files: found }
  return { files: usual, pattern: words.map((word) => word.replace(/[^\w\s]/g, '\\$&')).join('|') }
}

function printSlowest() {
  console.log('\nthe slowest:')
  for (const { room, name, ms } of times.sort((a, b) => b.ms - a.ms).slice(0, 10)) {
    console.log(`${ms.toFixed(0).padStart(7)} ms  ${room} > ${name}`)
  }
}

function quoted(list) {
  return list.map((word) => `'${word}'`).join(' or ')
}
