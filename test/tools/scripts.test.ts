// The scripts themselves: they work from any directory, refuse wrong arguments in a sentence, and every mutant has its place.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = new URL('../../../', import.meta.url)

/** A command that must not begin its work, and what it says instead. */
const wrong: [command: string, said: RegExp][] = [
  ['scripts/test.js --no-such', /'--no-such'; allowed: .*\[word/],
  ['scripts/watch.js --no-such', /'--no-such'; allowed: .*\[word/],
  ['scripts/coverage.js anything', /'anything'; allowed: .*no arguments/],
  ['scripts/ci.js anything', /'anything'; allowed: .*no arguments/],
  ['scripts/seeds.js abc', /whole number from 1 up, not 'abc'/],
  ['scripts/seeds.js 0', /whole number from 1 up, not '0'/],
  ['scripts/seeds.js 1 2', /'2'; allowed: .*\[number of seeds\]/],
  ['scripts/newest.js --no-such', /'--no-such'; allowed: .*\[word/],
  ['scripts/vitest.js anything', /'anything'; allowed: npm run test:vitest/],
  ['scripts/pack.js anything', /'anything'; allowed: .*no arguments/],
  ['scripts/changelog.js anything', /'anything'; allowed: npm run changelog/],
  ['scripts/release.js', /a version is missing; allowed: .*major\|minor\|patch\|x\.y\.z/],
  ['scripts/release.js big', /'big' is not a version; allowed: /],
  ['scripts/release.js 0.0.1', /0\.0\.1 is not after \d/],
  ['scripts/release.js minor --no-such', /'--no-such'; allowed: .*--dry-run/],
  ['scripts/commits.js', /the file with the message is missing/],
  ['scripts/example.js no-such', /one of: .*counter, /],
  ['scripts/reference.js --no-such', /'--no-such'; allowed: .*--check/],
  ['scripts/api.js --no-such', /'--no-such'; allowed: .*--write/],
  ['scripts/walks.js --no-such', /'--no-such'; allowed: .*--lines/],
  ['scripts/walks.js no-such', /there is no walk 'no-such'; there are: sleep, /],
  ['scripts/imports.js --no-such', /'--no-such'; allowed: .*\[room/],
  ['scripts/imports.js no-such', /there is no room 'no-such'; there are: .*core, /],
  ['scripts/mutate/main.js --no-such', /'--no-such'; allowed: .*--sample/],
  ['scripts/mutate/main.js --sample 2.5', /--sample must be a whole number from 1 up, not '2.5'/],
  ['scripts/mutate/main.js --sample', /'--sample <value>' argument missing; allowed: /],
  ['scripts/mutate/main.js S00', /no mutant breaks S00, and none is in a file of that name/],
  ['scripts/mutate/main.js --sample 2 --write', /--write is for all mutants/],
  ['scripts/mutate/main.js --seed 2', /--seed goes with --sample/],
  ['bench/run.js --no-such', /'--no-such'; allowed: .*--rounds/],
  ['bench/run.js --rounds many', /--rounds must be a whole number from 1 up, not 'many'/],
  [
    'bench/run.js --only theirs',
    /--only must be ours or async or effect or effection or .*tarn, not 'theirs'/,
  ],
  ['bench/run.js --node old', /--node must be current or newest or both, not 'old'/],
  ['bench/run.js no-such-row', /no row has 'no-such-row' in its name or file/],
  ['bench/run.js --short --quick --write', /--write is for the whole bench/],
  ['bench/compare.js --no-such', /'--no-such'; allowed: .*dist-before dist-after/],
  ['bench/compare.js dist', /two dist folders are needed/],
  ['bench/compare.js no-such dist', /there is no no-such\/index\.js/],
  ['bench/compare.js dist dist no-such-row', /no row has 'no-such-row' in its name or file/],
  ['bench/proco/main.js --no-such', /'--no-such'; allowed: .*--quick/],
  ['bench/proco/main.js --quick --write', /--write is for the whole bench: no --quick/],
  ['build/test/random/main.js --no-such', /'--no-such'; allowed: .*--runs/],
  ['build/test/random/main.js --runs 2.5', /--runs must be a whole number from 1 up, not '2.5'/],
  ['build/test/random/main.js --seed abc', /--seed must be a whole number from 0 to 2147483647, not 'abc'/],
  [
    'build/test/random/main.js --only no-such',
    /--only must be model or rules or constructs or proco, not 'no-such'/,
  ],
  ['build/test/random/main.js --path 1:2', /goes with the --seed/],
]

/** From elsewhere. */
function start(command: string): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const [file, ...args] = command.split(' ') as [string, ...string[]]
  const child = spawn(process.execPath, [fileURLToPath(new URL(file, root)), ...args], { cwd: tmpdir() })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })
}

describe('wrong arguments end a script with one sentence', { concurrency: 2 }, () => {
  for (const [command, said] of wrong) {
    test(command, async () => {
      const { code, stdout, stderr } = await start(command)
      assert.match(stderr, said)
      assert.match(stderr, /^[^\n]+\n$/, 'one line')
      assert.equal(stdout, '')
      assert.equal(code, 1)
    })
  }
})

test('a script works from any directory', async () => {
  const { code, stdout } = await start('scripts/api.js')
  assert.equal(code, 0)
  assert.equal(stdout, readFileSync(new URL('docs/api.txt', root), 'utf8'))
})

test('every mutant that was written by hand finds its text, exactly once in src', async () => {
  const { handMutants } = await import(new URL('scripts/mutate/hand.js', root).href)
  assert.ok(handMutants().length > 100)
})
