// A copy of the package in which dist is instrumented and the tests are run by the harness.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { instrument } from './operators.js'

/** What is not needed, and what other jobs make and remove meanwhile. */
const NOT_COPIED = /(^|\/)(\.git|node_modules)(\/|$)|^(bench|tools)(\/|$)|^build\/(compare-|coverage)/
const groups = new Set()
const places = []

process.on('exit', () => {
  for (const pid of groups) endGroup(pid)
  for (const place of places) rmSync(place, { recursive: true, force: true })
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1))

/** All mutants that the operators make of dist, in a fixed order. */
export function operatorMutants(root = '.') {
  return builtFiles(root).reduce((all, file) => {
    const source = readFileSync(join(root, 'dist', file), 'utf8')
    all.push(...instrument(file, source, all.length, '').mutants)
    return all
  }, [])
}

function builtFiles(root) {
  return readdirSync(join(root, 'dist'), { recursive: true })
    .map(String)
    .filter((file) => file.endsWith('.js') && existsSync(join(root, 'src', file.replace(/js$/, 'ts'))))
    .sort()
}

/**
 * A broken library may do anything: replace a device by a file, signal every process. If this runs as root,
 * the tests do not.
 */
const IS_ROOT = process.getuid?.() === 0
const USER = IS_ROOT ? { uid: 65_534, gid: 65_534 } : {}
/** Folders of root's, which that user may not look into, would change what a missing program is called. */
const PATHS = IS_ROOT
  ? { PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`, HOME: '/nonexistent' }
  : {}

export class Workspace {
  constructor(root = '.') {
    this.place = mkdtempSync(join(tmpdir(), 'polyphony-mutant-'))
    places.push(this.place)
    cpSync(root, this.place, { recursive: true, filter: (path) => !NOT_COPIED.test(path) })
    symlinkSync(resolve('node_modules'), join(this.place, 'node_modules'))
    for (const file of ['switch.js', 'harness.js', 'child.js'])
      cpSync(join('scripts/mutate', file), join(this.place, file))
    mkdirSync(join(this.place, 'tmp'))
    const header = `import ${JSON.stringify(pathToFileURL(join(this.place, 'switch.js')).href)};`
    let next = 0
    for (const file of builtFiles(root)) {
      const path = join(this.place, 'dist', file)
      const { mutants, source } = instrument(file, readFileSync(path, 'utf8'), next, header)
      next += mutants.length
      writeFileSync(path, source)
    }
    const harness = pathToFileURL(join(this.place, 'harness.js')).href
    for (const name of readdirSync(join(this.place, 'build/test'), { recursive: true }).map(String)) {
      if (!name.endsWith('.js')) continue
      const path = join(this.place, 'build/test', name)
      const text = readFileSync(path, 'utf8')
      if (text.includes("'node:test'")) writeFileSync(path, text.replaceAll("'node:test'", `'${harness}'`))
    }
    if (USER.uid !== undefined) execFileSync('chown', ['-R', `${USER.uid}:${USER.gid}`, this.place])
  }

  /** As `run`; a mutant that was written by hand is compiled first, and taken back after. */
  async try(mutant, job, limit, onEvent) {
    if (mutant.source === undefined) return this.run(mutant.id, job, limit, onEvent)
    const [source, built] = [join(this.place, mutant.path), join(this.place, 'dist', mutant.file)]
    const [sourceBefore, builtBefore] = [readFileSync(source), readFileSync(built)]
    writeFileSync(source, mutant.source)
    try {
      const args = [
        '-p',
        'tsconfig.json',
        '--declaration',
        'false',
        '--sourceMap',
        'false',
        '--outDir',
        'broken',
      ]
      const { status, stdout } = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', ...args], {
        cwd: this.place,
        encoding: 'utf8',
      })
      if (status !== 0) throw new Error(`${mutant.key} does not compile:\n${stdout}`)
      cpSync(join(this.place, 'broken', mutant.file), built)
      return await this.run(-1, job, limit, onEvent)
    } finally {
      writeFileSync(source, sourceBefore)
      writeFileSync(built, builtBefore)
    }
  }

  /**
   * Runs tests with one mutant on (or none, -1). `onEvent` hears of each; the run ends at the first failure if the job
   * says so. `limit(id)` is how many milliseconds a test may take before it hangs. Gives { failed, why } or null.
   */
  run(active, job, limit, onEvent = () => {}) {
    rmSync(join(this.place, 'reached'), { recursive: true, force: true })
    if (job.reached) {
      mkdirSync(join(this.place, 'reached'))
      chmodSync(join(this.place, 'reached'), 0o777)
    }
    writeFileSync(join(this.place, 'active'), String(active))
    writeFileSync(join(this.place, 'job.json'), JSON.stringify(job))
    const env = { ...process.env, ...PATHS, TMPDIR: join(this.place, 'tmp') }
    for (const name of ['POLY_SEED', 'POLYPHONY_DEBUG', 'NODE_TEST_CONTEXT', 'NODE_OPTIONS']) delete env[name]
    const child = spawn(
      process.execPath,
      ['--expose-gc', '--max-old-space-size=1500', 'child.js', 'job.json'],
      {
        cwd: this.place,
        env,
        stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
        detached: true,
        ...USER,
      },
    )
    groups.add(child.pid)
    let running = null
    let caught = null
    let isDone = false
    let timer
    let rest = ''
    let stderr = ''
    child.stderr.setEncoding('utf8').on('data', (text) => {
      if (stderr.length < 2000) stderr += text
    })
    child.stdio[3].setEncoding('utf8').on('data', (text) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop()
      for (const line of lines) {
        const event = JSON.parse(line)
        clearTimeout(timer)
        if (event.begin !== undefined) {
          running = event.begin
          timer = setTimeout(() => {
            caught ??= { failed: running, why: 'hangs' }
            onEvent({ end: running, error: 'hangs', ms: limit(running) })
            endGroup(child.pid)
          }, limit(running))
        } else if (event.done) isDone = true
        else {
          running = null
          if (event.error !== undefined) caught ??= { failed: event.end, why: event.error }
          onEvent(event)
        }
      }
    })
    return new Promise((resolve, reject) => {
      child.on('error', reject)
      child.on('close', () => {
        clearTimeout(timer)
        endGroup(child.pid)
        groups.delete(child.pid)
        if (!isDone && caught === null) {
          caught = { failed: running ?? '(start)', why: `the process ended: ${stderr.slice(0, 300)}` }
          if (running !== null) onEvent({ end: running, error: caught.why, ms: 0 })
        }
        resolve(caught)
      })
    })
  }
}

function endGroup(pid) {
  if (!groups.has(pid)) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // the group has ended already
  }
}
