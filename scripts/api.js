// The public API as text: every public name of every entry of the package, with its declaration and no comments.
// Prints it; with --write it goes to docs/api.txt, so that a change of the API shows in the diff. Needs the build.
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

const FILE = 'docs/api.txt'
const { name: packageName, exports: entries } = JSON.parse(readFileSync('package.json', 'utf8'))

const text = Object.entries(entries)
  .filter(([, entry]) => entry.types !== undefined)
  .map(([path, entry]) => `${describeEntry(`${packageName}${path.slice(1)}`, entry.types)}\n`)
  .join('\n')

if (process.argv.includes('--write')) writeFileSync(FILE, text)
else process.stdout.write(text)

function describeEntry(name, file) {
  const exported = [...exportsOf(resolve(file))].sort(([a], [b]) => (a < b ? -1 : 1))
  return [`==== ${name}`, ...exported.map(([, declaration]) => declaration)].join('\n\n')
}

/** Public name -> declaration, of one .d.ts file and all that it re-exports. */
function exportsOf(file) {
  const found = new Map()
  for (const statement of statementsOf(file)) {
    const reexport = /^export (?:type )?(\*|\{([\s\S]*)\}) from '(.*)';$/.exec(statement)
    if (reexport !== null) {
      const from = exportsOf(resolve(dirname(file), reexport[3].replace(/\.js$/, '.d.ts')))
      if (reexport[1] === '*') for (const [name, declaration] of from) found.set(name, declaration)
      else {
        for (const [, inner, outer] of reexport[2].matchAll(/(?:type )?(\w+)(?: as (\w+))?,?/g)) {
          found.set(outer ?? inner, from.get(inner) ?? `??? ${inner}`)
        }
      }
      continue
    }
    const declared =
      /^export (?:declare )?(?:abstract )?(?:class|interface|type|function|const|let|enum) (\w+)/.exec(
        statement,
      )
    if (declared === null) continue
    const before = found.get(declared[1])
    found.set(declared[1], before === undefined ? statement : `${before}\n${statement}`) // overloads
  }
  return found
}

/** The top-level statements of a .d.ts file, without comments and private members. */
function statementsOf(file) {
  const code = readFileSync(file, 'utf8')
    .replace(/('(?:\\.|[^'\\\n])*')|\/\*[\s\S]*?\*\/|\/\/.*/g, (_, string) => string ?? '')
    .split('\n')
    .filter((line) => line.trim() !== '' && !/^\s+(?:static )?private /.test(line))
  const statements = []
  for (const line of code) {
    // A statement begins in the first column; what closes one does too.
    if (/^[\s})\]]/.test(line)) statements.push(`${statements.pop()}\n${line}`)
    else statements.push(line)
  }
  return statements
}
