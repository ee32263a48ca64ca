// Which tests reach which mutants: runs every test once in an instrumented workspace. Kept in build/mutants, file by file,
// until the library changes, or the test file or something that it imports.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const FILE = 'build/mutants/coverage.json'

/** { tests: Map(id -> { id, file, ms, size }), reachedBy: ids of tests for each mutant } for some test files. */
export async function coverage(workspaces, mutants, files, onProgress) {
  const library = hashOf('dist') + readFileSync('scripts/mutate/operators.js', 'utf8')
  const known = existsSync(FILE) ? JSON.parse(readFileSync(FILE, 'utf8')) : {}
  const wanted = files.map((file) => ({
    file: `${file}.test.js`,
    hash: hashOfTest(`${file}.test.js`, library),
  }))
  const isKnown = ({ file, hash }) => known[file]?.hash === hash
  const missing = wanted.filter((each) => !isKnown(each))
  for (const { file, hash, found } of await measure(workspaces, missing, onProgress)) {
    known[file] = { hash, found }
  }
  mkdirSync('build/mutants', { recursive: true })
  if (missing.length > 0) writeFileSync(FILE, JSON.stringify(known))
  const tests = new Map()
  const reachedBy = mutants.map(() => [])
  for (const { file } of wanted) {
    for (const { id, ms, reached } of known[file].found) {
      tests.set(id, { id, file, ms, size: reached.length })
      for (const each of reached) reachedBy[each].push(id)
    }
  }
  return { tests, reachedBy }
}

async function measure(workspaces, files, onProgress) {
  const results = []
  const queue = [...files]
  const work = async (workspace) => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      // Twice at most: a test may fail once for reasons of the machine.
      results.push({
        ...next,
        found: await measureFile(workspace, next.file).catch(() => measureFile(workspace, next.file)),
      })
      onProgress(`which tests reach what: ${results.length} of ${files.length} files`)
    }
  }
  await Promise.all(workspaces.map(work))
  return results
}

async function measureFile(workspace, file) {
  const found = []
  let failed
  const job = { steps: [{ file, ids: null }], stopAtFirst: false, reached: true }
  await workspace.run(
    -1,
    job,
    () => 120_000,
    ({ end, error, ms, reached }) => {
      if (error !== undefined) failed ??= new Error(`without any mutant: ${end} fails: ${error}`)
      if (reached !== undefined) found.push({ id: end, ms, reached })
    },
  )
  if (failed !== undefined) throw failed
  return found
}

/** One hash of a test file, of the helpers that it imports, and of more text. */
export function hashOfTest(file, more = '') {
  const hash = createHash('sha256').update(more)
  const seen = new Set()
  const add = (path) => {
    if (seen.has(path) || !existsSync(path)) return
    seen.add(path)
    const text = readFileSync(path, 'utf8')
    hash.update(text)
    for (const [, from] of text.matchAll(/from '(\.[^']+)'/g)) add(join(dirname(path), from))
  }
  add(join('build/test', file))
  return hash.digest('hex')
}

/** One hash of all JavaScript in some folders. */
export function hashOf(...folders) {
  const hash = createHash('sha256')
  for (const folder of folders) {
    for (const name of readdirSync(folder, { recursive: true }).map(String).sort()) {
      if (name.endsWith('.js')) hash.update(name).update(readFileSync(`${folder}/${name}`))
    }
  }
  return hash.digest('hex')
}
