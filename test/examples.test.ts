// Every example is run as a program of its own, with its output in a pipe, as CI and `npm start | cat` see it.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const tour = fileURLToPath(new URL('../examples/tour.js', import.meta.url))
const { status, stdout, stderr } = spawnSync(process.execPath, [tour], { encoding: 'utf8', timeout: 60_000 })

test('the tour ends by itself with code 0 and a clean stderr', () => {
  assert.equal(stderr, '')
  assert.equal(status, 0)
})

test('the tour shows what it promises, scene by scene', () => {
  const lines = [
    /bread +step 1 of 3/, // side by side
    /sideBySide +served: soup,bread/,
    /timeOut +nobody answered/,
    /uploader +finally: done/,
    /stopping +the uploader is dead, its outcome: stopped/,
    /counter +100/,
    /restarting +it was started 2 times/,
    /metrics +stopped, because a sibling failed/,
    /errors +caught "connection reset", from .*server > connection/,
    /carol {2}waiting for bob to end/, // the live tree
    /left {2}waiting for receive\(\)/, // the deadlock
    /Still alive: 1 fiber \(this one\), 0 timers/,
  ]
  for (const line of lines) assert.match(stdout, line)
})

test('S16 in the tour the code after a stop never runs', () => {
  // The only such line is the one of the source that is shown.
  const said = stdout.split('\n').filter((line) => line.includes('THIS LINE NEVER RUNS'))
  assert.equal(said.length, 1)
  assert.match(said[0] as string, /^ {2}\| /)
})

test('the tour writes plain text where nobody has a screen', () => {
  assert.ok(!stdout.includes('\x1b'), 'an escape sequence was found')
})
