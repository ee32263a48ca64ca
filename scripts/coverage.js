// Runs the tests of `npm test` with coverage and fails below the floor: npm run coverage. The report for people is
// build/coverage/index.html. c8 lives in a package of its own, tools/coverage.
import { execFileSync } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { needBuilt, readArgs } from './args.js'
import { isLong, runSuite, testFiles } from './suite.js'

/** Percent. They go up when the figures have, and never down. */
const FLOOR = { lines: 99, branches: 98, functions: 98 }

readArgs('npm run coverage, with no arguments')
needBuilt('build/test')
const home = 'tools/coverage'
const c8 = `${home}/node_modules/c8/bin/c8.js`
if (!existsSync(c8)) execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: home, stdio: 'inherit' })

const raw = 'build/coverage/raw'
rmSync('build/coverage', { recursive: true, force: true })
const files = testFiles().filter((file) => !isLong(file))
const { passed, failed } = await runSuite(files, {
  env: { NODE_V8_COVERAGE: raw },
  onTest: ({ room, name, error }) => error !== undefined && console.log(`${room} > ${name}\n${error}\n`),
})
console.log(`${passed} passed, ${failed} failed`)
const floor = Object.entries(FLOOR).map(([what, percent]) => `--${what}=${percent}`)
execFileSync(
  process.execPath,
  [
    c8,
    'report',
    '--temp-directory',
    raw,
    '--reports-dir',
    'build/coverage',
    '--include=src/**',
    '--include=dist/**',
    '--exclude-after-remap',
    '--reporter=text-summary',
    '--reporter=html',
    '--check-coverage',
    ...floor,
  ],
  { stdio: 'inherit' },
)
if (failed > 0) process.exitCode = 1
