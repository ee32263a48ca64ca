// The public API as text: every public name of every entry of the package, with its declaration and no comments.
// Prints it; with --write it goes to docs/api.txt, so that a change of the API shows in the diff. Needs the build.
import { writeFileSync } from 'node:fs'
import { needBuilt, readArgs } from './args.js'
import { entriesOf, exportsOf } from './declarations.js'

const FILE = 'docs/api.txt'

const { values: options } = readArgs('node scripts/api.js [--write]', { write: { type: 'boolean' } })
needBuilt('dist/index.d.ts')

const text = entriesOf()
  .map(({ name, file }) => `${describeEntry(name, file)}\n`)
  .join('\n')

if (options.write) writeFileSync(FILE, text)
else process.stdout.write(text)

function describeEntry(name, file) {
  const exported = [...exportsOf(file)].sort(([a], [b]) => (a < b ? -1 : 1))
  const declarations = exported.map(([, statements]) => statements.map(({ code }) => code).join('\n'))
  return [`==== ${name}`, ...declarations].join('\n\n')
}
