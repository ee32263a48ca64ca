// Runs test files in a few processes and tells what became of each test. Files of one room share a process: to start
// one for each file takes longer than their tests.
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { wholeNumber } from './args.js'

/**
 * What `npm test` leaves to `npm run test:all`: it starts processes of Node for most of its tests, searches at length,
 * or measures memory. Folders under test, and files.
 */
const LONG = [
  'documents/',
  'explore/',
  'io/file/event-channel',
  'io/file/everywhere',
  'io/foreign',
  'io/net/everywhere',
  'io/process/everywhere',
  'programs/',
  'random/',
  'tools/',
  'semantics/main',
  'semantics/signals',
]

/** Milliseconds without a word from a room until it hangs. The longest tests take a tenth of that on a quiet machine. */
const SILENCE = 300_000

/** Rooms that run, with what runs there, and temp folders; none outlives this process, whatever ends it. */
const children = new Map()
const temps = new Set()
process.on('exit', () => {
  for (const child of children.keys()) child.kill('SIGKILL')
  for (const temp of temps) rmSync(temp, { recursive: true, force: true })
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(signal, () => {
    for (const running of children.values()) console.log(`\nended while this ran: ${running}`)
    process.exit(1)
  })
}

/** Clock ticks in a second, in Linux's figures for programs. */
const TICKS = 100

/** All test files, as paths under test, without the `.test.ts`. What was built of one that is gone does not count. */
export function testFiles() {
  return readdirSync('test', { recursive: true })
    .map((name) => String(name).replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => name.slice(0, -'.test.ts'.length))
    .sort()
}

export function isLong(file) {
  return LONG.some((start) => file.startsWith(start))
}

/**
 * Runs the files, room by room, a few rooms at a time. `onTest` hears of each test: { room, name, ms, error }.
 * Gives { passed, failed, cpu, litter, output }: how many, CPU-seconds, what was left in the temp folder and which processes
 * were left, and what the rooms printed.
 */
export async function runSuite(files, { pattern, env = {}, nodeArgs = [], onTest = () => {} } = {}) {
  const processes =
    wholeNumber('TEST_PROCESSES', process.env.TEST_PROCESSES, 1) ?? Math.max(2, availableParallelism())
  const temp = mkdtempSync(join(tmpdir(), 'polyphony-test-'))
  temps.add(temp)
  const sum = { passed: 0, failed: 0, cpu: 0, litter: [], output: '' }
  const before = cpuOfChildren()
  const rooms = groupByRoom(files)
  const runOne = async () => {
    for (let room = rooms.shift(); room !== undefined; room = rooms.shift()) {
      const settings = { pattern, nodeArgs, env: { ...process.env, ...env, TMPDIR: temp } }
      await runRoom(room, settings, (event) => {
        if (event.cpu !== undefined) sum.cpu += event.cpu
        else if (event.output !== undefined) sum.output += event.output
        else {
          if (event.error === undefined) sum.passed++
          else sum.failed++
          onTest({ room: room.name, ...event })
        }
      })
    }
  }
  try {
    await Promise.all(Array.from({ length: processes }, runOne))
    sum.litter = [...readdirSync(temp), ...(await processesOf(temp))]
    sum.cpu = (cpuOfChildren() ?? sum.cpu) - (before ?? 0)
  } finally {
    rmSync(temp, { recursive: true, force: true })
    temps.delete(temp)
  }
  return sum
}

/** Processes that tests have started and left: their temp folder is this one. Only Linux tells. */
async function processesOf(temp) {
  if (process.platform !== 'linux') return []
  const mark = `TMPDIR=${temp}\0`
  const isMarked = (pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(mark)
    } catch {
      return false // it has ended, or is not ours
    }
  }
  let left = []
  for (let look = 0; look < 20; look++) {
    left = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isMarked(name))
    if (left.length === 0) return []
    await new Promise((resolve) => setTimeout(resolve, 100)) // it may just be ending
  }
  return left.flatMap((pid) => {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').slice(0, 100)
      process.kill(pid, 'SIGKILL')
      return `the process ${command.trim()}`
    } catch {
      return [] // it has ended at last
    }
  })
}

/**
 * CPU-seconds of all processes that were started and have ended, theirs included. Only Linux tells; elsewhere the
 * processes that tests start are not counted.
 */
function cpuOfChildren() {
  if (process.platform !== 'linux') return undefined
  const [user, system] = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
    .slice(13, 15)
  return (Number(user) + Number(system)) / TICKS
}

/** Files whose tests start processes have a process each, so that one that waits does not hold up the others. */
function groupByRoom(files) {
  const rooms = new Map()
  for (const file of files) {
    const name = isLong(file) || !file.includes('/') ? file : file.split('/')[0]
    rooms.set(name, [...(rooms.get(name) ?? []), file])
  }
  return [...rooms].map(([name, its]) => ({ name, files: its }))
}

function runRoom({ files }, { pattern, nodeArgs, env }, onEvent) {
  const program = files.map((file) => `import './build/test/${file}.test.js'`).join('\n')
  const args = [
    ...nodeArgs,
    '--expose-gc',
    '--test-reporter=./scripts/reporter.js',
    '--input-type=module',
    '-e',
    program,
  ]
  if (pattern !== undefined) args.unshift(`--test-name-pattern=${pattern}`)
  const { NODE_TEST_CONTEXT: _, ...clean } = env
  const child = spawn(process.execPath, args, { env: clean, stdio: ['ignore', 'pipe', 'pipe', 'pipe'] })
  children.set(child, 'the start')
  let rest = ''
  let output = ''
  let printed = ''
  let hasFailed = false
  let isWhole = false
  let watchdog
  const listen = () => {
    clearTimeout(watchdog)
    watchdog = setTimeout(() => {
      isWhole = hasFailed = true // this is what is told of it
      onEvent({ name: children.get(child), ms: SILENCE, error: `hangs\n${output}` })
      child.kill('SIGKILL')
    }, SILENCE)
  }
  listen()
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output = (output + text).slice(-10_000)
      if (stream === child.stdout) printed = (printed + text).slice(-10_000)
    })
  }
  child.stdio[3].setEncoding('utf8').on('data', (text) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop()
    listen()
    for (const line of lines) {
      const event = parsed(line)
      if (event.begin !== undefined) children.set(child, event.begin)
      else if (event.said !== undefined) output += event.said
      else {
        isWhole ||= event.cpu !== undefined
        hasFailed ||= event.error !== undefined
        onEvent(event)
      }
    }
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      clearTimeout(watchdog)
      const name = children.get(child)
      children.delete(child)
      const how = `the process of these tests ended by ${signal ?? `code ${code}`}`
      if (!isWhole || (code !== 0 && !hasFailed))
        onEvent({ name, ms: 0, error: `${how}\n${output}`.trimEnd() })
      onEvent({ output: printed })
      resolve()
    })
  })
}

/** An event; whatever else a test writes to that descriptor is none. */
function parsed(line) {
  try {
    return JSON.parse(line)
  } catch {
    return { said: line }
  }
}
