// Runs the programs in the documents and compares what they print.
//
// A ```ts block that begins with an import is a program; other ```ts blocks are fragments and are not run.
// A ```js block is a program for plain Node, and one that imports vitest is left to scripts/vitest.js. The ```text block that follows, if any, is what must come out:
// stdout, then stderr, then "exit code N" unless that is 0. Each is given two lines to read: hello, world. All programs are type-checked with the suite's settings.

import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const place = join(root, `build/docs-${process.pid}`)

interface Program {
  /** Where it stands: `README.md:12`. */
  readonly where: string
  readonly file: string
  readonly expected: string | undefined
}

rmSync(place, { recursive: true, force: true })
mkdirSync(place, { recursive: true })
after(() => rmSync(place, { recursive: true }))
const programs = documents().flatMap(extract)
const compiler = compile()

test('every program in the documents compiles', () => {
  assert.equal(compiler.stdout, '')
  assert.equal(compiler.status, 0)
})

test('the documents hold programs', () => {
  assert.ok(programs.some(({ where }) => where.startsWith('README.md')))
  assert.ok(programs.some(({ where }) => where.startsWith('docs/semantics.md')))
})

describe('the programs in the documents print what the documents say', { concurrency: 4 }, () => {
  for (const { where, file, expected } of programs) {
    test(where, async () => {
      const output = await runProgram(file)
      if (expected === undefined) assert.doesNotMatch(output, /^exit code/m)
      else assert.equal(output, expected)
    })
  }
})

test('links between the documents lead somewhere', () => {
  for (const document of documents()) {
    const text = prose(document)
    for (const [, path = '', , heading] of text.matchAll(/\]\((?!https?:)([^)#\s]*)(#([^)\s]+))?\)/g)) {
      const target = path === '' ? document : join(document, '..', path)
      assert.ok(existsSync(join(root, target)), `${document} links to ${target}`)
      if (heading === undefined) continue
      assert.ok(headings(target).includes(heading), `${document} links to #${heading} of ${target}`)
    }
  }
})

test('the files that the documents name are there', () => {
  for (const document of documents()) {
    for (const [, name = ''] of prose(document).matchAll(/`([\w/-]+\.ts)`/g)) {
      const places = [name, `src/${name}`, `src/core/${name}`]
      assert.ok(
        places.some((path) => existsSync(join(root, path))),
        `${document} names ${name}`,
      )
    }
  }
})

test('the sentences that the guides say you will read are those that you read', async () => {
  const sentences = documents()
    .filter((document) => document.startsWith(join('docs', 'guides')))
    .flatMap(
      (document) =>
        prose(document)
          .split('## Mistakes')[1]
          ?.match(/^\|.*$/gm) ?? [],
    )
    .flatMap((row) => [...(row.split(' | ').at(-1) ?? '').matchAll(/`(\w+: [^`]{20,})`/g)])
    .map(([, sentence = '']) => sentence)
  assert.ok(sentences.length >= 5)
  const read = (await runProgram(join(root, 'build/test/programs/mistakes.js'))).split('\n')
  assert.deepEqual(
    sentences.filter((sentence) => !read.includes(sentence)),
    [],
  )
})

/** A document without its code. */
function prose(document: string): string {
  return readFileSync(join(root, document), 'utf8').replaceAll(/^```.*?^```$/gms, '')
}

function headings(document: string): string[] {
  const lines = prose(document).matchAll(/^#+ (.*)$/gm)
  return [...lines].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  )
}

function documents(): string[] {
  const top = readdirSync(root).filter((name) => name.endsWith('.md'))
  const docs = readdirSync(join(root, 'docs'), { recursive: true }).map((name) => join('docs', String(name)))
  return [...top, ...docs.filter((name) => name.endsWith('.md'))]
}

function extract(document: string): Program[] {
  const text = readFileSync(join(root, document), 'utf8')
  const blocks = text.matchAll(/^```(ts|js)\n(.*?)^```\n(?:\n*```text\n(.*?)^```$)?/gms)
  const found: Program[] = []
  for (const [all, language, code = '', expected] of blocks) {
    if (language === 'ts' && !code.startsWith('import ')) continue
    if (code.includes(" from 'vitest'")) continue
    const line = text.slice(0, text.indexOf(all)).split('\n').length
    const name = `${document.replaceAll(/\W+/g, '-')}-${line}`
    const [source, file] =
      language === 'ts' ? [`${name}.ts`, `out/${name}.js`] : [`${name}.mjs`, `${name}.mjs`]
    writeFileSync(join(place, source), code)
    found.push({ where: `${document}:${line}`, file: join(place, file), expected: expected?.trimEnd() })
  }
  return found
}

function compile() {
  const config = {
    extends: '../../tsconfig.test.json',
    compilerOptions: { rootDir: '.', outDir: 'out', sourceMap: false },
    include: ['*.ts'],
  }
  writeFileSync(join(place, 'tsconfig.json'), JSON.stringify(config))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  return spawnSync(process.execPath, [tsc, '-p', place], { encoding: 'utf8' })
}

function runProgram(file: string): Promise<string> {
  return new Promise((resolve) => {
    const { NODE_TEST_CONTEXT, ...env } = process.env // a program with tests in it reports for itself
    const child = execFile(process.execPath, [file], { env, timeout: 60_000 }, (_, stdout, stderr) => {
      const code = child.exitCode === 0 ? '' : `exit code ${child.exitCode}`
      resolve(`${stdout}${stderr}${code}`.trimEnd())
    })
    child.stdin?.on('error', () => {}) // it may be over before it has read anything
    child.stdin?.end('hello\nworld\n')
  })
}
