// Runs the compiler over test/types: what must compile does, what must not does not.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'

test('the types accept what is right and refuse the usual mistakes', () => {
  const { status, stdout, stderr } = spawnSync('node_modules/.bin/tsc', ['-p', 'tsconfig.types.json'], {
    encoding: 'utf8',
  })
  assert.equal(stdout + stderr, '')
  assert.equal(status, 0)
})
