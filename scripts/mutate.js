// Breaks the rules of the library one at a time (scripts/mutants.js) and shows which test catches each.
//
//   npm run mutate                           every mutant
//   npm run mutate S14 S20                   those of these rules
//   npm run mutate -- --sample 8 --seed 3    some of them that need no outside, the same for the same seed; without a seed, others each day
//   npm run mutate -- --write                also writes the table to docs/mutants.md; with rules, only their lines
//
// Nothing here is changed. Each mutant is compiled in a copy of the package, where its tests run: first those of the file that it
// breaks, then those that carry the number of its rule, then all that run in one process, then those that start processes or
// talk to the outside; for a room that does so itself, its own before all others. The first test that fails ends it. Needs the build.
import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { needBuilt, readArgs, refuse, wholeNumber } from './args.js'
import { breakSource, mutants } from './mutants.js'

const SLOTS = 2
const TABLE = 'docs/mutants.md'
/** About the text of the code, or of the scripts: they would notice any change. */
const NOT_RUN = ['house.test.js', 'scripts.test.js', 'types.test.js']
/** Start processes of their own: last. So do those that talk to the outside. */
const SLOW = ['programs', 'docs', 'examples', 'examples-net', 'reference'].map((name) => `${name}.test.js`)
const isSlow = (file) => SLOW.includes(file) || /^(io|node)\//.test(file)
/** The nearer to the rules, the earlier. */
const ORDER = ['semantics/', 'core/', 'time/', 'testing/', '']
/** Milliseconds without a new test after which the last one hangs. A busy machine is slow, but it gets on. */
const PATIENCE = 60_000

/** A copy of the package has no need of these. */
const NOT_COPIED = /(^|\/)(\.git|node_modules)(\/|$)|^(bench|tools)(\/|$)/

const { values: options, words: rules } = readArgs(
  'npm run mutate -- [rule ...] [--sample n [--seed n]] [--write]',
  { sample: { type: 'string' }, seed: { type: 'string' }, write: { type: 'boolean' } },
  Infinity,
)
const sample = wholeNumber('--sample', options.sample, 1)
const seed = wholeNumber('--seed', options.seed)
if (seed !== undefined && sample === undefined) refuse('--seed goes with --sample')
if (options.write && sample !== undefined) refuse('a --sample cannot --write the table')

const groups = new Set()
const places = []
/** Mutants that the compiler refuses: faults of the list. */
const uncompiled = []
/** A copy of the package that is not broken; made when it is needed. */
let unbroken
process.on('exit', cleanUp)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1))

const chosen = choose()
checkPlaces()
needBuilt('build/test')
const { fast, slow } = listTests()

const slots = Array.from({ length: Math.min(SLOTS, chosen.length) }, makeSlot)
await checkUnbroken(slots[0])
const results = await runAll()
finish()

function choose() {
  const unknown = rules.filter((rule) => !mutants.some((mutant) => mutant.rule === rule))
  if (unknown.length > 0) refuse(`no mutant breaks ${unknown.join(', ')}`)
  const found = mutants.filter((mutant) => rules.length === 0 || rules.includes(mutant.rule))
  if (sample === undefined) return found
  // What the outside is needed for takes longer, or is caught by a test that hangs.
  const quick = found.filter(({ file }) => !/^src\/(io|node)\//.test(file))
  const start = seed ?? Math.floor(Date.now() / 86_400_000)
  console.log(`a sample of ${sample}, seed ${start}`)
  const next = random(start)
  return quick
    .map((mutant) => ({ mutant, key: next() }))
    .sort((a, b) => a.key - b.key)
    .slice(0, sample)
    .map(({ mutant }) => mutant)
}

function random(seed) {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0
    return (Math.imul(state ^ (state >>> 13), 0x297a2d39) >>> 0) / 2 ** 32
  }
}

/** One that no longer applies is told before any work. */
function checkPlaces() {
  const faults = mutants.flatMap((mutant) => {
    try {
      breakSource(mutant, readFileSync(mutant.file, 'utf8'))
      return []
    } catch (error) {
      return error.message
    }
  })
  if (faults.length > 0) refuse(faults.join('\n'))
}

