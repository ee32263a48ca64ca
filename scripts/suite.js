// Runs test files in a few processes and tells what became of each test. Files of one room share a process: to start
// one for each file takes longer than their tests.
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * What `npm test` leaves to `npm run test:all`: it starts processes of Node for most of its tests, searches at length,
 * or measures memory. Folders under test, and files.
 */
const LONG = [
  'documents/',
  'explore/',
  'io/foreign',
  'programs/',
  'random/',
  'tools/',
  'semantics/main',
  'semantics/signals',
]

/** Milliseconds without a word from a room until it hangs. The longest tests take a tenth of that on a quiet machine. */
const SILENCE = 300_000

/** Rooms that run; none outlives this process, whatever ends it. */
const children = new Set()
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1))

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
 * Gives { passed, failed, cpu, litter }: how many, CPU-seconds, and what was left in the temp folder.
 */
export async function runSuite(files, { pattern, env = {}, nodeArgs = [], onTest = () => {} } = {}) {
  const temp = mkdtempSync(join(tmpdir(), 'polyphony-test-'))
  const sum = { passed: 0, failed: 0, cpu: 0, litter: [] }
  const before = cpuOfChildren()
  const rooms = groupByRoom(files)
  const runOne = async () => {
    for (let room = rooms.shift(); room !== undefined; room = rooms.shift()) {
      const settings = { pattern, nodeArgs, env: { ...process.env, ...env, TMPDIR: temp } }
      await runRoom(room, settings, (event) => {
        if (event.cpu !== undefined) sum.cpu += event.cpu
        else {
          if (event.error === undefined) sum.passed++
          else sum.failed++
          onTest({ room: room.name, ...event })
        }
      })
    }
  }
  try {
    const processes = Number(process.env.TEST_PROCESSES ?? Math.max(2, availableParallelism()))
    await Promise.all(Array.from({ length: processes }, runOne))
    sum.litter = readdirSync(temp)
    sum.cpu = (cpuOfChildren() ?? sum.cpu) - (before ?? 0)
  } finally {
    rmSync(temp, { recursive: true, force: true })
  }
  return sum
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
  children.add(child)
  let rest = ''
  let output = ''
  let last = 'the start'
  let hasFailed = false
  let watchdog
  const listen = () => {
    clearTimeout(watchdog)
    watchdog = setTimeout(() => {
      hasFailed = true
      onEvent({ name: `what comes after ${last}`, ms: SILENCE, error: `hangs\n${output}` })
      child.kill('SIGKILL')
    }, SILENCE)
  }
  listen()
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output = (output + text).slice(-10_000)
    })
  }
  child.stdio[3].setEncoding('utf8').on('data', (text) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop()
    listen()
    for (const line of lines) {
      const event = JSON.parse(line)
      last = event.name ?? last
      hasFailed ||= event.error !== undefined
      onEvent(event)
    }
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      clearTimeout(watchdog)
      children.delete(child)
      if (!hasFailed && code !== 0) {
        onEvent({ name: `after ${last}, ended by ${signal ?? `code ${code}`}`, ms: 0, error: output })
      }
      resolve()
    })
  })
}
