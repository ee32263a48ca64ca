// Tries the package as a user gets it: packs it, installs the tarball into an empty TypeScript project, compiles a program
// and every entry with Node's and with a bundler's module resolution, and runs the output; then bundles it and runs the
// bundles. Needs the network only to install the bundlers, once; leaves nothing else behind.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { readArgs } from './args.js'
import { tryBundles } from './bundles.js'

const MAIN = `
import { Fiber, type Op, moveOnAfter, run, sleep, spin } from 'polyphony'
import { virtual } from 'polyphony/testing'

function* half(n: number) {
  yield* sleep(1)
  return n / 2
}
const answer: number = await run(function* () {
  const [a, b] = yield* Fiber.await(spin(half, 80), spin(half, 4))
  return a + b
})
const forever: Op<string> = moveOnAfter(3_600_000, () => sleep(), 'an hour later')
console.log(answer, await virtual(() => forever))
`
/** An op of a user: the declarations must suffice to write one. */
const OP = `
import { type Fiber, type Op, run, spin } from 'polyphony'
import { type Attempt, BaseOp, OutsideOp, settle, Waiters } from 'polyphony/op'

class Turnstile {
  readonly line = new Waiters()
  private readonly passing = new Pass(this).droppable()
  pass(): Op<string> {
    return this.passing.handOut()
  }
}
class Pass extends BaseOp<string> {
  constructor(private readonly turnstile: Turnstile) {
    super()
  }
  enter(fiber: Fiber): void {
    this.turnstile.line.join(fiber, undefined)
  }
  abort(fiber: Fiber): void {
    this.turnstile.line.leave(fiber)
  }
  describe(): string {
    return 'turnstile.pass()'
  }
}
class Tick extends OutsideOp<number> {
  protected start(attempt: Attempt<number>): void {
    queueMicrotask(() => attempt.settle(attempt.fiber.runtime.now() >= 0 ? 1 : 0))
  }
  protected cancel(): void {}
  describe(): string {
    return 'a tick'
  }
}
class Ready<T> extends BaseOp<T> {
  constructor(private readonly value: T) {
    super()
  }
  enter(fiber: Fiber): void {
    settle(fiber, this, this.value)
  }
  abort(): void {}
  describe(): string {
    return 'a value'
  }
}
const passed: string = await run(function* () {
  const turnstile = new Turnstile()
  const guest = spin('guest', () => turnstile.pass())
  const n: number = yield* new Tick()
  const what: string = \`\${guest} \${n}\`
  turnstile.line.handOver(yield* new Ready('welcome'))
  return \`\${what}: \${yield* guest}\`
})
console.log(passed)
`
/** npm warns a user who installs a package with one of these, even if it has nothing to do. */
const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall', 'prepare']

readArgs('npm run test:pack, with no arguments')

/** Every module that the package exports: 'polyphony', 'polyphony/testing' and so on. */
const { exports } = JSON.parse(readFileSync('package.json', 'utf8'))
const entries = Object.keys(exports)
  .filter((path) => typeof exports[path] === 'object')
  .map((path) => `polyphony${path.slice(1)}`)

/** The programs of the project, and what each prints. */
const PROGRAMS = {
  main: { source: MAIN, output: '42 an hour later\n' },
  op: { source: OP, output: 'run > guest (waiting for turnstile.pass()) 1: welcome\n' },
  entries: {
    source: entries
      .map((entry, i) => `import * as e${i} from '${entry}'\nconsole.log('${entry}', typeof e${i})\n`)
      .join(''),
    output: entries.map((entry) => `${entry} object\n`).join(''),
  },
}

/** How users find modules. Two projects have Node's types; `browser` has those of the browser, which suffice for `main` and `op`. */
const PROJECTS = {
  node16: {
    programs: ['main', 'op', 'entries'],
    options: {
      module: 'node16',
      moduleResolution: 'node16',
      types: ['node'],
      lib: ['ES2023', 'ESNext.Disposable'],
    },
  },
  bundler: {
    programs: ['main', 'op', 'entries'],
    options: {
      module: 'esnext',
      moduleResolution: 'bundler',
      types: ['node'],
      lib: ['ES2023', 'ESNext.Disposable'],
    },
  },
  browser: {
    programs: ['main', 'op'],
    options: {
      module: 'esnext',
      moduleResolution: 'bundler',
      types: [],
      lib: ['ES2023', 'ESNext.Disposable', 'DOM'],
    },
  },
}

const tsc = resolve('node_modules/typescript/bin/tsc')
const typeRoots = [resolve('node_modules/@types')]
const home = mkdtempSync(join(tmpdir(), 'polyphony-pack-'))
try {
  // What is built is packed: to build it again would change dist under the tests that run beside.
  execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', home], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const tarball = readdirSync(home).find((name) => name.endsWith('.tgz'))
  if (tarball === undefined) throw new Error('npm pack made no tarball')
  const project = join(home, 'project')
  install(project, join(home, tarball))
  for (const [name, { programs, options }] of Object.entries(PROJECTS)) {
    compile(project, name, options, programs)
    for (const program of programs) {
      const said = node([`${name}/${program}.js`], project)
      const { output } = PROGRAMS[program]
      if (said !== output) throw new Error(`${name}/${program}: expected ${output}, got ${said}`)
    }
    console.log(`pack: the project '${name}' compiles and runs: ${programs.join(', ')}`)
  }
  await tryBundles(project, entries)
} finally {
  rmSync(home, { recursive: true, force: true })
}

function install(project, tarball) {
  mkdirSync(project)
  writeFileSync(
    join(project, 'package.json'),
    JSON.stringify({ name: 'empty', private: true, type: 'module' }),
  )
  for (const [name, { source }] of Object.entries(PROGRAMS))
    writeFileSync(join(project, `${name}.ts`), source)
  const quiet = ['--offline', '--no-audit', '--no-fund', '--silent']
  execFileSync('npm', ['install', ...quiet, tarball], {
    cwd: project,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const installed = readdirSync(join(project, 'node_modules')).filter((name) => !name.startsWith('.'))
  if (installed.join() !== 'polyphony')
    throw new Error(`it must not depend on anything, but there are: ${installed}`)
  for (const path of ['dist/index.js', 'dist/index.d.ts', 'src/index.ts', 'LICENSE']) {
    if (!existsSync(join(project, 'node_modules/polyphony', path)))
      throw new Error(`${path} is not in the package`)
  }
  for (const path of ['test', 'build', 'scripts', 'docs', 'node_modules']) {
    if (existsSync(join(project, 'node_modules/polyphony', path)))
      throw new Error(`${path} does not belong in the package`)
  }
  const { scripts } = JSON.parse(readFileSync(join(project, 'node_modules/polyphony/package.json'), 'utf8'))
  for (const name of INSTALL_SCRIPTS) {
    if (scripts[name] !== undefined)
      throw new Error(`npm warns of the script '${name}' when it installs the package`)
  }
}

/** Strict, and with the declarations of the package checked too. */
function compile(project, name, options, programs) {
  const compilerOptions = {
    target: 'es2022',
    strict: true,
    skipLibCheck: false,
    outDir: name,
    typeRoots,
    ...options,
  }
  const config = `tsconfig.${name}.json`
  writeFileSync(
    join(project, config),
    JSON.stringify({ compilerOptions, files: programs.map((program) => `${program}.ts`) }),
  )
  node([tsc, '-p', config], project)
}

function node(args, cwd) {
  try {
    return execFileSync(process.execPath, args, {
      cwd,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    })
  } catch (error) {
    throw new Error(`node ${args.join(' ')} failed:\n${error.stdout}`)
  }
}
