// npm run bench:compare: two builds of polyphony beside each other, row by row: what has a change made faster or slower?
//
//   npm run bench:compare -- old/dist dist              every row; the build before, and the build after
//   npm run bench:compare -- old/dist dist switch       only rows with "switch" in their name or file
//   npm run bench:compare -- old/dist dist --short      short runs (short.js): fresh processes, before the code is warm
//   npm run bench:compare -- old/dist dist --node both --rounds 9 --processes 6 --json file
//
// Each build gets a copy of the bench, so that the two share no code and no type feedback. In a process both do the same row, in
// rounds that take turns, as contestants do in run.js; which of them begins changes from process to process. The ratio is the
// median of after/before over all rounds of all processes. In brackets: the lowest and the highest of the processes' own medians.
// If these lie on both sides of 1, the difference cannot be told from noise; the same folder given twice shows how much that is.
// Paths are from the root of the repository.
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { needBuilt, oneOf, readArgs, refuse, wholeNumber } from '../scripts/args.js'
import { median } from './harness.js'
import { ask, here, nodesToRun, readRows, writeJson } from './setup.js'
import { freshRun } from './short.js'
import { hasRatio, show } from './table.js'

const BUILDS = ['before', 'after']
/** A row whose ratio is above this is worse. */
const TOLERANCE = 1.05
const WIDTHS = [52, 11, 11, 28, 0]

const { values: options, words } = readArgs(
  'npm run bench:compare -- dist-before dist-after [word in the name of a row ...] [--rounds n] [--processes n] [--node current|newest|both] [--short] [--quick] [--json file] [--smoke]',
  {
    rounds: { type: 'string' },
    processes: { type: 'string' },
    node: { type: 'string' },
    json: { type: 'string' },
    short: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
  },
  Infinity,
)
const { quick, short, smoke } = options
const dists = words.splice(0, 2)
if (dists.length < 2) refuse('two dist folders are needed: of the build before, and of the build after')
for (const dist of dists) needBuilt(join(dist, 'index.js'))
needBuilt('dist/index.js')
const rounds = wholeNumber('--rounds', options.rounds, 1) ?? 7
const processes = wholeNumber('--processes', options.processes, 1) ?? (smoke ? 1 : short ? 7 : 4)
oneOf('--node', options.node, ['current', 'newest', 'both'])

const jobs = await readRows(words, isWanted)
const homes = makeHomes()
const nodes = []
for (const node of nodesToRun(options.node ?? 'current')) {
  nodes.push({ ...node, results: table(node) })
  writeJson(options.json, nodes)
}
summary()

/** Rows that measure ours, and with --quick only the main ones, as in bench:quick. */
function isWanted(row) {
  if (row.ours === undefined) return false
  if (short) return row.short !== undefined
  return !quick || words.length > 0 || !(row.detail || row.slow)
}

/** A copy of the bench for each build, in build/: some rows write files, and must do it on the disk of the repository. */
function makeHomes() {
  mkdirSync('build', { recursive: true })
  const root = mkdtempSync(resolve('build', 'compare-'))
  process.on('exit', () => rmSync(root, { recursive: true, force: true }))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1))
  return BUILDS.map((build, i) => {
    const home = join(root, build)
    cpSync(here, join(home, 'bench'), {
      recursive: true,
      filter: (path) => basename(path) !== 'node_modules',
    })
    cpSync(dists[i], join(home, 'dist'), { recursive: true, filter: (path) => !/\.(map|ts)$/.test(path) })
    for (const file of ['package.json', 'scripts/args.js']) cpSync(file, join(home, file))
    return home
  })
}

function table(node) {
  const how = short
    ? `${processes} fresh processes each`
    : `${rounds} rounds in each of ${processes} processes`
  console.log(`\nNode ${node.version}: ${smoke ? 'a smoke test, the figures mean nothing' : how}\n`)
  print(['row', ...BUILDS, 'after/before', short ? 'whole process' : ''])
  return jobs.map((job) => {
    const result = short ? compareShort(node, job) : compareRow(node, job)
    const [before, after] = BUILDS.map((build) => show(job.row, median(result.figures[build])))
    const whole = short ? `${asRatio(result.whole)}` : ''
    print([job.row.name, before, after, hasRatio(job.row) ? asRatio(result) : '', whole])
    return { row: job.row, ...result }
  })
}

/** Both builds in one process, or, where a row wants that, in two. */
function compareRow(node, { file, index, row }) {
  const result = { figures: { before: [], after: [] }, ratios: [], byProcess: [] }
  for (let i = 0; i < processes; i++) {
    const order = i % 2 === 0 ? BUILDS : BUILDS.toReversed()
    const groups = row.apart ? order.map((build) => [build]) : [order]
    const figures = {}
    for (const only of groups) {
      const what = { jobs: [{ file, index, only }], homes, rounds, quick, smoke }
      const [answer] = ask(node, ['--expose-gc'], `${here}row.js`, what)
      for (const entry of answer) figures[entry.who] = entry.figures
    }
    add(result, figures)
  }
  return result
}

/** A fresh process for each build, in turn. */
function compareShort(node, job) {
  const result = { figures: { before: [], after: [] }, ratios: [], byProcess: [] }
  const whole = { figures: { before: [], after: [] }, ratios: [], byProcess: [] }
  for (let i = 0; i < processes; i++) {
    const [one, all] = [{}, {}]
    for (const build of i % 2 === 0 ? BUILDS : BUILDS.toReversed()) {
      const script = join(homes[BUILDS.indexOf(build)], 'bench/fresh.js')
      const run = freshRun(node, [], job, 'ours', smoke, script)
      one[build] = [run.figure]
      all[build] = [run.whole]
    }
    add(result, one)
    add(whole, all)
  }
  return { ...result, whole }
}

/** The figures of one process more. A round of one build is beside the same round of the other. */
function add(result, { before, after }) {
  const ratios = after.map((figure, i) => figure / before[i])
  result.figures.before.push(...before)
  result.figures.after.push(...after)
  result.ratios.push(...ratios)
  result.byProcess.push(median(ratios))
}

function asRatio({ ratios, byProcess }) {
  const [low, high] = [Math.min(...byProcess), Math.max(...byProcess)]
  return `${median(ratios).toFixed(2)}x (${low.toFixed(2)} to ${high.toFixed(2)})`
}

function print(cells) {
  console.log(
    cells
      .map((cell, i) => (i === 0 || i === 4 ? cell.padEnd(WIDTHS[i]) : cell.padStart(WIDTHS[i])))
      .join('  ')
      .trimEnd(),
  )
}

function summary() {
  if (smoke) return
  for (const { version, results } of nodes) {
    const worse = results.filter(({ row, ratios }) => hasRatio(row) && median(ratios) > TOLERANCE)
    const isSure = ({ byProcess }) => Math.min(...byProcess) > TOLERANCE
    const list = worse.map((result) => `  ${result.row.name}${isSure(result) ? ', in every process' : ''}`)
    const percent = Math.round((TOLERANCE - 1) * 100)
    console.log(`\nNode ${version}: ${list.length} of ${results.length} rows worse by more than ${percent} %`)
    for (const line of list) console.log(line)
  }
}
