// npm run walks: how far does one simple thing go through the house? Records every call of a function of the library between two
// moments of a small program, and counts calls, the files they are in, and how often the next call is in another file. The fewer,
// the easier it is to follow with the finger.
//
//   npm run walks                          all walks, as a table
//   npm run walks -- sleep stop            only these
//   npm run walks -- sleep --lines         also the walk itself, a line for each call
//   npm run walks -- --dist old/dist       in another build
//
// The program runs a copy of dist in which every function reports its file and name when it is called. A job is what the event
// loop or a promise begins. A turn is empty if no fiber takes a step in its job: Node's timers ring early now and then, and whatever
// asks for a turn twice gets an empty one too. Those that follow until the event loop goes on belong to the walk. Each walk is made
// several times, and the table has the least and the most.
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parse } from 'acorn'
import { needBuilt, readArgs, refuse, wholeNumber } from './args.js'

/** How a turn of the runtime and a step of a fiber are called: these tell which turns are empty. */
const TURN = 'core/runtime Runtime.turn'
const STEP = 'core/step step'
/** Walks that are not recorded: the first ones also make what is made once. */
const WARMUPS = 3

/** A walk: a program with `begin` and `end` around what is recorded. It gets all that the library exports, and `pause`. */
const WALKS = {
  sleep: {
    title: '`yield* sleep(10)`, made to resumed',
    *walk({ sleep }, begin, end) {
      begin()
      yield* sleep(10)
      yield* end()
    },
  },
  error: {
    title: "`spin`, and the child's error thrown in the waiting parent",
    *walk({ sleep, spin }, begin, end) {
      begin()
      spin(function* () {
        throw new Error('walked')
      })
      try {
        yield* sleep(1000)
      } catch {
        yield* end()
      }
    },
  },
  stop: {
    title: '`fiber.stop()` with a `finally` that sleeps, to joined',
    *walk({ pause, sleep, spin, suspend }, begin, end) {
      const fiber = spin(function* () {
        try {
          yield* suspend()
        } finally {
          yield* sleep(10)
        }
      })
      yield* pause()
      begin()
      yield* fiber.stop()
      yield* end()
    },
  },
  read: {
    title: '`socket.read()`, bytes come later',
    *walk({ listen }, begin, end) {
      const server = yield* listen({ port: 0, host: '127.0.0.1' })
      const client = connect({ port: server.port, host: '127.0.0.1' })
      const socket = yield* server.accept()
      client.write('first')
      yield* socket.read()
      setTimeout(() => client.write('later'), 10)
      begin()
      yield* socket.read()
      yield* end()
      client.destroy()
      yield* socket.close()
      yield* server.close()
    },
  },
  submit: {
    title: '`proco.submit()` from a fiber, idle worker',
    *walk({ Proco, pause }, begin, end) {
      const proco = Proco.new().start((item) => item)
      yield* proco.submit('first')
      yield* pause()
      begin()
      yield* proco.submit('walked')
      yield* end()
      yield* proco.exit()
    },
  },
}

const names = Object.keys(WALKS)
const { values: options, words } = readArgs(
  `npm run walks -- [${names.join('|')} ...] [--lines] [--times n] [--dist folder]`,
  {
    lines: { type: 'boolean', default: false },
    times: { type: 'string', default: '10' },
    dist: { type: 'string', default: 'dist' },
  },
  Infinity,
)
const unknown = words.find((word) => !names.includes(word))
if (unknown !== undefined) refuse(`there is no walk '${unknown}'; there are: ${names.join(', ')}`)
const times = wholeNumber('--times', options.times, 1)
needBuilt(join(options.dist, 'index.js'))

/** What the copy reports to: the functions by number, and the calls of the walk that is recorded, job by job. */
const functions = []
let jobs = null
/** How many jobs there were when the walk was at its end. */
let walkedJobs = Infinity

const home = mkdtempSync(join(tmpdir(), 'polyphony-walk-'))
process.on('exit', () => rmSync(home, { recursive: true, force: true }))
instrumentCopy()
// All frames: whether a call begins a job is seen by what is below it.
Error.stackTraceLimit = Infinity
globalThis.$walk = report
const library = await load()

const walked = []
for (const name of words.length > 0 ? words : names)
  walked.push({ name, runs: await runsOf(WALKS[name].walk) })
printTable()
if (options.lines) walked.forEach(printLines)
process.exit()

/** A copy of dist in which each function reports before it does anything else. */
function instrumentCopy() {
  cpSync('package.json', join(home, 'package.json'))
  cpSync(options.dist, join(home, 'dist'), { recursive: true, filter: (path) => !/\.(map|ts)$/.test(path) })
  const files = readdirSync(join(home, 'dist'), { recursive: true }).map(String)
  for (const file of files.filter((file) => file.endsWith('.js')).sort()) {
    const path = join(home, 'dist', file)
    writeFileSync(path, instrument(file.replace(/\.js$/, ''), readFileSync(path, 'utf8')))
  }
  for (const name of [TURN, STEP])
    if (!functions.some((each) => each.text === name))
      refuse(`there is no function '${name}': scripts/walks.js must know how it is called now`)
}

