// Standard output and error, as programs in their own processes write them.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { run } from 'polyphony'
import { stderr, stdout } from 'polyphony/io'
import { type Ended, ended, program, thrownBy } from '../prelude.js'

const file = fileURLToPath(new URL('../programs/stdout.js', import.meta.url))

function start(mode: string) {
  const options = { env: { PATH: process.env.PATH }, timeout: 20_000, killSignal: 'SIGKILL' } as const
  return spawn(process.execPath, [file, mode], options)
}

/** Reads nothing of the output until this has been said on stderr. */
async function readLate(mode: string, heard: string): Promise<Ended> {
  const child = start(mode)
  let said = ''
  const early = child.stderr.setEncoding('utf8')
  await new Promise<void>((resolve) =>
    early.on('data', (text) => {
      said += text
      if (said.includes(heard)) resolve()
    }),
  )
  return ended(child)
}

/** Reads one line, and goes away. */
function readOne(mode: string): Promise<Ended & { signal: string | null }> {
  const child = start(mode)
  let said = ''
  child.stdout.once('data', () => child.stdout.destroy())
  child.stderr.setEncoding('utf8').on('data', (text) => (said += text))
  return new Promise((resolve) =>
    child.on('close', (code, signal) => resolve({ code, signal, stdout: '', stderr: said })),
  )
}

describe('standard output', { concurrency: 2 }, () => {
  test('what is written keeps its order, also with console.log', async () => {
    const { code, stdout, stderr } = await ended(start('order'))
    assert.deepEqual([code, stderr], [0, 'aside\n'])
    assert.equal(stdout, [0, 1, 2].map((i) => `write ${i}\nlog ${i}\n`).join(''))
  })

  test('what many fibers write comes in the order of their writes', async () => {
    const { stdout } = await ended(start('many'))
    assert.equal(stdout, `${Array.from({ length: 20 }, (_, i) => `${i} `).join('')}\n`)
  })

  test('end() and close() wait, and leave it open', async () => {
    const { code, stdout, stderr } = await ended(start('never closed'))
    assert.deepEqual([code, stdout, stderr], [0, 'ended\nstill there\nfor everybody\n', ''])
  })

  test('a write to a pipe that nobody reads waits, while other fibers run', async () => {
    const { code, stdout, stderr } = await readLate('slow reader', 'tick\ntick\ntick\n')
    assert.deepEqual([code, stdout.length], [0, 1_000_000])
    assert.match(stderr, /^(tick\n)*$/)
  })

  test('a fiber that is stopped in its write leaves, and its bytes are sent all the same', async () => {
    const { code, stdout } = await readLate('stopped while it waits', 'stopped\n')
    assert.deepEqual([code, stdout.length], [0, 1_000_000])
  })

  test('S45 a program whose reader goes away ends in order, without a word, with code 141', async () => {
    const { code, signal, stderr } = await readOne('reader goes')
    assert.deepEqual([code, signal, stderr], [141, null, 'cleaned up\n'])
  })

  test('a reader that goes away is an IOError at the write', async () => {
    const { code, stderr } = await readOne('reader goes, caught')
    assert.deepEqual([code, stderr], [0, 'IOError EPIPE stdout.write() failed: broken pipe (EPIPE)\n'])
  })

  test('S30 what else goes wrong when the reader goes away is told', async () => {
    const { code, stderr } = await readOne('reader goes, and more goes wrong')
    assert.equal(code, 1)
    assert.match(stderr, /something else/)
    assert.match(stderr, /EPIPE/)
  })

  test('S45 output that is read more than a second after main is over comes whole', async () => {
    const { code, stdout, stderr } = await readLate('read late', 'late\n')
    assert.deepEqual([code, stdout.length, stderr], [3, 1_000_000, ''])
  })

  test('importing the room opens nothing', async () => {
    const { code, stdout } = await program(`
      import { writeSync } from 'node:fs'
      import 'polyphony/io'
      const pipes = () => process.getActiveResourcesInfo().filter((name) => name === 'PipeWrap').length
      const before = pipes()
      process.stdout
      process.stderr
      writeSync(1, before + ' ' + pipes())`)
    assert.deepEqual([code, stdout], [0, '0 2'])
  })

  test('what cannot be written is refused in words, and it can be asked how it is doing', () =>
    run(function* () {
      assert.match(
        (yield* thrownByCall(() => stdout.write(5 as any))).message,
        /stdout\.write\(\) needs strings or bytes/,
      )
      assert.equal(stderr.stats().writers, 0)
      assert.match((yield* thrownBy((stdout as any).gets())).message, /stdout cannot be read from/)
    }))
})

function* thrownByCall(call: () => unknown): Generator<never, Error, any> {
  try {
    call()
  } catch (error) {
    return error as Error
  }
  return assert.fail('nothing was thrown')
}