function listTests() {
  const files = readdirSync('build/test', { recursive: true })
    .map(String)
    .filter((file) => file.endsWith('.test.js') && !NOT_RUN.includes(file))
    .sort()
  const rank = (file) => ORDER.findIndex((word) => file.startsWith(word))
  return {
    fast: files.filter((file) => !isSlow(file)).sort((a, b) => rank(a) - rank(b)),
    slow: files.filter(isSlow),
  }
}

/** A copy of the package, to be broken. */
function makeSlot() {
  const place = mkdtempSync(join(tmpdir(), 'polyphony-mutant-'))
  places.push(place)
  cpSync('.', place, { recursive: true, filter: (path) => !NOT_COPIED.test(path) })
  symlinkSync(resolve('node_modules'), join(place, 'node_modules'))
  return place
}

/** Tests that fail by themselves would catch everything. */
async function checkUnbroken(place) {
  if (place === undefined) refuse('nothing to break')
  const caught = await runTests(place, fast)
  if (caught !== null) refuse(`without any mutant: ${caught.what}`)
}

async function runAll() {
  const queue = [...chosen]
  const found = new Map()
  let count = 0
  await Promise.all(
    slots.map(async (place) => {
      for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
        const caught = await tryMutant(place, mutant).catch((error) => {
          if (error !== uncompiled) throw error
          return null
        })
        found.set(mutant, caught)
        const verdict = caught === null ? 'SURVIVED' : caught.what
        console.log(`${++count}/${chosen.length} ${mutant.rule} ${mutant.breaks}\n      ${verdict}`)
      }
    }),
  )
  return chosen.map((mutant) => ({ mutant, caught: found.get(mutant) }))
}

/** What caught it, or null. */
async function tryMutant(place, mutant) {
  const file = join(place, mutant.file)
  const before = readFileSync(file, 'utf8')
  writeFileSync(file, breakSource(mutant, before))
  try {
    await compile(place, mutant)
    const own = `\\b${mutant.rule}\\b`
    const near = [...fast, ...slow].filter((name) => mutant.file === `src/${name.replace(/test\.js$/, 'ts')}`)
    const named = slow.filter((name) => mutant.also.some((word) => name.includes(word)))
    const neighbours = slow.filter((name) => mutant.file.startsWith(`src/${name.split('/')[0]}/`))
    const steps = [
      [near],
      [neighbours.length > 0 ? neighbours : fast, own],
      ...named.map((name) => [[name], own]),
      ...neighbours.map((name) => [[name]]),
      [fast],
      ...slow.filter((name) => !neighbours.includes(name)).map((name) => [[name]]),
    ]
    for (const [files, only] of steps) {
      const caught = files.length > 0 ? await runTwice(place, files, only) : null
      if (caught !== null) return caught
    }
    return null
  } finally {
    writeFileSync(file, before)
  }
}

/** A test may have failed because the machine is busy, or fail without any mutant: then it has caught nothing. */
async function runTwice(place, files, only) {
  const caught = await runTests(place, files, only)
  if (caught === null) return null
  const name = `^${caught.test.replace(/[^\w\s]/g, '\\$&')}$`
  if ((await runTests(place, files, name)) === null) return null
  unbroken ??= makeSlot()
  return (await runTests(unbroken, files, name)) === null ? caught : null
}

async function compile(place, { rule, breaks }) {
  const args = ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json', '--declaration', 'false']
  const { code, stdout } = await runNode(place, args)
  if (code === 0) return
  uncompiled.push(`${rule} ${breaks}\n${stdout}`)
  throw uncompiled
}

/** Runs test files in one process, until the first test fails. */
async function runTests(place, files, only) {
  const urls = files.map((file) => `./build/test/${file}`)
  const program = `
    import { writeSync } from 'node:fs'
    import { beforeEach } from 'node:test'
    import { setImmediate } from 'node:timers/promises'
    beforeEach(async (test) => {
      await setImmediate() // what is to be told of the last test is told before this one can hang
      await setImmediate()
      writeSync(3, test.name + '\\n')
    })
    for (const file of ${JSON.stringify(urls)}) await import(file)`
  const args = ['--max-old-space-size=1000', '--test-reporter=tap', '--input-type=module', '-e', program]
  if (only !== undefined) args.unshift(`--test-name-pattern=${only}`)
  const { code, failed, began, stderr } = await runNode(place, args, true)
  if (failed !== undefined) return { test: failed, what: failed }
  if (code === 0) return null
  if (code === 'late') return { test: began, what: `hangs: ${began}` }
  return { test: began, what: `dies (${firstError(stderr) ?? code}): ${began}` }
}