function instrument(file, source) {
  const edits = []
  visit(parse(source, { ecmaVersion: 'latest', sourceType: 'module' }), '', '')
  let text = ''
  let from = 0
  for (const [position, inserted] of edits.sort((a, b) => a[0] - b[0])) {
    text += source.slice(from, position) + inserted
    from = position
  }
  return text + source.slice(from)

  /** `name` is that of the value that comes next, `within` that of the class or function around it. */
  function visit(node, name, within) {
    if (Array.isArray(node)) return node.forEach((each) => void visit(each, '', within))
    if (node === null || typeof node?.type !== 'string') return
    const own = node.id?.name ?? name
    if (/Function/.test(node.type)) {
      const called = own || (within === '' ? '(unnamed)' : `(in ${within})`)
      const call = `$walk(${functions.push({ file, text: `${file} ${called}` }) - 1})`
      const { body } = node
      if (body.type === 'BlockStatement') edits.push([body.start + 1, `${call};`])
      else edits.push([body.start, `(${call}, `], [body.end, ')'])
      for (const part of [node.params, body]) visit(part, '', called)
      return
    }
    for (const [field, child] of Object.entries(node)) {
      if (typeof child === 'object')
        visit(child, nameOf(node, field, within), /^Class[DE]/.test(node.type) ? own : within)
    }
  }
}

/** The name that a function gets from where it stands; '' if from nowhere. */
function nameOf(node, field, within) {
  if (field === 'init') return node.id?.name ?? ''
  if (field === 'right') return node.left?.property?.name ?? node.left?.name ?? ''
  if (field !== 'value' || node.key === undefined) return ''
  if (node.kind === 'constructor') return `${within}()`
  const key = node.computed ? `[${node.key.property?.name}]` : (node.key.name ?? node.key.value)
  return node.type === 'MethodDefinition' ? `${within}.${key}` : key
}

function report(index) {
  if (jobs === null) return
  // The frame of the function itself is always there. Another one below it: the library called it, or runs the fiber that did.
  const frames = new Error().stack
    .split('\n')
    .filter((line) => line.includes(home) && !/ at async /.test(line))
  if (frames.length < 2) jobs.push([])
  else if (jobs.length === walkedJobs) return // the rest of the job in which the walk came to its end
  jobs.at(-1).push(functions[index])
}

async function load() {
  const parts = ['index', 'io/index', 'proco/index']
  const modules = await Promise.all(
    parts.map((part) => import(pathToFileURL(join(home, 'dist', `${part}.js`)).href)),
  )
  const all = Object.assign({}, ...modules)
  // By a timer of Node's own, so that no turn of the library's timers falls into what follows.
  const pause = () => all.until(new Promise((resolve) => setTimeout(resolve, 5)))
  return { ...all, pause }
}

/** The jobs of each run, the shortest run first. */
async function runsOf(walk) {
  const runs = []
  for (let i = -WARMUPS; i < times; i++) {
    const begin = () => {
      walkedJobs = Infinity
      jobs = [[]]
    }
    const end = function* () {
      walkedJobs = jobs.length
      const finish = (resolve) => {
        const [walked, after] = [jobs.slice(0, walkedJobs), jobs.slice(walkedJobs)]
        if (i >= 0) runs.push([...walked, ...after.filter(isEmpty)])
        jobs = null
        resolve()
      }
      yield* library.until(new Promise((resolve) => setImmediate(finish, resolve)))
    }
    await library.run(() => walk(library, begin, end))
  }
  if (runs.length < times) throw new Error('a walk did not come to its end')
  return runs.sort((a, b) => a.flat().length - b.flat().length)
}

function isEmpty(job) {
  return job.some(({ text }) => text === TURN) && !job.some(({ text }) => text === STEP)
}

function countsOf(run) {
  const calls = run.flat()
  return [
    calls.length,
    new Set(calls.map(({ file }) => file)).size,
    calls.filter(({ file }, i) => i > 0 && file !== calls[i - 1].file).length,
    run.filter(isEmpty).flat().length,
  ]
}

function printTable() {
  console.log('| walk | calls | files | changes of file | calls in empty turns |')
  console.log('|---|---:|---:|---:|---:|')
  for (const { name, runs } of walked) {
    const counts = runs.map(countsOf)
    const cells = counts[0].map((_, i) => asRange(counts.map((count) => count[i])))
    console.log(`| ${[WALKS[name].title, ...cells].join(' | ')} |`)
  }
}

function asRange(numbers) {
  const [least, most] = [Math.min(...numbers), Math.max(...numbers)]
  return least === most ? `${least}` : `${least}-${most}`
}

/** The shortest run, with a line between jobs. */
function printLines({ name, runs }) {
  console.log(`\n${WALKS[name].title}`)
  for (const job of runs[0]) {
    console.log()
    for (const { text } of job) console.log(text)
  }
}
