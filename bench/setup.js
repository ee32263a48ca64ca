// What the commands of the bench share: the rows in the order of the table, and the versions of Node they run on.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { refuse } from '../scripts/args.js'
import { checkRow } from './harness.js'

export const here = fileURLToPath(new URL('.', import.meta.url))
const newestHome = fileURLToPath(new URL('../tools/newest-node/', import.meta.url))

const ORDER = [
  'switch',
  'deep',
  'block',
  'spin',
  'loop',
  'until',
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
  'wakeup',
  'stop',
  'failures',
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

function inOrder(a, b) {
  const place = (file) => (ORDER.indexOf(file.replace('.js', '')) + 100) % 100
  return place(a) - place(b)
}

/** The rows with all of the words in their name or file, in the order of the table: [{ file, index, row }]. */
export async function readRows(words, isWanted = () => true) {
  const jobs = []
  for (const file of readdirSync(`${here}rows`).sort(inOrder)) {
    const { rows } = await import(`./rows/${file}`)
    rows.forEach((row, index) => {
      checkRow(row)
      const isNamed = words.every((word) => `${file} ${row.name}`.includes(word))
      if (isNamed && isWanted(row)) jobs.push({ file, index, row })
    })
  }
  if (jobs.length === 0)
    refuse(`no row has ${words.map((word) => `'${word}'`).join(' and ')} in its name or file`)
  return jobs
}

/** The running Node, the newest, which is installed as a package apart (see tools/newest-node), or both: [{ path, version }]. */
export function nodesToRun(wanted) {
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

export function npmCi(folder) {
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

/** Runs a script of the bench in a process of its own, and gives what it prints, as JSON. */
export function ask(node, flags, script, question) {
  const json = execFileSync(node.path, [...flags, script, JSON.stringify(question)], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return JSON.parse(json)
}

/** The figures of every round, for `--json`: one list for each version of Node. */
export function writeJson(file, nodes) {
  if (file === undefined) return
  const plain = nodes.map(({ version, results }) => ({
    version,
    results: results.map(({ row: { name, unit }, ...figures }) => ({ name, unit, ...figures })),
  }))
  writeFileSync(
    resolve(file),
    `${JSON.stringify({ date: new Date().toISOString(), nodes: plain }, null, 1)}\n`,
  )
}
