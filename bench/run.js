// npm run bench: polyphony beside async/await, effect, effection and other libraries, on this Node and on the newest.
//
//   npm run bench                          everything, one table for each Node
//   npm run bench -- switch --rounds 5     only rows with "switch" in their name or file
//   npm run bench -- --node current        only the Node that runs this (or: newest)
//   npm run bench -- --only ours,async     only these contestants
//   npm run bench -- --write               also writes bench/results.md and the table in README.md
//   npm run bench:quick                    ours and what Node has itself, this Node only, few rounds: for tuning
//   npm run bench -- echo --profile dir    also writes a CPU profile of each process; bench/profile.js dir reads them
//   node bench/run.js --smoke              each row once with tiny counts: does the bench still work?
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { loadavg } from 'node:os'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { needBuilt, oneOf, readArgs, refuse, wholeNumber } from '../scripts/args.js'
import { CONTESTANTS, checkRow, isLibrary, packageOf, WITHOUT_LIBRARY } from './harness.js'
import { writeReport } from './report.js'
import { line, lineOf, titles } from './table.js'

const here = fileURLToPath(new URL('.', import.meta.url))
const newestHome = fileURLToPath(new URL('../tools/newest-node/', import.meta.url))

const { values: options, words } = readArgs(
  'npm run bench -- [word in the name of a row ...] [--rounds n] [--node current|newest|both] [--only a,b] [--profile folder] [--write] [--quick] [--smoke]',
  {
    rounds: { type: 'string' },
    node: { type: 'string' },
    only: { type: 'string' },
    profile: { type: 'string' },
    write: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
  },
  Infinity,
)
const { quick, smoke } = options
if (options.write && (words.length > 0 || options.node || options.only || quick || smoke)) {
  refuse('--write is for the whole bench: no words, no --node, no --only, no --quick, no --smoke')
}
const rounds = wholeNumber('--rounds', options.rounds, 1) ?? (quick ? 5 : 9)
const only = options.only?.split(',') ?? (quick ? ['ours', 'async', ...WITHOUT_LIBRARY] : CONTESTANTS)
for (const who of only) oneOf('--only', who, CONTESTANTS)
oneOf('--node', options.node, ['current', 'newest', 'both'])
needBuilt('dist/index.js')

const questions = await readQuestions()
if (!questions.some(({ file, rows }) => rows.some((row) => isWanted(file, row))))
  refuse(`no row has ${words.map((word) => `'${word}'`).join(' and ')} in its name or file`)

const isMissing = (who) => isLibrary(who) && !existsSync(`${here}node_modules/${packageOf(who)}`)
if (only.some(isMissing)) npmCi(here)

const [loadBefore] = loadavg()
const nodes = []
for (const node of nodesToRun()) nodes.push({ ...node, results: table(node) })
if (options.write) writeReport(nodes, { rounds, load: [loadBefore, loadavg()[0]] })
if (smoke) console.log('bench: every row runs')

function npmCi(folder) {
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

/** The running Node, and the newest, which is installed as a package apart (see tools/newest-node). */
function nodesToRun() {
  const wanted = options.node ?? (quick || smoke ? 'current' : 'both')
  const paths = []
  if (wanted !== 'newest') paths.push(process.execPath)
  if (wanted !== 'current') {
    const newest = `${newestHome}node_modules/node/bin/node`
    if (!existsSync(newest)) npmCi(newestHome)
    paths.push(newest)
  }
  return paths.map((path) => ({
    path,
    version: execFileSync(path, ['--version'], { encoding: 'utf8' }).trim(),
  }))
}

/** The files of rows/ in the order of the table: [{ file, rows }]. */
async function readQuestions() {
  const questions = []
  for (const file of readdirSync(`${here}rows`).sort(inOrder)) {
    const { rows } = await import(`./rows/${file}`)
    rows.forEach(checkRow)
    questions.push({ file, rows })
  }
  return questions
}

function inOrder(a, b) {
  const order = [
    'switch',
    'deep',
    'spin',
    'message',
    'call',
    'queue',
    'mutex',
    'semaphore',
    'pool',
    'throttler',
    'foreach',
    'together',
    'timeout',
    'sleep',
    'stop',
    'supervise',
    'memory',
    'million',
    'starvation',
    'tap',
    'proco-batch',
    'proco-items',
    'proco-flood',
    'proco-commit',
    'echo',
    'hello',
    'parts',
    'lines',
    'connections',
  ]
  const place = (file) => (order.indexOf(file.replace('.js', '')) + 100) % 100
  return place(a) - place(b)
}

function table(node) {
  const how = smoke ? 'a smoke test, the figures mean nothing' : `median of ${rounds} interleaved rounds`
  console.log(`\nNode ${node.version}: CPU time for each operation, ${how}\n`)
  console.log(line(titles))
  const results = []
  const show = (row, figures) => {
    results.push({ row, figures })
    console.log(line(lineOf({ row, figures }, smoke)))
  }
  const jobs = wantedRows()
  // Loading the libraries is most of the work of a smoke test, so it is done once.
  if (smoke) runInProcess(node, jobs).forEach((figures, i) => void show(jobs[i].row, figures))
  else for (const job of jobs) show(job.row, measure(node, job))
  return results
}

/** The rows to run, and who takes part: [{ file, index, row, only }]. */
function wantedRows() {
  return questions.flatMap(({ file, rows }) =>
    rows
      .map((row, index) => ({ file, index, row, only: only.filter((who) => who in row) }))
      .filter(({ row }) => isWanted(file, row)),
  )
}

function isWanted(file, row) {
  if (quick && words.length === 0 && (row.detail || row.slow)) return false
  return words.every((word) => `${file} ${row.name}`.includes(word))
}

/** The figures of every contestant: { ours: [...], async: [...] }. A row has a process of its own, or several. */
function measure(node, job) {
  const { apart, processes = 1 } = job.row
  const groups = apart ? job.only.map((who) => [who]) : [job.only]
  const figures = {}
  for (let i = 0; i < processes; i++) {
    for (const only of groups) {
      const [more] = runInProcess(node, [{ ...job, only }])
      for (const who in more) (figures[who] ??= []).push(...more[who])
    }
  }
  return figures
}

/** One after the other in one process; the figures of each. */
function runInProcess(node, jobs) {
  const what = { jobs: jobs.map(({ file, index, only }) => ({ file, index, only })), rounds, quick, smoke }
  const flags = ['--expose-gc', ...profiling(node, jobs)]
  const json = execFileSync(node.path, [...flags, `${here}row.js`, JSON.stringify(what)], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return JSON.parse(json).map((list) => Object.fromEntries(list.map(({ who, figures }) => [who, figures])))
}

/** The processes of servers inherit these (see traffic/traffic.js). */
function profiling(node, [{ file, index }]) {
  if (options.profile === undefined) return []
  const name = `${node.version}-${file.replace('.js', '')}${index}.cpuprofile`
  return ['--cpu-prof', `--cpu-prof-dir=${resolve(options.profile)}`, `--cpu-prof-name=${name}`]
}
