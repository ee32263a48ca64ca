// Standard input, as programs in their own processes see it. Input stays open unless a test says otherwise, and a
// program that does not let go of it is named on stderr: a clean stderr means that it ended at once.

import assert from 'node:assert/strict'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { NotInFiber } from 'polyphony'
import { gets, stdin } from 'polyphony/io'
import { program } from '../prelude.js'
import { type Line, talk } from '../talk.js'

const file = fileURLToPath(new URL('../programs/stdin.js', import.meta.url))

async function said(mode: string, lines: Line[], input?: 'ignore' | number): Promise<string[]> {
  const { code, stdout, stderr } = await talk(file, [mode], lines, input)
  assert.deepEqual([code, stderr], [0, ''])
  return stdout.trimEnd().split('\n')
}

describe('standard input', { concurrency: 2 }, () => {
  test('gets() gives lines as they come, then undefined for ever', async () => {
    const lines = [
      { seen: '', write: 'one\ntwo\r\n' },
      { seen: '> two', write: 'thr' },
      { seen: '', write: 'ee' },
      { seen: '' },
    ]
    assert.deepEqual(await said('echo', lines), ['> one', '> two', '> three', 'end undefined undefined'])
  })

  test('input that is empty from the start is at its end', async () => {
    assert.deepEqual(await said('echo', [{ seen: '' }]), ['end undefined undefined'])
    assert.deepEqual(await said('echo', [], 'ignore'), ['end undefined undefined'])
  })

  test('a program whose input was closed by its parent reads its end', async () => {
    const { code, stdout } = await program(`
      import { spawnSync } from 'node:child_process'
      const shell = ['-c', '"$0" "$1" echo <&-', process.execPath, ${JSON.stringify(file)}]
      const { status, stdout } = spawnSync('sh', shell, { encoding: 'utf8' })
      console.log(status, stdout.trimEnd())`)
    assert.deepEqual([code, stdout], [0, '0 end undefined undefined\n'])
  })

  test('a file can be standard input', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'polyphony-stdin-'))
    const path = join(folder, 'input.txt')
    const expected = Array.from({ length: 20_000 }, (_, i) => `> line ${i}`) // several chunks
    writeFileSync(path, expected.map((line) => `${line.slice(2)}\n`).join(''))
    const input = openSync(path, 'r')
    try {
      assert.deepEqual(await said('echo', [], input), [...expected, 'end undefined undefined'])
    } finally {
      closeSync(input)
      rmSync(folder, { recursive: true })
    }
  })

  test('one gets() after another, each with a line of its own', async () => {
    const lines = [
      { seen: 'first?', write: 'a\n' },
      { seen: 'second?', write: 'b\n' },
    ]
    assert.deepEqual(await said('two lines', lines), ['first?', 'second?', 'a b'])
    assert.deepEqual(await said('two lines', [{ seen: '', write: 'a\nb\nc\n' }]), [
      'first?',
      'second?',
      'a b',
    ])
  })

  test('a line that comes after a time-out goes to the next gets()', async () => {
    assert.deepEqual(await said('time out', [{ seen: 'and now?', write: 'here\n' }]), [
      'nobody spoke',
      'and now?',
      'here',
    ])
  })

  test('half a line that came before a time-out is not lost', async () => {
    const lines = [
      { seen: '', write: 'he' },
      { seen: 'and now?', write: 're\n' },
    ]
    assert.deepEqual(await said('time out', lines), ['nobody spoke', 'and now?', 'here'])
  })

  test('a wait can be stopped, and the next one reads on', async () => {
    assert.deepEqual(await said('stop while waiting', [{ seen: 'who', write: 'me\n' }]), [
      'stdin.gets()',
      'stopped',
      'who is there?',
      'me',
    ])
  })

  test('S64 waiting holds the process by itself, and is no deadlock', async () => {
    const { code, stdout, stderr } = await program(`
      import { PassThrough } from 'node:stream'
      import { main } from 'polyphony'
      import { NodeChannel } from '#io/nodechannel'
      import { Stream } from '#io/stream'
      const stream = new PassThrough()
      const reader = new Stream((flow) => new NodeChannel('quiet', flow, { readable: () => stream }))
      main(function* () {
        setTimeout(() => stream.write('at last\\n'), 50).unref()
        console.log(yield* reader.gets())
      })`)
    assert.deepEqual([code, stdout, stderr], [0, 'at last\n', ''])
  })

  test('a main that returns while another fiber waits for input ends the program', async () => {
    assert.deepEqual(await said('main returns', []), ['main returns'])
    assert.deepEqual(await said('main returns at once', []), ['main returns'])
  })

  test('input that nobody reads does not keep the program', async () => {
    const lines = [{ seen: 'ready', write: `first\n${'more\n'.repeat(100_000)}` }]
    assert.deepEqual(await said('main returns with input left', lines), ['ready', 'first'])
  })

  test('standard input is left as it was: others can read it when no fiber waits', async () => {
    const lines = [
      { seen: 'ready', write: 'ours\n' },
      { seen: 'more', write: 'theirs\n' },
    ]
    assert.deepEqual(await said('read beside Node', lines), ['ready', 'ours', 'more', 'Node got theirs'])
  })

  test('standard input that somebody pauses while a fiber waits flows on', async () => {
    assert.deepEqual(await said('paused by another', [{ seen: 'paused', write: 'heard\n' }]), [
      'paused',
      'heard',
    ])
  })

  test('importing the room opens nothing', async () => {
    const { code, stdout, stderr } = await program(`
      import 'polyphony/io'
      const pipes = () => process.getActiveResourcesInfo().filter((name) => name === 'PipeWrap').length
      const before = pipes()
      process.stdin
      console.log(before, pipes())`)
    assert.deepEqual([code, stdout, stderr], [0, '0 1\n', ''])
  })

  test('outside a fiber both say so, and what to do', () => {
    for (const op of [gets(), stdin.gets(), stdin.read()]) {
      assert.throws(
        () => op[Symbol.iterator]().next(),
        (error) =>
          error instanceof NotInFiber && /^stdin\.\w+\(\) was used outside .*main\(/.test(error.message),
      )
    }
  })
})
