// Compiles on every change and runs the tests that it concerns: npm run test:watch, or with words, as for npm test.
//
// A changed test file is run, a changed helper means the test files that import it, a file of the library the tests of its room.
import { spawn } from 'node:child_process'
import { readFileSync, watch } from 'node:fs'
import { createInterface } from 'node:readline'
import { readArgs } from './args.js'
import { testFiles } from './suite.js'

/** One compiler may begin when the other has ended; and editors save several files in a row. */
const SETTLED = 300

const { words } = readArgs('npm run test:watch -- [word ...], as for npm test', {}, Infinity)
/** Sources since the last run, as paths from the root. */
const changed = new Set()
/** Compilers at work, or whose last word was an error. */
const unready = new Set()
let timer
let running = null

for (const folder of ['src', 'test', 'examples']) {
  watch(folder, { recursive: true }, (_, name) => {
    if (name?.endsWith('.ts')) changed.add(`${folder}/${name.replaceAll('\\', '/')}`)
  })
}
for (const project of ['tsconfig.json', 'tsconfig.test.json']) {
  const args = ['node_modules/typescript/bin/tsc', '--watch', '--preserveWatchOutput', '-p', project]
  // A group of its own: the compiler is a process under this one.
  const compiler = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], detached: true })
  createInterface({ input: compiler.stdout }).on('line', (line) => heard(project, line.trim()))
  process.on('exit', () => process.kill(-compiler.pid))
}
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(0))
console.log('watching src and test; Ctrl-C ends it')

/** What a compiler prints: that it begins, errors, and how many there were. */
function heard(project, line) {
  const errors = /Found (\d+) errors?\. Watching/.exec(line)?.[1]
  if (/Starting (incremental )?compilation|build starting/.test(line)) unready.add(project)
  else if (errors === '0') unready.delete(project)
  else if (errors === undefined && line !== '') console.log(line)
  clearTimeout(timer)
  timer = setTimeout(runChanged, SETTLED)
}

function runChanged() {
  if (running !== null || unready.size > 0) return // the end of either looks again
  const files = words.length > 0 ? words : concerned([...changed])
  changed.clear()
  if (files?.length === 0) return
  console.log(`\n${new Date().toLocaleTimeString()} ${files?.join(' ') ?? 'all'}`)
  running = spawn(process.execPath, ['scripts/test.js', ...(files ?? [])], { stdio: 'inherit' })
  running.on('close', () => {
    running = null
    if (changed.size > 0) runChanged()
  })
}

/**
 * Words for scripts/test.js: the changed test files, those that import a changed helper, the room of a source, and for the
 * core the rules too. Null, for all, if the change concerns every room.
 */
function concerned(paths) {
  const found = new Set()
  const all = testFiles()
  for (const path of paths) {
    const [folder, room] = path.split('/')
    const name = path.replace(/^test\//, '').replace(/(\.test)?\.ts$/, '')
    if (all.includes(name)) found.add(name)
    else if (folder === 'examples') found.add('documents/examples')
    else if (folder === 'test') {
      const imported = `/${name.split('/').at(-1)}.js'`
      for (const file of all)
        if (readFileSync(`test/${file}.test.ts`, 'utf8').includes(imported)) found.add(file)
    } else {
      if (!all.some((file) => file.startsWith(`${room}/`))) return null
      if (room === 'core') found.add('semantics/')
      found.add(`${room}/`)
    }
  }
  return [...found]
}
