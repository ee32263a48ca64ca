// Writes bench/results.md, and the short table in README.md between its two bench marks; and the part about short runs.
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { CONTESTANTS, isFloor, isLibrary, median, packageOf } from './harness.js'
import { readSections, writeSection } from './section.js'
import {
  aimOf,
  figureOf,
  isText,
  lineOf,
  missedBy,
  othersOf,
  ratioOf,
  shortLine,
  shortTitles,
  titles,
  verdictOf,
} from './table.js'

const results = new URL('results.md', import.meta.url)
const readme = new URL('../README.md', import.meta.url)
const BEGIN = '<!-- bench: written by npm run bench -- --write -->'
const END = '<!-- /bench -->'

/** `nodes`: [{ version, results: [{ row, figures }] }] */
export function writeReport(nodes, { rounds, load }) {
  writeFileSync(results, [page(nodes, rounds, load), ...readSections()].join('\n'))
  const text = readFileSync(readme, 'utf8')
  const [before, rest] = text.split(BEGIN)
  const after = rest?.split(END)[1]
  if (after === undefined) throw new Error(`README.md has no place for the figures: ${BEGIN} ... ${END}`)
  writeFileSync(readme, `${before}${BEGIN}\n${shortTable(nodes)}\n${END}${after}`)
}

/** The part about short runs; likewise, with `whole` beside `figures` (short.js). */
export function writeShort(nodes, { rounds, load }) {
  writeSection('short', shortPage(nodes, rounds, load))
}

function shortPage(nodes, rounds, load) {
  const tables = nodes.map(({ version, results }) => {
    const lines = results.map((result) => asRow(shortLine(result)))
    return `### Node ${version.slice(1)}\n\n${[asRow(shortTitles), rule(shortTitles), ...lines].join('\n')}`
  })
  return `## Short runs

Written by \`npm run bench -- --short --write\` on ${today()}: ${machine()},
load average ${load.map((number) => number.toFixed(1)).join(' before, ')} after.

What a program pays before its code is warm: each contestant in ${rounds} fresh processes, which take turns; the median of them. A process does
10,000 operations as warm-up, then 100,000 that are measured; effection a tenth of both where one takes it tens of microseconds. Figures are CPU time of all threads for one operation, so
compilation and garbage collection are part of them. The last column is the CPU time of the process from its start to its end, loading
of the library included.

${tables.join('\n\n')}`
}

const today = () => new Date().toISOString().slice(0, 10)
const machine = () =>
  `${cpus()[0]?.model.trim()}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GB of memory`

function page(nodes, rounds, load) {
  return `# Figures

Written by \`npm run bench -- --write\` on ${today()}.

| | |
|---|---|
| machine | ${machine()} |
| load average | ${load.map((number) => number.toFixed(1)).join(' before, ')} after |
| Node | ${nodes.map(({ version }) => version.slice(1)).join(' and ')} |
| rivals | ${[...new Set(CONTESTANTS.filter(isLibrary).map(packageOf))]
    .map((name) => `${name} ${versionOf(name)}`)
    .join(', ')} |

To reproduce: \`npm ci && npm run bench\`. It installs the rivals in \`bench/\` and the newest Node in \`tools/newest-node\`.

## How to read it

Figures are CPU time of the process for one operation, unless a unit says otherwise: median of ${rounds} rounds in which the
contestants take turns, in one process for each row. \`ours/async\` is what we cost beside plain async/await: less is better.
\`effect/ours\` and \`effection/ours\` say how many times faster we are: more is better. \`met?\` says whether the aim is
met, and if not, against whom. Libraries made for one question stand in the last column: their figure, and in brackets how many
times faster we are. What exactly each contestant does is in \`bench/rows/\`, one file for each question.

A trampoline is the least that runs generators in turn (\`bench/trampoline.js\`): the floor for any library with \`yield*\`. Switches are
measured beside it, and no longer beside \`await\`: their aim was 1.5 times \`await\`, and 1.3 times with 10,000 fibers. From Node 20 to Node 26 \`await\` has become
cheaper by more than generators have, so a figure beside \`await\` says as much about Node as about us.
${nodes.map(tableOf).join('')}
${notes(nodes[0].results)}
## What is missed

${missed(nodes)}

## Noise

${noise(nodes)}
`
}

