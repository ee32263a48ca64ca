// The fragments of the changelog: one file in changes/ for each change since the last release. Reads and checks them,
// and moves them into CHANGELOG.md. Knows nothing about git or versions.
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const PLACE = 'changes'
const CHANGELOG = 'CHANGELOG.md'
/** In the order in which a release lists them. */
const KINDS = ['added', 'changed', 'fixed', 'removed']
/** Explains the format to authors; not a fragment. */
const EXPLANATION = 'README.md'

/** All fragments, by file name: `{ file, kind, text }`. A wrong one throws an error with one sentence. */
export function readFragments() {
  if (!existsSync(PLACE)) return []
  const names = readdirSync(PLACE).filter((name) => name !== EXPLANATION)
  return names.sort().map((name) => {
    const file = `${PLACE}/${name}`
    if (!/^[a-z0-9]+(-[a-z0-9]+)*\.md$/.test(name))
      throw new Error(`${file}: the name of a fragment is a few words in lower case, such as queue-drain.md`)
    return { file, ...parse(file, readFileSync(join(PLACE, name), 'utf8')) }
  })
}

function parse(file, source) {
  const [first = '', ...rest] = source.replaceAll('\r\n', '\n').split('\n')
  const kind = first.trim()
  if (!KINDS.includes(kind))
    throw new Error(`${file}: the first line must be ${KINDS.join(' or ')}, not '${kind}'`)
  const text = rest.join('\n').trim()
  if (text === '') throw new Error(`${file}: the text for the changelog is missing after the first line`)
  if (/^#/m.test(text)) throw new Error(`${file}: a fragment cannot contain a heading`)
  if (/^[-*] /.test(text)) throw new Error(`${file}: write the text without a bullet; the changelog adds it`)
  if (!/(\.\)?|```)$/.test(text))
    throw new Error(`${file}: the text must be whole sentences and end with a full stop`)
  return { kind, text }
}

/** The fragments as Markdown: a heading for each kind, a list item for each fragment. */
export function render(fragments) {
  return KINDS.flatMap((kind) => {
    const items = fragments.filter((fragment) => fragment.kind === kind)
    if (items.length === 0) return []
    const title = `${kind[0].toUpperCase()}${kind.slice(1)}`
    return `### ${title}\n\n${items.map(({ text }) => item(text)).join('\n')}\n`
  }).join('\n')
}

function item(text) {
  return `- ${text.replaceAll(/\n(?=.)/g, '\n  ')}`
}

/** Puts the fragments into the changelog as the newest version, and deletes their files. */
export function fold(fragments, version, date) {
  const log = readFileSync(CHANGELOG, 'utf8')
  const at = log.search(/^## /m)
  const section = `## ${version}, ${date}\n\n${render(fragments)}`
  const folded = at < 0 ? `${log.trimEnd()}\n\n${section}` : `${log.slice(0, at)}${section}\n${log.slice(at)}`
  writeFileSync(CHANGELOG, folded)
  for (const { file } of fragments) rmSync(file)
}
