// The bench as a tool: two builds beside each other, and short runs. Whether every row runs is for CI (bench/run.js --smoke).

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../../../', import.meta.url))

async function printed(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root })
  return stdout
}

describe('the bench', { concurrency: 2 }, () => {
  test('two builds take turns in a row', async () => {
    const output = await printed('bench/compare.js', 'dist', 'dist', 'message', '--smoke')
    assert.match(output, /^message between two fibers +\d.*s +\d.*s +\d\.\d\dx \(/m)
  })

  test('two builds take turns in short runs', async () => {
    const output = await printed('bench/compare.js', 'dist', 'dist', 'message', '--smoke', '--short')
    assert.match(output, /^message between two fibers .*x \(.*\) +\d\.\d\dx \(/m)
  })

  test('a short run gives the figures of each operation and of the process', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'polyphony-bench-'))
    try {
      const file = join(folder, 'figures.json')
      const only = ['--only', 'ours,async']
      await printed('bench/run.js', 'message', '--short', '--smoke', ...only, '--json', file)
      const [{ results }] = JSON.parse(readFileSync(file, 'utf8')).nodes
      assert.equal(results[0].name, 'message between two fibers')
      for (const who of ['ours', 'async']) {
        assert.ok(results[0].figures[who][0] > 0)
        assert.ok(results[0].whole[who][0] > 1)
      }
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
