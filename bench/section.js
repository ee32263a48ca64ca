// The part of bench/results.md that npm run bench:proco writes. npm run bench writes all the rest, and leaves it as it is.
import { readFileSync, writeFileSync } from 'node:fs'

const results = new URL('results.md', import.meta.url)
const BEGIN = '<!-- proco: written by npm run bench:proco -- --write -->'
const END = '<!-- /proco -->'

/** The part with its marks, or '' if there is none. */
export function readSection() {
  const [, rest] = readFileSync(results, 'utf8').split(BEGIN)
  const [text, after] = rest?.split(END) ?? []
  return after === undefined ? '' : `${BEGIN}${text}${END}\n`
}

/** Puts it where it was, or at the end. */
export function writeSection(text) {
  const page = readFileSync(results, 'utf8')
  const before = readSection()
  const section = `${BEGIN}\n\n${text.trim()}\n\n${END}\n`
  writeFileSync(
    results,
    before === '' ? `${page.trimEnd()}\n\n${section}` : page.replace(before, () => section),
  )
}
