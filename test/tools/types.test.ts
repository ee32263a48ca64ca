// Runs the compiler over test/types: what must compile does, what must not does not.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

test('the types accept what is right and refuse the usual mistakes', () => {
  const { status, stdout, stderr } = spawnSync('node_modules/.bin/tsc', ['-p', 'tsconfig.types.json'], {
    encoding: 'utf8',
  })
  assert.equal(stdout + stderr, '')
  assert.equal(status, 0)
})

test('the declarations are sound, also for people whose compiler looks into them', () => {
  const { exports } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    exports: Record<string, { types?: string }>
  }
  const entries = Object.values(exports).flatMap(({ types }) => types ?? [])
  const options = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext', '--types', 'node']
  const { stdout, stderr } = spawnSync('node_modules/.bin/tsc', [...options, '--ignoreConfig', ...entries], {
    encoding: 'utf8',
  })
  assert.equal(stdout + stderr, '')
})
