// Reads the public API from the built .d.ts files: every public name of every entry of the package, with its
// declaration and its comment. It relies on how the compiler writes them: a statement begins in the first column,
// a member of a class or an interface in the fifth. Used by api.js and reference.js. Needs the build.
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** The entries of the package that have types: `{ name: 'polyphony/testing', file: './dist/testing/index.d.ts' }`. */
export function entriesOf(packageFile = 'package.json') {
  const { name, exports: entries } = JSON.parse(readFileSync(packageFile, 'utf8'))
  return Object.entries(entries)
    .filter(([, entry]) => entry.types !== undefined)
    .map(([path, entry]) => ({ name: `${name}${path.slice(1)}`, file: entry.types }))
}

/** Public name -> its statements (several for overloads; `isType` if only the type is exported), of one .d.ts file and all that it re-exports. */
export function exportsOf(file) {
  const found = new Map()
  for (const statement of statementsOf(file)) {
    const reexport = /^export (?:type )?(\*|\{([\s\S]*)\}) from '(.*)';$/.exec(statement.code)
    if (reexport !== null) {
      const from = exportsOf(beside(file, reexport[3]))
      if (reexport[1] === '*') for (const [name, statements] of from) found.set(name, statements)
      else {
        for (const [, type, inner, outer] of reexport[2].matchAll(/(type )?(\w+)(?: as (\w+))?,?/g)) {
          const statements = from.get(inner) ?? [{ code: `??? ${inner}`, comment: '', members: [] }]
          const isType = type !== undefined || /^export type/.test(statement.code)
          found.set(outer ?? inner, isType ? statements.map((each) => ({ ...each, isType })) : statements)
        }
      }
      continue
    }
    const name = declaredName(statement)
    if (name !== undefined && statement.code.startsWith('export '))
      found.set(name, [...(found.get(name) ?? []), statement])
  }
  return found
}

/** The statement that declares a name which `file` declares itself or imports. */
export function findDeclaration(name, file) {
  for (const statement of statementsOf(file)) {
    if (declaredName(statement) === name) return statement
    const imported = /^import (?:type )?\{(.*)\} from '(\..*)';$/.exec(statement.code)
    if (imported?.[1].split(',').some((each) => each.trim().replace(/^type /, '') === name))
      return findDeclaration(name, beside(file, imported[2]))
  }
  return undefined
}

function declaredName({ code }) {
  return /^(?:export )?(?:declare )?(?:abstract )?(?:class|interface|type|function|const|let|enum) (\w+)/.exec(
    code,
  )?.[1]
}

function beside(file, path) {
  return resolve(dirname(file), path.replace(/\.js$/, '.d.ts'))
}

/**
 * The top-level statements of a .d.ts file: `code` without comments and private members, the `comment` above it, the
 * `members` of a class or an interface with theirs, and the `file`.
 */
export function statementsOf(file) {
  const statements = []
  let comment = ''
  for (const { text, above } of chunks(readFileSync(file, 'utf8').split('\n'), /^[^\s})\]]/)) {
    const lines = withoutComments(text)
      .split('\n')
      .filter((line) => line.trim() !== '' && !/^\s+(?:static )?private /.test(line))
    comment = above
    if (lines.length === 0) continue
    statements.push({ code: lines.join('\n'), comment, members: membersOf(text), file: resolve(file) })
  }
  return statements
}

function membersOf(text) {
  if (!/^(?:export )?(?:declare )?(?:abstract )?(?:class|interface) /.test(text)) return []
  const inner = text.trimEnd().split('\n').slice(1, -1)
  return chunks(inner, /^ {4}[^\s})\]]/, (code) => /[;}]$/.test(code) && isBalanced(code))
    .map(({ text: member, above }) => ({
      code: withoutComments(member)
        .split('\n')
        .filter((line) => line.trim() !== '')
        .map((line) => line.replace(/^ {4}/, ''))
        .join('\n'),
      comment: above,
    }))
    .filter(({ code }) => code !== '' && !/^(?:static )?private /.test(code))
}

/** Splits lines into pieces that begin where `start` matches, each with the doc comment that stands above it. */
function chunks(lines, start, isWhole = () => true) {
  const found = []
  let above = []
  let inComment = false
  for (const line of lines) {
    const open = found.at(-1)
    const goesOn = open !== undefined && !isWhole(withoutComments(open.text).trimEnd())
    if (inComment || (!goesOn && /^\s*\/\*\*/.test(line) && start.test(line))) {
      if (!inComment) above = []
      above.push(line)
      inComment = !line.trimEnd().endsWith('*/')
    } else if (!goesOn && start.test(line)) {
      found.push({ text: line, above: plain(above) })
      above = []
    } else if (open !== undefined) open.text += `\n${line}`
  }
  return found
}

function isBalanced(code) {
  const count = (pattern) => code.match(pattern)?.length ?? 0
  return count(/[([{]/g) === count(/[)\]}]/g)
}

/** The text of a doc comment. */
function plain(lines) {
  return lines
    .join('\n')
    .replace(/^\s*\/\*\*\s?/, '')
    .replace(/\s*\*\/\s*$/, '')
    .replaceAll(/^\s*\* ?/gm, '')
    .trim()
}

function withoutComments(code) {
  return code.replace(/('(?:\\.|[^'\\\n])*')|\/\*[\s\S]*?\*\/|\/\/.*/g, (_, string) => string ?? '')
}
