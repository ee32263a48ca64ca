// scripts/walks.js and scripts/imports.js: figures about the house itself.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = new URL('../../../', import.meta.url)

/** What a script prints, called from elsewhere. */
async function printed(script: string, ...args: string[]): Promise<string> {
  const file = fileURLToPath(new URL(script, root))
  const { stdout } = await promisify(execFile)(process.execPath, [file, ...args], { cwd: tmpdir() })
  return stdout
}

describe('walks', () => {
  test('each has calls, files and changes of file', async () => {
    const output = await printed('scripts/walks.js', '--times', '2')
    const [, , ...rows] = output.trimEnd().split('\n')
    assert.equal(rows.length, 5)
    for (const row of rows) {
      const [calls = 0, files = 0, changes = 0, empty = NaN] = [...row.matchAll(/\| (\d+)/g)].map(digitsOf)
      assert.ok(calls > changes && changes >= files && files > 5, row)
      assert.ok(empty >= 0, row)
    }
  })

  test('the way of a sleep is told call by call', async () => {
    const output = await printed('scripts/walks.js', 'sleep', '--times', '1', '--lines')
    const lines = output.split('\n')
    const places = ['time/sleep sleep', 'core/op BaseOp.next', 'core/runtime Runtime.turn', 'core/step step']
    const found = places.map((place) => lines.indexOf(place))
    assert.ok(!found.includes(-1), output)
    assert.deepEqual(
      found,
      found.toSorted((a, b) => a - b),
    )
  })
})

function digitsOf([, digits]: RegExpMatchArray): number {
  return Number(digits)
}

test('the rooms, cycles and sizes are told', async () => {
  const output = await printed('scripts/imports.js', 'time')
  assert.match(output, /^\| core \| \d+ \| [\d,]+ \| /m)
  assert.match(output, /^\| all \| \d+ \| /m)
  assert.match(output, /^cycles of imports by value: /m)
  assert.match(output, /^files under 40 lines: /m)
  assert.match(output, /^files over 450 lines of code: /m)
  assert.match(output, /^- loops: .*\bsleep\b/m)
})