function versionOf(name) {
  return JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url), 'utf8'))
    .version
}

const asRow = (cells) => `| ${cells.join(' | ')} |`
const rule = (titles) => `|${titles.map((title) => (isText(title) ? '---|' : '---:|')).join('')}`

function tableOf({ version, results }) {
  const lines = results.map((result) => asRow(lineOf(result)))
  return `\n## Node ${version.slice(1)}\n\n${[asRow(titles), rule(titles), ...lines].join('\n')}\n`
}

function notes(results) {
  const list = results.filter(({ row }) => row.note).map(({ row }) => `- ${row.name}: ${row.note}`)
  return list.length === 0 ? '' : `Notes:\n\n${list.join('\n')}\n`
}

function missed(nodes) {
  const list = nodes.flatMap(({ version, results }) =>
    results
      .filter((result) => missedBy(result).length > 0)
      .map((result) => {
        const got = missedBy(result).map((who) =>
          who === '' ? figureOf(result, 'ours') : `${ratioOf(result, who)} ${who}`,
        )
        return `- Node ${version.slice(1)}, ${result.row.name}: ${got.join(', ')} (aim: ${aimOf(result.row)})`
      }),
  )
  return list.length === 0 ? 'Nothing: every aim is met.' : list.join('\n')
}

/** How far the middle half of the rounds lies apart, as a part of the median. */
function spread(figures) {
  const sorted = [...figures].sort((a, b) => a - b)
  const at = (part) => sorted[Math.round((sorted.length - 1) * part)]
  return (at(0.75) - at(0.25)) / median(sorted)
}

function noise(nodes) {
  const percent = (number) => `${Math.round(number * 100)} %`
  const timed = nodes.flatMap(({ results }) => results).filter(({ row }) => row.unit === undefined)
  const of = (who) =>
    timed.filter(({ figures }) => figures[who]?.length > 1).map(({ figures }) => spread(figures[who]))
  const parts = CONTESTANTS.filter((who) => of(who).length > 0).map(
    (who) => `${who} ${percent(median(of(who)))} (at worst ${percent(Math.max(...of(who)))})`,
  )
  return `Absolute figures move by a factor of two or three with the machine and its load. Ratios move less, by a quarter, now and then by a
half, so an aim that is met or missed by less may change sides in the next run. In this run the middle half of the rounds spanned this much of
their median, typically and at worst: ${parts.join(', ')}.

Load does not strike everybody alike. effect passes through \`setImmediate\` at each switch, so its figures depend on what system
calls cost; who allocates more suffers more when others use the caches. A rival whose round takes over half a second takes
part in every third round only. The cost of the tap is measured from copies with more taps (\`bench/rows/tap.js\`); a
nanosecond more or less is luck. Rows are in processes of their own, so the same loop can differ a little between two rows.`
}

/** For README.md: one line for each question, both Nodes in a cell. */
function shortTable(nodes) {
  const head = ['row', 'ours', 'ours/async', 'effect/ours', 'effection/ours', 'others/ours', 'met?']
  const lines = nodes[0].results.flatMap(({ row }, i) => {
    if (row.detail) return []
    const both = (cellOf) => {
      const [a, b = ''] = nodes.map(({ results }) => cellOf(results[i]))
      return a === b || b === '' ? a : `${a} · ${b}`
    }
    const figures = (who) => both((result) => figureOf(result, who))
    const ratios = (who) => both((result) => ratioOf(result, who))
    const others = othersOf(nodes[0].results[i])
      .map((who) => (isFloor(who) ? `${who} (ours ${ratios(who)})` : `${who} ${ratios(who) || figures(who)}`))
      .join(', ')
    return [
      asRow([
        row.name,
        figures('ours'),
        ratios('async'),
        ratios('effect'),
        ratios('effection'),
        others,
        both(verdictOf),
      ]),
    ]
  })
  return [
    `Where there are two figures, the first is for Node ${nodes.map(({ version }) => version.slice(1)).join(', the second for Node ')}.\n`,
    asRow(['', ...head.slice(1, -1), 'aim']),
    rule(head),
    ...lines,
  ].join('\n')
}
