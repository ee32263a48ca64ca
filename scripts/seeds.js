// Runs the tests that must hold in any order again with shuffled schedules: 20 seeds, or as many as given, two at a time.
// Needs the build.
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { needBuilt, readArgs, wholeNumber } from './args.js'

const AT_ONCE = 2
const FOLDERS = ['semantics', 'sync', 'combine', 'supervise', 'time', 'proco']

const { words } = readArgs('npm run test:seeds -- [number of seeds]', {}, 1)
const seeds = wholeNumber('the number of seeds', words[0], 1) ?? 20
needBuilt('build/test')
/** All files in one process: to start one for each takes longer than their tests. */
const suite = FOLDERS.flatMap(testsIn)
  .map((file) => `import './${file}'`)
  .join('\n')

let next = 1
let done = 0
let failed = 0
showProgress()
await Promise.all(Array.from({ length: AT_ONCE }, runSome))
clearProgress()
console.log(`seeds: ${seeds - failed} of ${seeds} pass`)
if (failed > 0) process.exitCode = 1

async function runSome() {
  while (next <= seeds) {
    const seed = next++
    const { code, output } = await runSuite(seed)
    done++
    clearProgress()
    if (code !== 0) {
      failed++
      console.log(`POLY_SEED=${seed} failed:\n${failuresIn(output)}`)
    }
    showProgress()
  }
}

function testsIn(folder) {
  const names = readdirSync(`build/test/${folder}`).filter((name) => name.endsWith('.test.js'))
  return names.sort().map((name) => `build/test/${folder}/${name}`)
}

function runSuite(seed) {
  const child = spawn(process.execPath, ['--test-reporter=spec', '--input-type=module', '-e', suite], {
    env: { ...process.env, POLY_SEED: String(seed) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
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

/** What is at the end of a report; all of it if the suite never got there. */
function failuresIn(output) {
  const at = output.lastIndexOf('✖ failing tests:')
  return at < 0 ? output : output.slice(at)
}

/** One line that is written over; only a terminal can do that. */
function showProgress() {
  if (process.stdout.isTTY) process.stdout.write(`seeds: ${done} of ${seeds} have run, ${failed} failed`)
}

function clearProgress() {
  if (process.stdout.isTTY) process.stdout.write('\r\x1b[K')
}
