// Standard input, output and error as programs in their own processes see them: real pipes, files, readers that are late or gone.

import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { assert, describe, type Ended, ended, program, test } from '../prelude.js'
import { type Line, talk } from '../talk.js'
import { start } from './run.js'

const stdin = fileURLToPath(new URL('./stdin.js', import.meta.url))
const startStdout = (mode: string) => start('stdout', { args: [mode] })

describe('standard input', { concurrency: 2 }, () => {
  const talks: [mode: string, lines: Line[], said: string[]][] = [
    [
      'echo',
      [
        { seen: '', write: 'one\ntwo\r\n' },
        { seen: '> two', write: 'thr' },
        { seen: '', write: 'ee' },
        { seen: '' },
      ],
      ['> one', '> two', '> three', 'end undefined undefined'],
    ],
    [
      'time out',
      [
        { seen: '', write: 'he' },
        { seen: 'and now?', write: 're\n' },
      ],
      ['nobody spoke', 'and now?', 'here'],
    ],
    [
      'stop while waiting',
      [{ seen: 'who', write: 'me\n' }],
      ['stdin.gets()', 'stopped', 'who is there?', 'me'],
    ],
    [
      'main returns with input left',
      [{ seen: 'ready', write: `first\n${'more\n'.repeat(100_000)}` }],
      ['ready', 'first'],
    ],
    [
      'read beside Node',
      [
        { seen: 'ready', write: 'ours\n' },
        { seen: 'more', write: 'theirs\n' },
      ],
      ['ready', 'ours', 'more', 'Node got theirs'],
    ],
    ['paused by another', [{ seen: 'paused', write: 'heard\n' }], ['paused', 'heard']],
  ]
  for (const [mode, lines, said] of talks) {
    // A program that does not let go of its input, which stays open, is named on stderr.
    test(`${mode}: ${said.at(-1)}`, async () => {
      const { code, stdout, stderr } = await talk(stdin, [mode], lines)
      assert.deepEqual([code, stderr, stdout.trimEnd().split('\n')], [0, '', said])
    })
  }

  test('a file, nothing at all, or what the parent has closed can be standard input', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'polyphony-stdin-'))
    const path = join(folder, 'input.txt')
    const lines = Array.from({ length: 20_000 }, (_, i) => `line ${i}\n`) // several chunks
    writeFileSync(path, lines.join(''))
    const input = openSync(path, 'r')
    const end = 'end undefined undefined\n'
    try {
      const { stdout } = await talk(stdin, ['echo'], [], input)
      assert.equal(stdout, lines.map((line) => `> ${line}`).join('') + end)
    } finally {
      closeSync(input)
      rmSync(folder, { recursive: true })
    }
    assert.equal((await talk(stdin, ['echo'], [], 'ignore')).stdout, end)
    const shell = ['-c', '"$0" "$1" echo <&-', process.execPath, stdin]
    assert.equal(spawnSync('sh', shell, { encoding: 'utf8' }).stdout, end)
  })
})

/** Reads nothing of the output until this has been said on stderr. */
async function readLate(mode: string, heard: string): Promise<Ended> {
  const child = startStdout(mode)
  let said = ''
  await new Promise<void>((resolve) =>
    child.stderr.setEncoding('utf8').on('data', (text) => {
      said += text
      if (said.includes(heard)) resolve()
    }),
  )
  return ended(child)
}

/** Reads one line, and goes away. */
function readOne(mode: string): Promise<Ended> {
  const child = startStdout(mode)
  child.stdout.once('data', () => child.stdout.destroy())
  return ended(child)
}

describe('standard output', { concurrency: 2 }, () => {
  test('keeps its order, also with console.log, and is never closed', async () => {
    const order = await ended(startStdout('order'))
    const expected = [0, 1, 2].map((i) => `write ${i}\nlog ${i}\n`).join('')
    assert.deepEqual([order.code, order.stdout, order.stderr], [0, expected, 'aside\n'])
    const open = await ended(startStdout('never closed'))
    assert.deepEqual([open.code, open.stdout, open.stderr], [0, 'ended\nstill there\nfor everybody\n', ''])
  })

  test('S45 a program whose reader goes away ends in order, without a word, with code 141', async () => {
    const { code, stderr } = await readOne('reader goes')
    assert.deepEqual([code, stderr], [141, 'cleaned up\n'])
  })

  test('S30 what else goes wrong when the reader goes away is told', async () => {
    const { code, stderr } = await readOne('reader goes, and more goes wrong')
    assert.equal(code, 1)
    assert.match(stderr, /EPIPE.*something else/s)
  })

  test('S45 output that is read more than a second after main is over comes whole', async () => {
    const { code, stdout, stderr } = await readLate('read late', 'late\n')
    assert.deepEqual([code, stdout.length, stderr], [3, 1_000_000, ''])
  })
})

test('importing the room opens nothing; S64 waiting for the outside holds the process, and is no deadlock', async () => {
  const { code, stdout, stderr } = await program(`
    import { writeSync } from 'node:fs'
    import { PassThrough } from 'node:stream'
    import { main } from 'polyphony'
    import { fromNode } from 'polyphony/io'
    const pipes = () => process.getActiveResourcesInfo().filter((name) => name === 'PipeWrap').length
    const before = pipes()
    process.stdin, process.stdout, process.stderr
    writeSync(1, before + ' ' + pipes() + ' ')
    const stream = new PassThrough()
    main(function* () {
      setTimeout(() => stream.write('at last\\n'), 50).unref()
      writeSync(1, yield* fromNode(stream).gets())
    })`)
  assert.deepEqual([code, stdout, stderr], [0, '0 3 at last', ''])
})
