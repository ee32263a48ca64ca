// npm run bench: polyphony beside async/await, effect, effection and other libraries, on this Node and on the newest.
//
//   npm run bench                          everything, one table for each Node
//   npm run bench -- switch --rounds 5     only rows with "switch" in their name or file
//   npm run bench -- --node current        only the Node that runs this (or: newest)
//   npm run bench -- --only ours,async     only these contestants
//   npm run bench -- --short               the main rows, each contestant in fresh processes: what a program pays before it is warm
//   npm run bench -- --write               also writes bench/results.md and the table in README.md; with --short, its part of the former
//   npm run bench -- --json file           also writes the figures of every round
//   npm run bench:quick                    ours and what Node has itself, this Node only, few rounds: for tuning
//   npm run bench -- echo --profile dir    also writes a CPU profile of each process; bench/profile.js dir reads them
//   node bench/run.js --smoke              each row once with tiny counts: does the bench still work?
//
// npm run bench:compare (compare.js) puts two builds of polyphony beside each other.
import { existsSync } from 'node:fs'
import { loadavg } from 'node:os'
import { resolve } from 'node:path'
import { needBuilt, oneOf, readArgs, refuse, wholeNumber } from '../scripts/args.js'
import { CONTESTANTS, isLibrary, packageOf, WITHOUT_LIBRARY } from './harness.js'
import { writeReport, writeShort } from './report.js'
import { ask, here, nodesToRun, npmCi, readRows, writeJson } from './setup.js'
import { SHORT_CONTESTANTS, shortRuns } from './short.js'
import { line, lineOf, shortLine, shortTitles, titles } from './table.js'

const { values: options, words } = readArgs(
  'npm run bench -- [word in the name of a row ...] [--rounds n] [--node current|newest|both] [--only a,b] [--short] [--profile folder] [--json file] [--write] [--quick] [--smoke]',
  {
    rounds: { type: 'string' },
    node: { type: 'string' },
    only: { type: 'string' },
    profile: { type: 'string' },
    json: { type: 'string' },
    short: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
  },
  Infinity,
)
const { quick, short, smoke } = options
if (options.write && (words.length > 0 || options.node || options.only || quick || smoke)) {
  refuse('--write is for the whole bench: no words, no --node, no --only, no --quick, no --smoke')
}
const rounds = wholeNumber('--rounds', options.rounds, 1) ?? (quick || short ? 5 : 9)
const only = options.only?.split(',') ?? (quick ? ['ours', 'async', ...WITHOUT_LIBRARY] : CONTESTANTS)
for (const who of only) oneOf('--only', who, CONTESTANTS)
oneOf('--node', options.node, ['current', 'newest', 'both'])
needBuilt('dist/index.js')

const jobs = (await readRows(words, isWanted)).map((job) => ({ ...job, only: contestantsOf(job.row) }))
const isMissing = (who) => isLibrary(who) && !existsSync(`${here}node_modules/${packageOf(who)}`)
if (jobs.some((job) => job.only.some(isMissing))) npmCi(here)

const [loadBefore] = loadavg()
const nodes = []
for (const node of nodesToRun(options.node ?? (quick || smoke ? 'current' : 'both'))) {
  nodes.push({ ...node, results: short ? shortTable(node) : table(node) })
  writeJson(options.json, nodes)
}
if (options.write) {
  const write = short ? writeShort : writeReport
  write(nodes, { rounds, load: [loadBefore, loadavg()[0]] })
}
if (smoke) console.log('bench: every row runs')

function isWanted(row) {
  if (short) return row.short !== undefined
  return !quick || words.length > 0 || !(row.detail || row.slow)
}

function contestantsOf(row) {
  const wanted = short ? only.filter((who) => SHORT_CONTESTANTS.includes(who)) : only
  return wanted.filter((who) => who in row)
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
  // Loading the libraries is most of the work of a smoke test, so it is done once.
  if (smoke) runInProcess(node, jobs).forEach((figures, i) => void show(jobs[i].row, figures))
  else for (const job of jobs) show(job.row, measure(node, job))
  return results
}

function shortTable(node) {
  const how = smoke ? 'a smoke test, the figures mean nothing' : `median of ${rounds} fresh processes each`
  console.log(`\nNode ${node.version}: short runs, CPU time for each operation and of the process, ${how}\n`)
  console.log(line(shortTitles))
  return jobs.map((job) => {
    const result = { row: job.row, ...shortRuns(node, profiling(node, [job]), job, { rounds, smoke }) }
    console.log(line(shortLine(result, smoke)))
    return result
  })
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
  const answers = ask(node, ['--expose-gc', ...profiling(node, jobs)], `${here}row.js`, what)
  return answers.map((list) => Object.fromEntries(list.map(({ who, figures }) => [who, figures])))
}

/** The processes of servers inherit these (see traffic/traffic.js). */
function profiling(node, [{ file, index }]) {
  if (options.profile === undefined) return []
  const name = `${node.version}-${file.replace('.js', '')}${index}.cpuprofile`
  return ['--cpu-prof', `--cpu-prof-dir=${resolve(options.profile)}`, `--cpu-prof-name=${name}`]
}
