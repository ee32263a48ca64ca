// What scripts/suite.js makes of tests that fail in unusual ways: each is told, and none is taken for a success.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { after, describe, test } from 'node:test'

const { runSuite } = await import(new URL('../../../scripts/suite.js', import.meta.url).href)
const folder = mkdtempSync(join(tmpdir(), 'polyphony-suite-'))
after(() => rmSync(folder, { recursive: true }))

/** Runs the source of a test file; what it gives, and what was told of its tests. */
async function run(name: string, source: string) {
  writeFileSync(join(folder, `${name}.test.js`), `import { test } from 'node:test'\n${source}`)
  const told: string[] = []
  const onTest = ({ name, error }: { name: string; error?: string }) =>
    told.push(`${name}: ${error ?? 'passed'}`)
  const sum = await runSuite([relative(resolve('build/test'), join(folder, name))], { onTest })
  return { ...sum, told: told.join('\n') }
}

/** In both ways that node:test has. */
const LEFT_OUT = ['skip', 'todo'].map((way) => `test.${way}('a', () => {})`).join('\n')

describe('a test file', { concurrency: 2 }, () => {
  const wrong: [what: string, source: string, failed: number, told: RegExp][] = [
    ['with a failure', `test('a', () => { throw new Error('oops') })`, 1, /^a: Error: oops/],
    ['that ends the process', `test('a', () => process.exit(0))`, 1, /ended by code 0/],
    ['that ends it badly', `test('a', () => process.exit(3))`, 1, /ended by code 3/],
    ['that cannot be loaded', `import './nothing.js'`, 1, /Cannot find module/],
    ['with a rejection', `test('a', () => { Promise.reject(new Error('late')) })`, 1, /"Error: late"/],
    ['with tests left out', LEFT_OUT, 2, /^a: it is left out .*\na: it is left/],
    [
      'with a long error',
      `test('a', () => { throw new Error('x'.repeat(1e6)) })`,
      1,
      /and \d+ characters more/,
    ],
    [
      'that writes to descriptor 3',
      `import fs from 'node:fs'\ntest('a', () => fs.writeSync(3, 'no\\n'))`,
      0,
      /passed/,
    ],
  ]
  for (const [i, [what, source, failed, told]] of wrong.entries()) {
    test(what, async () => {
      const sum = await run(`wrong${i}`, source)
      assert.match(sum.told, told)
      assert.equal(sum.failed, failed, sum.told)
    })
  }

  test('that prints, leaves a file and a process', async () => {
    const { output, litter, passed } = await run(
      'litter',
      `import { spawn } from 'node:child_process'
       import { writeFileSync } from 'node:fs'
       test('a', () => {
         console.log('hello')
         writeFileSync(process.env.TMPDIR + '/left', '')
         spawn('sleep', ['60'], { stdio: 'ignore', detached: true }).unref()
       })`,
    )
    const expected = process.platform === 'linux' ? ['left', 'the process sleep 60'] : ['left']
    assert.deepEqual([output, litter, passed], ['hello\n', expected, 1])
  })
})
