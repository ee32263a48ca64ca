// Everything that must pass on a clean clone, after npm ci: several jobs, two at a time. Called by .ci/run.
// A job that fails prints what it said. Ends with the sum of the suites: "N passed, N failed".
import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { readArgs } from './args.js'

readArgs('node scripts/ci.js, with no arguments')

/** The first ones in order, since all others need them. */
const FIRST = [
  ['lint', 'npx biome check .'],
  ['build', 'npm run --silent build'],
]
/** The longest first. */
const JOBS = [
  ['suite', 'node scripts/test.js --all'],
  ['suite on the newest Node', 'node scripts/newest.js --all'],
  ['mutants by hand', 'node scripts/mutate/main.js --hand --sample 12'],
  // On the virtual clock, and the same for the same code: it says the same here as it said before the commit.
  [
    'mutants by operators',
    'node scripts/mutate/main.js core/ sync/ combine/ supervise/ time/ --sample 20 --seed 1',
  ],
  ['package and bundles', 'node scripts/pack.js'],
  ['random programs', 'node build/test/random/main.js --seed 1'],
  ['seeds', 'node scripts/seeds.js 5'],
  ['bench runs', 'node bench/run.js --smoke'],
  ['short runs of the bench run', 'node bench/run.js --short --smoke --only ours,async'],
  ['bench of two builds runs', 'node bench/compare.js dist dist spin --smoke'],
  ['bench of proco runs', 'node bench/proco/main.js --quick'],
  ['coverage', 'node scripts/coverage.js'],
  ['reference', 'node scripts/reference.js --check'],
  ['tour', 'node build/examples/tour.js'],
]

const sum = { passed: 0, failed: 0 }
let broken = 0
const start = performance.now()
for (const job of FIRST) if (!(await runJob(job))) process.exit(1)
const queue = [...JOBS]
const worker = async () => {
  for (let job = queue.shift(); job !== undefined; job = queue.shift()) {
    if (!(await runJob(job))) broken++
  }
}
await Promise.all(Array.from({ length: Math.max(2, availableParallelism()) }, worker))
console.log(`${broken === 0 ? 'all jobs passed' : `${broken} jobs failed`} in ${seconds(start)}`)
console.log(`${sum.passed} passed, ${sum.failed} failed`)
if (broken > 0) process.exitCode = 1

async function runJob([name, command]) {
  const began = performance.now()
  const { code, output } = await run(command)
  const counts = /^(\d+) passed, (\d+) failed$/m.exec(output)
  if (counts !== null && command.includes('--all')) {
    sum.passed += Number(counts[1])
    sum.failed += Number(counts[2])
  }
  const result = code === 0 ? 'ok' : 'FAILED'
  console.log(`${result.padEnd(6)} ${name}${counts === null ? '' : ` (${counts[0]})`}, ${seconds(began)}`)
  if (code !== 0) console.log(output.slice(-20_000))
  return code === 0
}

/** A job has one process for its tests, since others run beside it. */
function run(command) {
  const env = { ...process.env, TEST_PROCESSES: '1' }
  const child = spawn(command, { shell: true, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  }
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, output }))
  })
}

function seconds(since) {
  return `${Math.round((performance.now() - since) / 1000)} s`
}
