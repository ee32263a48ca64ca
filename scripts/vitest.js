// Runs the tests of docs/guides/testing.md that are written for vitest, under vitest, in a small project of its own
// (tools/vitest) that has this package installed as a user would have it: as a link in its node_modules.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { needBuilt, readArgs, refuse } from './args.js'

readArgs('npm run test:vitest', {})
needBuilt('dist')

const home = 'tools/vitest'
const vitest = join(home, 'node_modules/vitest/vitest.mjs')
if (!existsSync(vitest))
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: home, stdio: 'inherit' })
const link = join(home, 'node_modules/polyphony')
rmSync(link, { recursive: true, force: true }) // of a link, only the link
symlinkSync(resolve('.'), link, 'junction')

const tests = join(home, 'build')
rmSync(tests, { recursive: true, force: true })
mkdirSync(tests)
const guide = readFileSync('docs/guides/testing.md', 'utf8')
const blocks = [...guide.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code)
const forVitest = blocks.filter((code) => code.includes(" from 'vitest'"))
if (forVitest.length === 0) refuse('docs/guides/testing.md has no tests for vitest')
forVitest.forEach((code, i) => {
  writeFileSync(join(tests, `guide-${i + 1}.test.ts`), code)
})
process.exitCode =
  spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', '--dir', 'build'], {
    cwd: home,
    stdio: 'inherit',
  }).status ?? 1
