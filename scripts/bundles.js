// Bundles an installed package with webpack and esbuild, as users do, and runs the bundles. The bundlers are packages
// apart from ours (see tools/bundlers).
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Programs to run, with what each prints. Without a pattern for `stderr`, nothing may be printed there. */
const PROGRAMS = {
  main: {
    source: `import { main } from 'polyphony'
      main(function* () { console.log('main has run') })`,
    stdout: 'main has run\n',
  },
  run: {
    source: `import { run } from 'polyphony'
      run(function* () { return 'run has run' }).then(console.log)`,
    stdout: 'run has run\n',
  },
  testing: {
    source: `import { sleep } from 'polyphony'
      import { virtual } from 'polyphony/testing'
      virtual(() => sleep(3_600_000)).then(() => console.log('an hour later'))`,
    stdout: 'an hour later\n',
  },
  op: {
    source: `import { main } from 'polyphony'
      import { BaseOp, settle } from 'polyphony/op'
      class Double extends BaseOp {
        constructor(n) {
          super()
          this.n = n
        }
        enter(fiber) {
          settle(fiber, this, 2 * this.n)
        }
        abort() {}
        describe() {
          return 'double()'
        }
      }
      main(function* () { console.log(yield* new Double(21)) })`,
    stdout: '42\n',
  },
  io: {
    source: `import { run } from 'polyphony'
      import { readFile } from 'polyphony/io'
      run(() => readFile('no-such-file')).catch(({ message }) => console.log(message))`,
    stdout: 'readFile(no-such-file) failed: no such file or directory (ENOENT)\n',
  },
  proco: {
    source: `import { main } from 'polyphony'
      import { Proco } from 'polyphony/proco'
      main(function* () {
        const proco = new Proco()
        proco.start((n) => n * 2)
        console.log(yield* proco.submit(21))
        yield* proco.exit()
      })`,
    stdout: '42\n',
  },
  // In a bundle the frames of the library cannot be told from those of the user: all of them must be printed.
  stack: {
    source: `import { main, sleep, spin } from 'polyphony'
      function* inner() {
        yield* sleep(1)
        throw new Error('boom')
      }
      main(function* () {
        spin('job', inner)
        yield* sleep()
      })`,
    stdout: '',
    stderr: /Error: boom\n +at .*stack\.[cm]js:\d+/,
  },
}

/** Imports every bundle in a folder, and fails with a list of those that do not load. */
const LOAD = `
import { readdirSync } from 'node:fs'
const [folder] = process.argv.slice(1)
const names = readdirSync(new URL(folder))
const failed = []
for (const name of names) await import(folder + name).catch((error) => failed.push(name + ': ' + error.message))
if (failed.length > 0) {
  console.error(failed.length + ' of ' + names.length + ' bundles do not load:\\n' + failed.join('\\n'))
  process.exitCode = 1
}`

/**
 * Bundles each export of each entry alone, each entry whole, and the programs above; loads or runs every bundle.
 * `project` has the package installed; `entries` are the names of its modules.
 */
export async function tryBundles(project, entries) {
  const { webpack, esbuild } = loadBundlers()
  const imports = write(project, 'imports', await importsOf(project, entries))
  const programs = write(
    project,
    'programs',
    Object.entries(PROGRAMS).map(([name, { source }]) => [name, source]),
  )
  const builds = {
    webpack: async (home) => {
      // Minifying every import as well would take more than a minute.
      await bundleWithWebpack(webpack, imports, join(home, 'imports'), { minimize: false })
      await bundleWithWebpack(webpack, programs, join(home, 'programs'), { minimize: true })
    },
    'esbuild-esm': (home) => bundleWithEsbuild(esbuild, [...imports, ...programs], home, 'esm'),
    'esbuild-cjs': (home) => bundleWithEsbuild(esbuild, [...imports, ...programs], home, 'cjs'),
  }
  for (const [name, build] of Object.entries(builds)) {
    const home = join(project, name)
    await build(home)
    load(join(home, 'imports'))
    for (const program of Object.keys(PROGRAMS)) run(join(home, 'programs'), program)
    console.log(`pack: bundles of ${name} load (${imports.length}) and run (${programs.length})`)
  }
}

function loadBundlers() {
  const home = 'tools/bundlers'
  if (!existsSync(join(home, 'node_modules/webpack')))
    execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], {
      cwd: home,
      stdio: 'inherit',
    })
  const need = createRequire(resolve(home, 'package.json'))
  return { webpack: need('webpack'), esbuild: need('esbuild') }
}

/** A program for each name that an entry exports, and one for all names: a bundler leaves out other modules for each. */
async function importsOf(project, entries) {
  const { resolve: find } = createRequire(join(project, 'package.json'))
  const programs = []
  for (const entry of entries) {
    const label = entry.replace('/', '-')
    const names = Object.keys(await import(pathToFileURL(find(entry))))
    for (const name of names) {
      programs.push([
        `${label}-${programs.length}-${name}`, // numbered: call and Call may be one file
        `import { ${name} } from '${entry}'\nif (${name} === undefined) throw new Error('it is undefined')\n`,
      ])
    }
    programs.push([
      `${label}-all`,
      `import * as all from '${entry}'
      const n = Object.keys(all).length
      if (n !== ${names.length}) throw new Error(\`it has \${n} exports instead of ${names.length}\`)`,
    ])
  }
  return programs
}

/** Writes [name, source] into a folder, and gives the paths of the files. */
function write(project, folder, programs) {
  const home = join(project, folder)
  mkdirSync(home)
  return programs.map(([name, source]) => {
    const file = join(home, `${name}.js`)
    writeFileSync(file, source)
    return file
  })
}

function bundleWithWebpack(webpack, files, home, optimization) {
  const config = {
    mode: 'production',
    target: 'node',
    entry: Object.fromEntries(files.map((file) => [basename(file, '.js'), file])),
    output: { path: home, filename: '[name].cjs' },
    optimization,
  }
  return new Promise((done, failed) => {
    webpack(config, (error, stats) => {
      if (error) failed(error)
      else if (stats.hasErrors() || stats.hasWarnings()) failed(new Error(stats.toString('errors-warnings')))
      else done()
    })
  })
}

async function bundleWithEsbuild(esbuild, files, home, format) {
  const { warnings } = await esbuild.build({
    entryPoints: files,
    bundle: true,
    platform: 'node',
    format,
    outdir: home,
    outExtension: { '.js': format === 'cjs' ? '.cjs' : '.mjs' },
    logLevel: 'error',
  })
  if (warnings.length > 0) throw new Error(`esbuild warns: ${warnings.map(({ text }) => text).join('; ')}`)
}

/** Imports every bundle in a folder. */
function load(folder) {
  const { status, stderr } = node(['--input-type=module', '-e', LOAD, `${pathToFileURL(folder)}/`])
  if (status !== 0) throw new Error(`${folder}: ${stderr}`)
}

function run(folder, program) {
  const { stdout, stderr = /^$/ } = PROGRAMS[program]
  const file = readdirSync(folder).find((name) => name.startsWith(`${program}.`))
  const said = node([join(folder, file)])
  if (said.stdout !== stdout || !stderr.test(said.stderr))
    throw new Error(
      `${file} in ${folder} printed\n${said.stdout}${said.stderr}\ninstead of\n${stdout}${stderr}`,
    )
}

function node(args) {
  return spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 60_000 })
}
