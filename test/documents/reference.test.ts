// Every public name is documented, and the examples in the doc comments do what they say.
//
// An example that begins with an import is a whole program; it stands on a page of docs/reference, where programs.test.ts
// runs it. Any other is the body of a fiber and is run here, on the virtual clock. In it, the comment after
// console.log(...) is what that line prints: `a, b` when it prints twice, `never printed` when it is not reached.

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { format } from 'node:util'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const place = join(root, `build/reference-${process.pid}`)
after(() => rmSync(place, { recursive: true }))

interface Documented {
  readonly name: string
  readonly prose: string
  readonly examples: readonly { readonly code: string; readonly output?: string }[]
}
interface Item extends Documented {
  readonly kind: 'function' | 'class' | 'error' | 'type'
  readonly members: readonly Documented[]
}
interface Entry {
  readonly name: string
  readonly items: readonly Item[]
}
interface Fragment {
  /** `polyphony: Fiber.stop`. */
  readonly where: string
  readonly entry: string
  readonly code: string
  readonly file: string
}

const entries: Entry[] = JSON.parse(script('--json'))
const documented = entries.flatMap((entry) =>
  entry.items.flatMap((item) => [
    { ...item, where: `${entry.name}: ${item.name}` },
    ...item.members.map((member) => ({ ...member, where: `${entry.name}: ${item.name}.${member.name}` })),
  ]),
)
const fragments = entries.flatMap(fragmentsOf)
const compiler = compile()

test('docs/reference is the API as it is built (npm run reference writes it)', () => {
  assert.equal(script('--check'), '')
})

test('every public name, and every member of one, has a sentence', () => {
  assert.ok(documented.length > 100)
  const silent = documented.filter(({ prose }) => !/^[A-Z`\d'].*[.)]$/s.test(prose))
  assert.deepEqual(
    silent.map(({ where }) => where),
    [],
  )
})

test('every public function and class has an example', () => {
  const bare = entries.flatMap(({ items }) =>
    items.filter(({ kind, examples }) => kind !== 'type' && examples.length === 0),
  )
  assert.deepEqual(
    bare.map(({ name }) => name),
    [],
  )
})

test('the example of a member is the body of a fiber', () => {
  const programs = entries.flatMap(({ items }) =>
    items.flatMap(({ members }) =>
      members.filter(({ examples }) => examples.some(({ code }) => isProgram(code))),
    ),
  )
  assert.deepEqual(
    programs.map(({ name }) => name),
    [],
  )
})

test('every example compiles', () => {
  assert.equal(compiler.stdout, '')
  assert.equal(compiler.status, 0)
})

describe('the examples in the doc comments print what they say', () => {
  before(() => process.chdir(place)) // the files that they write go with it
  after(() => process.chdir(root))
  for (const { where, code, file } of fragments) {
    test(where, async () => {
      const said = new Map<number, string[]>()
      const { example } = await import(pathToFileURL(file).href)
      await example((line: number, ...args: unknown[]) => {
        said.set(line, [...(said.get(line) ?? []), format(...args)])
      })
      for (const [line, text] of code.split('\n').entries()) {
        if (!text.includes('console.log(')) continue
        const [statement = '', expected] = text.split(' // ')
        assert.ok(expected !== undefined, `it does not say what this prints: ${statement}`)
        const printed = said.get(line)?.join(', ') ?? 'never printed'
        assert.equal(printed, expected, statement.trim())
      }
    })
  }
})

function script(option: string): string {
  const file = join(root, 'scripts/reference.js')
  return execFileSync(process.execPath, [file, option], { cwd: root, encoding: 'utf8' })
}

function isProgram(code: string): boolean {
  return code.startsWith('import ')
}

function fragmentsOf(entry: Entry): Fragment[] {
  return entry.items.flatMap((item) =>
    [item, ...item.members].flatMap((each) =>
      each.examples
        .filter(({ code }) => !isProgram(code))
        .map(({ code }, i) => {
          const name = each === item ? item.name : `${item.name}.${each.name}`
          const file = `${entry.name}-${item.kind}-${name}-${i}`.replaceAll(/\W+/g, '-')
          return {
            where: `${entry.name}: ${name}`,
            entry: entry.name,
            code,
            file: join(place, `out/${file}.js`),
          }
        }),
    ),
  )
}

/** A module for each example: it imports what the example uses, and tells each line's output apart. */
function compile() {
  rmSync(place, { recursive: true, force: true })
  mkdirSync(place, { recursive: true })
  for (const { entry, code, file } of fragments) {
    const imports = [...new Set(['polyphony', entry])].map((from) => importsOf(from, code))
    const body = code
      .split('\n')
      .map((line, i) => line.replaceAll('console.log(', `say(${i}, `))
      .join('\n')
    const module = [
      ...imports,
      `import { virtual as runExample } from 'polyphony/testing'`,
      `type Say = (line: number, ...args: unknown[]) => void`,
      `export const example = (say: Say) => runExample(function* () {`,
      body,
      `})`,
    ]
    writeFileSync(file.replace('/out/', '/').replace(/js$/, 'ts'), module.join('\n'))
  }
  const config = {
    extends: '../../tsconfig.test.json',
    compilerOptions: { rootDir: '.', outDir: 'out', sourceMap: false },
    include: ['*.ts'],
  }
  writeFileSync(join(place, 'tsconfig.json'), JSON.stringify(config))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  return spawnSync(process.execPath, [tsc, '-p', place], { encoding: 'utf8' })
}

function importsOf(from: string, code: string): string {
  const words = new Set(code.match(/\w+/g))
  const used = entries.find(({ name }) => name === from)?.items.filter(({ name }) => words.has(name)) ?? []
  const names = used.map(({ name, kind }) => (kind === 'type' ? `type ${name}` : name))
  return `import { ${names.join(', ')} } from '${from}'`
}
