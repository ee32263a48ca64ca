// The check of commit messages and its hook, and the settings of the editor that refer to other files.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Throwaway } from './throwaway.js'

const root = new URL('../../../', import.meta.url)
const { HOT_PATH, objection } = await import(new URL('scripts/commits.js', root).href)

test('every file on the list of the hot path exists', () => {
  assert.deepEqual(
    HOT_PATH.filter((file: string) => !existsSync(new URL(file, root))),
    [],
  )
})

test('a commit on the hot path has figures in its body, or says that it needs none', () => {
  const hot = ['src/core/step.ts', 'README.md']
  const wrong = [
    'Faster steps',
    'Faster steps: 67 ns', // in the subject, which has no room for before and after
    'Faster steps\n\nOne branch less, see #12.\n',
    'Faster steps\n\n# 67 ns in a comment of git\n',
    'Faster steps\n\n# ------------------------ >8 ------------------------\n+ 67 ns in the diff\n',
  ]
  for (const message of wrong) assert.match(objection(message, hot), /^src\/core\/step\.ts: on the hot path/)
  const right = [
    'Faster steps\n\nswitch, 1 fiber: 67 ns before, 61 ns after.\n',
    'Faster steps\n\nswitch, 1 fiber: 1.03x to 0.98x of async.\n',
    'Smaller fibers\n\n376 B, was 400 B.\n',
    'Comments\n\nNo hot path: only words.\n',
    "Merge branch 'faster'",
    'fixup! Faster steps',
  ]
  for (const message of right) assert.equal(objection(message, hot), undefined, message)
  assert.equal(objection('Words', ['README.md', 'src/io/udp.ts']), undefined)
})

test('the hook refuses the commit', () => {
  using place = new Throwaway(['scripts/commits.js', 'scripts/hooks'], {
    'package.json': '{ "type": "module" }',
    'src/core/step.ts': '',
  })
  place.git('config', 'core.hooksPath', 'scripts/hooks')
  place.write({ 'src/core/step.ts': '// faster\n' })
  const { code, stderr } = place.run('git', 'commit', '--all', '-m', 'Faster steps')
  assert.match(stderr, /src\/core\/step\.ts: on the hot path\. Name the row/)
  assert.equal(code, 1)
  place.git('commit', '--all', '-m', 'Faster steps', '-m', 'switch, 1 fiber: 67 ns to 61 ns')
  assert.equal(place.git('log', '-1', '--format=%s'), 'Faster steps')
})

test('the editor starts the compiled twin of the open test, after a task that exists', () => {
  const read = (file: string) => JSON.parse(readFileSync(new URL(file, root), 'utf8'))
  const [debug] = read('.vscode/launch.json').configurations
  const open: Record<string, string> = {
    workspaceFolder: '.',
    relativeFileDirname: 'test/sync',
    fileBasenameNoExtension: 'mutex.test',
  }
  const twin = debug.program.replaceAll(/\$\{(\w+)\}/g, (_: string, name: string) => open[name])
  assert.ok(existsSync(new URL(twin, root)), twin)
  assert.ok(existsSync(new URL(`${twin}.map`, root)), 'source map')
  const task = read('.vscode/tasks.json').tasks.find(({ label }: any) => label === debug.preLaunchTask)
  assert.ok(task.script in read('package.json').scripts)
})
