// A terminal that was opened by path, in programs under a pseudo-terminal of `script` (util-linux).

import { spawn, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { assert, describe, type Ended, test } from '../../prelude.js'

/** Once `seen` has been printed since the last key: press these keys. */
type Keys = [seen: string, keys: string]

const [CTRL_C, CTRL_D] = ['\x03', '\x04']

/** Runs the body of a main in a terminal and presses keys. One that hangs has the code null. */
function inTerminal(body: string, keys: Keys[]): Promise<Ended> {
  const source = `
    import { readdirSync, readlinkSync } from 'node:fs'
    import { main, shield, sleep, snooze, spin, until } from 'polyphony'
    import { openFile, readFile, readLines, stdin } from 'polyphony/io'
    const linkOf = (fd) => { try { return readlinkSync('/proc/self/fd/' + fd) } catch {} }
    const descriptors = () => readdirSync('/proc/self/fd').filter((fd) => linkOf(fd) === '/dev/tty').length
    // Says when the next Ctrl-C is no echo of the one before.
    process.on('SIGINT', () => setTimeout(() => console.log('next'), 400))
    main(function* () { ${body} })`
  const child = spawn('script', ['-qec', '"$NODE" --input-type=module -e "$SOURCE"', '/dev/null'], {
    cwd: fileURLToPath(new URL('../../../../', import.meta.url)),
    env: { PATH: process.env.PATH, NODE: process.execPath, SOURCE: source, SHELL: '/bin/sh' },
    timeout: 20_000,
    killSignal: 'SIGKILL',
  })
  const rest = [...keys]
  let stdout = ''
  let heard = 0
  child.stdin.on('error', () => {}) // the program may be gone
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text
    for (let key = rest[0]; key !== undefined; key = rest[0]) {
      const at = stdout.indexOf(key[0], heard)
      if (at < 0) return
      heard = at + key[0].length
      rest.shift()
      child.stdin.write(key[1])
    }
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr: '' }))
  })
}

const hasScript = spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux')

const rows: [promise: string, body: string, keys: Keys[], code: number, printed: RegExp][] = [
  [
    'one Ctrl-C stops a read in order: 130',
    `try {
      yield* openFile('/dev/tty', 'r', function* (file) { console.log('ready'); yield* file.gets() })
    } finally {
      yield* sleep(1)
      console.log('in order')
    }`,
    [['ready', CTRL_C]],
    130,
    /in order/,
  ],
  [
    'a read that is shielded ends at the second Ctrl-C',
    `const file = yield* openFile('/dev/tty')
    console.log('ready')
    yield* shield(() => file.gets())`,
    [
      ['ready', CTRL_C],
      ['next', CTRL_C],
    ],
    130,
    /may no longer wait/,
  ],
  [
    'the third Ctrl-C exits at once, whatever reads',
    `const file = yield* openFile('/dev/tty')
    spin(() => file.gets())
    console.log('ready')
    setInterval(() => {}, 1000) // keeps the process when main is over
    yield* shield(() => file.gets())`,
    [
      ['ready', CTRL_C],
      ['next', CTRL_C],
      ['next', CTRL_C],
    ],
    130,
    /may no longer wait/,
  ],
  [
    'a line is given when it is typed, and nothing is read behind it',
    `console.log('got', yield* openFile('/dev/tty', 'r', function* (file) {
      console.log('ready')
      return yield* file.gets()
    }))`,
    [['ready', 'hello\r']],
    0,
    /got hello/,
  ],
  [
    'Ctrl-D ends the reading',
    `console.log('ready')
    console.log('got', yield* readLines('/dev/tty'))`,
    [
      ['ready', 'one\r'],
      ['one', CTRL_D],
    ],
    0,
    /got \[.*one.*\]/,
  ],
  [
    'readFile reads it up to Ctrl-D',
    `console.log('ready')
    console.log('got', JSON.stringify(yield* readFile('/dev/tty', { encoding: 'utf8' })))`,
    [
      ['ready', 'one\r'],
      ['one', CTRL_D],
    ],
    0,
    /got "one\\n"/,
  ],
  [
    'a stop of a read is immediate, takes nothing with it, and the file reads on',
    `yield* openFile('/dev/tty', 'r+', function* (file) {
      for (let i = 0; i < 6; i++) { // more than Node has threads
        const reader = spin(() => file.gets())
        yield* snooze()
        yield* reader.stop()
      }
      yield* file.write('ready\\n')
      console.log('got', yield* file.gets())
    })`,
    [['ready', 'hello\r']],
    0,
    /got hello/,
  ],
  [
    'what is written to it is shown, in order, also what is long',
    `yield* openFile('/dev/tty', 'w', function* (file) {
      yield* file.write('x'.repeat(100_000), '\\n')
      yield* file.write('last\\n')
    })`,
    [],
    0,
    /x{100000}\r\nlast\r\n$/,
  ],
  [
    'it has no position, says what it was opened for, and knows stat',
    `yield* openFile('/dev/tty', 'w', function* (file) {
      for (const refused of [() => file.seek(0), () => file.position]) {
        try { refused() } catch (error) { console.log(String(error)) }
      }
      try { yield* file.gets() } catch (error) { console.log(String(error)) }
      console.log((yield* file.stat()).isCharacterDevice())
    })`,
    [],
    0,
    /has no seek\(\): it is a terminal, .*has no position: .*BadState: \/dev\/tty cannot be read from: it was opened with 'w'.*true/s,
  ],
  [
    'it and standard input do not disturb each other',
    `const file = yield* openFile('/dev/tty', 'r+')
    console.log('1?')
    console.log('1 stdin', yield* stdin.gets())
    yield* file.write('2?\\n')
    console.log('2 tty', yield* file.gets())
    const cut = spin(() => file.gets())
    yield* snooze()
    yield* cut.stop()
    console.log('3?')
    console.log('3 stdin', yield* stdin.gets())
    yield* file.close()
    console.log('4?')
    console.log('4 stdin', yield* stdin.gets())`,
    [
      ['1?', 'one\r'],
      ['2?', 'two\r'],
      ['3?', 'three\r'],
      ['4?', 'four\r'],
    ],
    0,
    /1 stdin one.*2 tty two.*3 stdin three.*4 stdin four/s,
  ],
  [
    'every descriptor is closed, after a kill too; one that is detached does not hold the process',
    `yield* openFile('/dev/tty', 'r', { detached: true })
    const before = descriptors()
    for (const flags of ['r', 'w', 'r+']) {
      const fibers = Array.from({ length: 20 }, () => spin(function* () {
        const file = yield* openFile('/dev/tty', flags)
        yield* flags === 'w' ? sleep() : file.gets()
      }))
      yield* sleep(20)
      for (const fiber of fibers) yield* fiber.kill()
      while (descriptors() > before) yield* sleep(1)
    }
    console.log('none left')`,
    [],
    0,
    /none left/,
  ],
]

describe('a terminal', { concurrency: 2 }, () => {
  for (const [promise, body, keys, code, printed] of hasScript ? rows : []) {
    test(promise, async () => {
      const ended = await inTerminal(body, keys)
      assert.match(ended.stdout, printed)
      assert.equal(ended.code, code, ended.stdout)
    })
  }
})
