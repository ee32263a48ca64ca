// Breaks the library in many small ways and sees whether a test notices each: those written by hand, one or more for
// every rule (hand.js), and those that operators make of the built code (operators.js).
//
//   npm run mutate                        all of them: half an hour at first; later only what has changed since
//   npm run mutate S14 S20                those written by hand for these rules
//   npm run mutate core/tree sync/        those that operators make of these files
//   npm run mutate -- --sample 20         some of both, others each day; --seed N repeats a sample
//   npm run mutate -- sync/ --tests sync/ --tests explore/   with test files of these rooms only
//   npm run mutate -- --hand              only those written by hand; CI takes a sample of these, and of the others
//   npm run mutate -- --more              also with operators whose mutants often change nothing; nothing fails then
//   npm run mutate -- --fresh             forgets what earlier runs have found, and tries the explained ones too
//   npm run mutate -- --write             also writes docs/mutants.md
//   npm run mutate -- --matrix out.json   all tests that notice each mutant, not only the first
//
// A mutant is tried against the tests that reach its place, the nearest first; the first that fails ends it. One that no
// test notices survives. Survivors must be explained in explained.js, or the run fails.
import { availableParallelism } from 'node:os'
import { needBuilt, readArgs, refuse, wholeNumber } from '../args.js'
import { isLong, testFiles } from '../suite.js'
import { coverage } from './coverage.js'
import { explain, unusedExplanations } from './explained.js'
import { handMutants } from './hand.js'
import { writeMatrix } from './matrix.js'
import { fingerprints, recall, remember, save } from './memory.js'
import { isUsual } from './operators.js'
import { writeTable } from './table.js'
import { operatorMutants, Workspace } from './workspace.js'

/** One more than there are cores: a mutant that hangs keeps its worker waiting. */
const WORKERS = availableParallelism() + 1
/** About the text of the code, the documents or the scripts: they notice any change, or none. */
const NOT_RUN = /^(documents|house|tools)\//
/** Long tests that are tried at most for one mutant, the nearest first; and quick ones, if it is explained. */
const MOST_LONG = 40
const MOST_EXPLAINED = 400
const NONE = 'no test gets there'

const { values: options, words } = readArgs(
  'npm run mutate -- [rule or part of a path ...] [--tests part-of-path ...] [--sample n [--seed n]] [--hand] [--more] [--fresh] [--write] [--matrix file]',
  {
    sample: { type: 'string' },
    seed: { type: 'string' },
    tests: { type: 'string', multiple: true },
    hand: { type: 'boolean' },
    more: { type: 'boolean' },
    fresh: { type: 'boolean' },
    write: { type: 'boolean' },
    matrix: { type: 'string' },
  },
  Infinity,
)
const sample = wholeNumber('--sample', options.sample, 1)
const seed = wholeNumber('--seed', options.seed)
if (seed !== undefined && sample === undefined) refuse('--seed goes with --sample')
if (options.write && (sample !== undefined || words.length > 0 || options.more))
  refuse('--write is for all mutants')
needBuilt('build/test')

const operated = operatorMutants()
const byHand = handMutants()
const chosen = choose()
/** All that were measured, by id. */
const tests = new Map()
const workspaces = Array.from({ length: Math.min(WORKERS, chosen.length) }, () => new Workspace())
const results = await tryAll()
finish()

/** Test files in the order in which they are tried: the long ones only against what the others did not notice. */
function phases() {
  const files = testFiles().filter((file) => !NOT_RUN.test(file))
  if (options.tests === undefined) return [files.filter((file) => !isLong(file)), files.filter(isLong)]
  return [files.filter((file) => options.tests.some((word) => file.includes(word)))]
}

function choose() {
  const made = options.more ? operated : operated.filter(isUsual)
  const all = options.hand ? byHand : [...byHand, ...made]
  const isMeant = (mutant, word) =>
    mutant.rule === undefined ? mutant.file.includes(word) : mutant.rule === word
  for (const word of words) {
    if (!all.some((mutant) => isMeant(mutant, word)))
      refuse(`no mutant breaks ${word}, and none is in a file of that name`)
  }
  const found = all.filter((mutant) => words.length === 0 || words.some((word) => isMeant(mutant, word)))
  if (sample === undefined) return found
  const open = found.filter((mutant) => explain(mutant) === undefined)
  const start = seed ?? Math.floor(Date.now() / 86_400_000)
  console.log(`a sample of ${sample}, seed ${start}`)
  const next = random(start)
  return open
    .map((mutant) => ({ mutant, key: next() }))
    .sort((a, b) => a.key - b.key)
    .slice(0, sample)
    .map(({ mutant }) => mutant)
}

function random(start) {
  let state = start >>> 0
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0
    return (Math.imul(state ^ (state >>> 13), 0x297a2d39) >>> 0) / 2 ** 32
  }
}

async function tryAll() {
  const prints = fingerprints()
  const isRemembered = options.matrix === undefined && options.tests === undefined
  const known = options.fresh || !isRemembered ? new Map() : recall(prints)
  const killers = new Set()
  const found = chosen.map((mutant) => ({ mutant, all: [], ...known.get(mutant.key), ...believed(mutant) }))
  const open = found.filter(({ by }) => by === undefined)
  for (const { mutant, by } of found) if (typeof by === 'string') killers.add(placeOf(mutant, by))
  if (open.length < found.length) console.log(`${found.length - open.length} are as they were`)
  for (const files of phases()) {
    const unnoticed = open.filter(({ by }) => by === undefined || by === null)
    if (unnoticed.length > 0) await tryPhase(unnoticed, files, killers, isRemembered ? prints : undefined)
  }
  if (isRemembered) for (const each of open) remember(prints, each)
  save()
  return found
}