function firstError(stderr) {
  return /^.*Error.*$/m.exec(stderr)?.[0].slice(0, 100)
}

/** Runs Node in a process group of its own, which is ended at the first failed test, or when nothing happens any more. */
function runNode(cwd, args, isTest = false) {
  const env = { ...process.env }
  for (const name of ['POLY_SEED', 'POLYPHONY_DEBUG', 'NODE_TEST_CONTEXT', 'NODE_OPTIONS']) delete env[name]
  const stdio = ['ignore', 'pipe', 'pipe', 'pipe']
  const child = spawn(process.execPath, args, { cwd, env, stdio, detached: true })
  groups.add(child.pid)
  const told = { code: null, failed: undefined, began: 'before the first test', stdout: '', stderr: '' }
  const timer = setTimeout(() => {
    told.code = 'late'
    endGroup(child.pid)
  }, PATIENCE)
  child.stdout.setEncoding('utf8').on('data', (text) => {
    told.stdout += text
    if (!isTest || told.failed !== undefined) return
    // Those inside are told before what they are in: the first is a test, not a suite.
    const [, name] = /^ *not ok \d+ - (.*)\n/m.exec(told.stdout) ?? []
    if (name === undefined) told.stdout = told.stdout.slice(told.stdout.lastIndexOf('\n') + 1)
    else {
      told.failed = name.replace(/\\(.)/g, '$1')
      endGroup(child.pid)
    }
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    if (told.stderr.length < 100_000) told.stderr += text
  })
  child.stdio[3].setEncoding('utf8').on('data', (text) => {
    told.began = text.trimEnd().split('\n').at(-1)
    timer.refresh()
  })
  return new Promise((done, fail) => {
    child.on('error', fail)
    child.on('close', (code, signal) => {
      clearTimeout(timer)
      endGroup(child.pid) // what it may have left
      groups.delete(child.pid)
      told.code ??= code ?? signal
      done(told)
    })
  })
}

function endGroup(pid) {
  if (!groups.has(pid)) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // nobody is left in it
  }
}

function cleanUp() {
  for (const pid of groups) endGroup(pid)
  for (const place of places) rmSync(place, { recursive: true, force: true })
}

function finish() {
  const survived = results.filter(({ caught }) => caught === null)
  console.log(`\n${table(results)}`)
  if (uncompiled.length > 0) refuse(`these mutants do not compile:\n${uncompiled.join('\n')}`)
  if (options.write) writeTable()
  else if (mutants.some(({ breaks }) => !readFileSync(TABLE, 'utf8').includes(cell(breaks)))) {
    console.log(`${TABLE} does not know every mutant; npm run mutate -- --write`)
  }
  console.log(
    `${results.length} mutants, ${results.length - survived.length} caught, ${survived.length} survived`,
  )
  process.exitCode = survived.length > 0 ? 1 : 0
}

function table(rows) {
  const lines = rows.map(
    ({ mutant, caught }) => `${mutant.rule} · ${mutant.breaks} · ${caught?.what ?? 'SURVIVED'}\n`,
  )
  return lines.join('')
}

function writeTable() {
  const before = readFileSync(TABLE, 'utf8').split('\n')
  const rows = mutants.flatMap((mutant) => {
    const line = `| ${mutant.rule} | ${cell(mutant.breaks)} | `
    const result = results.find((each) => each.mutant === mutant)
    if (result === undefined) return before.find((row) => row.startsWith(line)) ?? []
    return `${line}${cell(result.caught?.what ?? '**nothing**')} |`
  })
  const text = `# Which test guards which rule

Written by \`npm run mutate -- --write\`: each line is one way to break the library on purpose, and the first test that
fails then. The list is in [scripts/mutants.js](../scripts/mutants.js), the rules are in [semantics.md](semantics.md).
A rule may have many more tests; these are the ones that were seen to fail.

| rule | what was broken | the test that caught it |
|---|---|---|
${rows.join('\n')}

${rows.length} mutants, ${rows.filter((row) => !row.endsWith('**nothing** |')).length} caught.
`
  writeFileSync(TABLE, text)
}

function cell(text) {
  return text.replaceAll('|', '\\|')
}
