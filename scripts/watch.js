// Compiles on every change and runs the tests that it concerns: npm run test:watch, or with words, as for npm test.
//
// A changed test file is run; a changed file of the library means the tests of its room, and for the core the rules too.
import { spawn } from 'node:child_process'
import { mkdirSync, watch } from 'node:fs'
import { readArgs } from './args.js'
import { testFiles } from './suite.js'

/** The compiler writes many files in a row. */
const SETTLED = 300

const { words } = readArgs('npm run test:watch -- [word ...], as for npm test', {}, Infinity)
const changed = new Set()
let timer
let running = null

for (const folder of ['dist', 'build/test']) {
  mkdirSync(folder, { recursive: true })
  watch(folder, { recursive: true }, (_, name) => {
    if (!name?.endsWith('.js')) return
    changed.add(`${folder}/${name}`)
    clearTimeout(timer)
    timer = setTimeout(runChanged, SETTLED)
  })
}
for (const project of ['tsconfig.json', 'tsconfig.test.json']) {
  const compiler = spawn(process.execPath, ['node_modules/typescript/bin/tsc', '-w', '-p', project], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  compiler.stdout.setEncoding('utf8').on('data', (text) => {
    if (text.includes('error TS')) console.log(text.replaceAll('\x1bc', '').trim())
  })
  process.on('exit', () => compiler.kill())
}
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(0))
console.log('watching src and test; Ctrl-C ends it')

function runChanged() {
  if (running !== null) return // its end looks again
  const files = words.length > 0 ? words : concerned([...changed])
  changed.clear()
  if (files.length === 0) return
  console.log(`\n${new Date().toLocaleTimeString()} ${files.join(' ')}`)
  running = spawn(process.execPath, ['scripts/test.js', ...files], { stdio: 'inherit' })
  running.on('close', () => {
    running = null
    if (changed.size > 0) runChanged()
  })
}

/** Words for scripts/test.js. */
function concerned(paths) {
  const found = new Set()
  for (const path of paths) {
    const [, room] = path.split('/')
    if (path.startsWith('build/test/') && path.endsWith('.test.js')) {
      found.add(path.slice('build/test/'.length).replace(/\.test\.js$/, ''))
    } else if (path.startsWith('dist/')) {
      if (room === 'core') found.add('semantics/')
      if (testFiles().some((file) => file.startsWith(`${room}/`))) found.add(`${room}/`)
    }
  }
  return [...found]
}