/** A survivor that is explained is tried only with --fresh: it takes every test that reaches it. */
function believed(mutant) {
  return options.fresh || explain(mutant) === undefined ? {} : { by: null, why: 'explained' }
}

/** Tries mutants against the tests of some files, a few at a time. */
async function tryPhase(open, files, killers, prints) {
  const covered = await coverage(workspaces, operated, files, progress)
  covered.most = options.matrix === undefined && files.every(isLong) ? MOST_LONG : Infinity
  for (const [id, test] of covered.tests) tests.set(id, test)
  const queue = [...open]
  const work = async (workspace) => {
    for (let each = queue.shift(); each !== undefined; each = queue.shift()) {
      const { by: former } = each
      const found = await tryOne(workspace, each.mutant, covered, killers)
      if (former !== null || found.why !== NONE) Object.assign(each, found) // the quick ones may have got there
      if (each.by !== null) {
        killers.add(placeOf(each.mutant, each.by))
        if (prints !== undefined) remember(prints, each)
      }
      const tried = open.length - queue.length
      progress(`${tried} of ${open.length} mutants tried`, tried % 500 === 0)
    }
  }
  await Promise.all(workspaces.map(work))
}

/** { by: the test that notices it or null, why, all: with --matrix, every test that does }. */
async function tryOne(workspace, mutant, covered, killers) {
  const { reachedBy, most } = covered
  const near = mutant.rule === undefined ? reachedBy[mutant.id] : testsNear(mutant, covered)
  const plan = near
    .map((id) => tests.get(id))
    .map((test) => ({ test, order: orderOf(mutant, test, killers) }))
    .sort((a, b) => compare(a.order, b.order))
    .slice(0, explain(mutant) === undefined ? most : Math.min(most, MOST_EXPLAINED))
  const steps = []
  for (const { test } of plan) {
    if (steps.at(-1)?.file === test.file) steps.at(-1).ids.push(test.id)
    else steps.push({ file: test.file, ids: [test.id] })
  }
  if (steps.length === 0) return { by: null, why: NONE, all: [] }
  const all = []
  const stopAtFirst = options.matrix === undefined
  const patience = (id) => 2000 + 20 * (tests.get(id)?.ms ?? 100) // a busy machine is slow, but gets on
  const job = { steps, stopAtFirst, reached: false }
  const caught = await workspace.try(mutant, job, patience, (event) => {
    if (event.error !== undefined) all.push(event.end)
  })
  return { by: caught?.failed ?? null, why: caught?.why ?? '', all }
}

/** For a mutant written by hand: the tests of its rule, and those that reach anything in its file. */
function testsNear({ rule, file }, { tests, reachedBy }) {
  const ids = new Set([...tests.keys()].filter((id) => isOfRule(id, rule)))
  for (const mutant of operated) if (mutant.file === file) for (const id of reachedBy[mutant.id]) ids.add(id)
  return [...ids]
}

function isOfRule(id, rule) {
  return rule !== undefined && new RegExp(`\\b${rule}\\b`).test(id)
}

/** A test that has noticed a mutant of a function is the first to be tried against the others there. */
function placeOf({ file, within }, test) {
  return `${file} ${within} ${test}`
}

/** Tests that have noticed something in the same function; of the rule, the file, its room, all others; narrow ones first. */
function orderOf(mutant, test, killers) {
  const room = mutant.file.split('/')[0]
  const place = isOfRule(test.id, mutant.rule)
    ? 0
    : test.file === mutant.file.replace(/\.js$/, '.test.js') || test.file === `${room}/misuse.test.js`
      ? 1
      : test.file.startsWith(`${room === 'core' ? 'semantics' : room}/`)
        ? 2
        : test.file.startsWith('semantics/') || test.file.startsWith(`${room}/`)
          ? 3
          : /^(explore|random|programs|soak)\//.test(test.file)
            ? 5
            : 4
  return [killers.has(placeOf(mutant, test.id)) ? 0 : 1, place, test.size]
}

function compare(a, b) {
  const at = a.findIndex((each, i) => each !== b[i])
  return at < 0 ? 0 : a[at] - b[at]
}

function finish() {
  progress('')
  const survivors = results.filter(({ by }) => by === null)
  const unexplained = survivors.filter(({ mutant }) => explain(mutant) === undefined)
  for (const { mutant, why } of unexplained) {
    console.log(`SURVIVED ${mutant.key}\n         ${mutant.file}:${mutant.line ?? ''} ${why}`)
  }
  if (options.matrix !== undefined) writeMatrix(options.matrix, results, tests)
  if (options.write) writeTable(results)
  if (sample === undefined && words.length === 0 && options.fresh) {
    for (const entry of unusedExplanations(survivors.map(({ mutant }) => mutant))) {
      console.log(`explained, but nothing of it survives any more: ${entry}`)
    }
  }
  console.log(
    `${results.length} mutants, ${results.length - survivors.length} noticed, ` +
      `${survivors.length - unexplained.length} survivors explained, ${unexplained.length} not`,
  )
  process.exitCode = unexplained.length > 0 && !options.more ? 1 : 0
}

/** One line that is written over. Only a terminal can do that; elsewhere only what matters is printed. */
function progress(text, matters = false) {
  if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K${text}`)
  else if (matters) console.log(text)
}
