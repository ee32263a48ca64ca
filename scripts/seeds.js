// Runs the tests that must hold in any order again with shuffled schedules: 20 seeds, or as many as given. Needs the build.
import { needBuilt, readArgs, wholeNumber } from './args.js'
import { runSuite, testFiles } from './suite.js'

const ROOMS = /^(semantics|sync|combine|supervise|time|proco)\//

const { words } = readArgs('npm run test:seeds -- [number of seeds]', {}, 1)
const seeds = wholeNumber('the number of seeds', words[0], 1) ?? 20
needBuilt('build/test')
const files = testFiles().filter((file) => ROOMS.test(file))

let wrong = 0
for (let seed = 1; seed <= seeds; seed++) {
  const failures = []
  const { failed } = await runSuite(files, {
    env: { POLY_SEED: String(seed) },
    onTest: (test) => test.error !== undefined && failures.push(test),
  })
  if (failed > 0) wrong++
  for (const { room, name, error } of failures)
    console.log(`POLY_SEED=${seed}: ${room} > ${name}\n${error}\n`)
  if (process.stdout.isTTY) process.stdout.write(`\rseeds: ${seed} of ${seeds} have run, ${wrong} failed`)
}
console.log(`\rseeds: ${seeds - wrong} of ${seeds} pass${' '.repeat(30)}`)
if (wrong > 0) process.exitCode = 1
