// Parts of bench/results.md that commands of their own write, between two marks. `npm run bench -- --write` writes all the rest, and
// leaves them as they are.
import { readFileSync, writeFileSync } from 'node:fs'

const results = new URL('results.md', import.meta.url)
const COMMANDS = {
  short: 'npm run bench -- --short --write',
  proco: 'npm run bench:proco -- --write',
}
const begin = (name) => `<!-- ${name}: written by ${COMMANDS[name]} -->`
const end = (name) => `<!-- /${name} -->`

/** All parts that there are, each with its marks. */
export function readSections() {
  return Object.keys(COMMANDS)
    .map(readSection)
    .filter((section) => section !== '')
}

/** The part with its marks, or '' if there is none. */
function readSection(name) {
  const [, rest] = readFileSync(results, 'utf8').split(begin(name))
  const [text, after] = rest?.split(end(name)) ?? []
  return after === undefined ? '' : `${begin(name)}${text}${end(name)}\n`
}

/** Puts it where it was, or at the end. */
export function writeSection(name, text) {
  const page = readFileSync(results, 'utf8')
  const before = readSection(name)
  const section = `${begin(name)}\n\n${text.trim()}\n\n${end(name)}\n`
  writeFileSync(
    results,
    before === '' ? `${page.trimEnd()}\n\n${section}` : page.replace(before, () => section),
  )
}
