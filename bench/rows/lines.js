// What does a line cost: of a large log in a file, and of a conversation over a socket?
import { closeSync, createReadStream, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import readline from 'node:readline'
import { run } from '../../dist/index.js'
import { openFile, readLines } from '../../dist/io/index.js'
import { traffic } from '../traffic/traffic.js'

const LINES = 400_000
let log = { n: 0, name: '', path: '' }

/** A log of n lines, about 90 bytes each, one in ten with this name; made once. */
function logOf(n, name) {
  if (log.n === n && log.name === name) return log.path
  const folder = mkdtempSync(join(tmpdir(), 'polyphony-bench-'))
  process.on('exit', () => rmSync(folder, { recursive: true }))
  const path = join(folder, 'log')
  const file = openSync(path, 'w')
  for (let i = 0; i < n; ) {
    let text = ''
    for (const end = Math.min(n, i + 10_000); i < end; i++) {
      text += `2026-11-16T05:00:00.${String(i % 1000).padStart(3, '0')}Z info ${i % 10 === 0 ? name : 'Jose'} GET /articles/${i} 200 ${'x'.repeat(i % 60)}\n`
    }
    writeSync(file, text)
  }
  closeSync(file)
  log = { n, name, path }
  return path
}

/** Each contestant counts the lines and the letters, so that no line can be left out. */
function check(n, lines) {
  if (lines !== n) throw new Error(`${lines} lines, not ${n}`)
}

function* countGets(path) {
  const file = yield* openFile(path)
  let lines = 0
  while ((yield* file.gets()) !== undefined) lines++
  yield* file.close()
  return lines
}

function* countLines(path) {
  let lines = 0
  yield* readLines(path, () => {
    lines++
  })
  return lines
}

function events(path) {
  return new Promise((resolve) => {
    let lines = 0
    readline
      .createInterface({ input: createReadStream(path) })
      .on('line', () => lines++)
      .on('close', () => resolve(lines))
  })
}

async function forAwait(path) {
  let lines = 0
  for await (const _ of readline.createInterface({ input: createReadStream(path) })) lines++
  return lines
}

function inLog(name, countOurs) {
  const checked = (count) => async (n) => check(n, await count(logOf(n, name)))
  return {
    n: LINES,
    aim: { readline: 3, 'readline for await': 3 },
    ours: checked((path) => run(() => countOurs(path))),
    readline: checked(events),
    'readline for await': checked(forAwait),
  }
}

const exchange = { request: 'GET /articles/1234 and a few words more\n', answer: 'same' }

export const rows = [
  { name: 'a line of a large log, gets()', ...inLog('Maria', countGets) },
  { name: 'a line of a large log, readLines', ...inLog('Maria', countLines) },
  {
    name: 'the same with letters beyond ASCII',
    detail: true,
    ...inLog('Jos\u00e9', countLines),
    aim: {},
  },
  {
    name: 'TCP echo of a line, gets()',
    multiple: 64,
    ours: traffic('lines.js', 'gets', exchange),
    readline: traffic('lines.js', 'readlineEvents', exchange),
    'readline for await': traffic('lines.js', 'readlineAwait', exchange),
  },
]
