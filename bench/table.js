// How figures read: one row of the table as cells with names, and whether its aim is met.
import { CONTESTANTS, median } from './harness.js'

/** The columns: title and width in the terminal. Rivals that only some rows have share the last one. */
const COLUMNS = [
  ['row', 48],
  ['aim', 45],
  ['ours', 10],
  ['async', 10],
  ['effect', 10],
  ['effection', 11],
  ['ours/async', 10],
  ['effect/ours', 11],
  ['effection/ours', 14],
  ['met?', 14],
  ['others (others/ours)', 0],
]
const IN_COLUMNS = ['ours', 'async', 'effect', 'effection']
const OTHERS = CONTESTANTS.filter((who) => !IN_COLUMNS.includes(who))
const LIBRARIES = CONTESTANTS.filter((who) => who !== 'ours' && who !== 'async')
/** Figures of which nothing can be said by dividing them. */
const NO_RATIO = ['steps', '%', 'calls']

export const titles = COLUMNS.map(([title]) => title)
/** Which columns hold text, and are set to the left. */
export const isText = (title) => ['row', 'aim', 'met?', titles.at(-1)].includes(title)

/** The cells of a row, in the order of the titles. */
export function lineOf(result, isSmoke = false) {
  const { row } = result
  const figure = (who) => figureOf(result, who)
  return [
    row.name,
    aimOf(row),
    ...IN_COLUMNS.map(figure),
    ...IN_COLUMNS.slice(1).map((who) => ratioOf(result, who)),
    isSmoke ? '' : verdictOf(result),
    othersOf(result)
      .map((who) => `${who} ${figure(who)} ${inBrackets(ratioOf(result, who))}`.trim())
      .join(', '),
  ]
}

const inBrackets = (text) => (text === '' ? '' : `(${text})`)

/** A line of text with its cells in columns. */
export function line(cells) {
  return cells
    .map((cell, i) => (isText(titles[i]) ? cell.padEnd(COLUMNS[i][1]) : cell.padStart(COLUMNS[i][1])))
    .join('  ')
    .trimEnd()
}

/** The rivals of a row that have no column of their own. */
export function othersOf({ figures }) {
  return OTHERS.filter((who) => who in figures)
}

/** The figure of a contestant: the median of its rounds. */
function typicalOf({ figures }, who) {
  return who in figures ? median(figures[who]) : undefined
}

export function figureOf(result, who) {
  return show(result.row, typicalOf(result, who))
}

/** What we cost beside async, or how many times faster than a library we are; '' if there is nothing to compare. */
export function ratioOf(result, who) {
  if (NO_RATIO.includes(result.row.unit)) return ''
  const ratio = timesOf(result, who)
  if (!Number.isFinite(ratio)) return ''
  return `${ratio < 10 ? ratio.toFixed(2) : ratio.toFixed(0)}x`
}

function timesOf(result, who) {
  const ours = typicalOf(result, 'ours')
  const theirs = typicalOf(result, who)
  return who === 'async' ? ours / theirs : theirs / ours
}

export function aimOf({ aim = {}, unit }) {
  const parts = []
  if (aim.most !== undefined) parts.push(`at most ${aim.most.toLocaleString('en')} ${unit}`)
  if (aim.async !== undefined) parts.push(`≤ ${aim.async}x async`)
  for (const who of LIBRARIES) if (aim[who] !== undefined) parts.push(`≥ ${aim[who]}x ${who}`)
  return parts.join(', ')
}

/** Whom the aim is missed against: names of contestants; '' for a figure that is too large. */
export function missedBy(result) {
  const { aim = {} } = result.row
  const missed = []
  if (typicalOf(result, 'ours') > aim.most) missed.push('')
  if (timesOf(result, 'async') > aim.async) missed.push('async')
  for (const who of LIBRARIES) if (timesOf(result, who) < aim[who]) missed.push(who)
  return missed
}

/** 'met', or what is missed; '' where there is no aim, or nobody to compare with. */
export function verdictOf(result) {
  const { row, figures } = result
  const hasRival = Object.keys(row.aim ?? {}).some((key) => key === 'most' || key in figures)
  if (!hasRival || !('ours' in figures)) return ''
  const missed = missedBy(result)
  return missed.length === 0 ? 'met' : `missed ${missed.join(', ')}`.trim()
}

function show({ unit, never }, figure) {
  if (figure === undefined) return ''
  if (figure >= never) return 'never'
  if (unit === undefined)
    return figure < 9950
      ? `${figure.toFixed(0)} ns`
      : `${(figure / 1000).toFixed(figure < 99_500 ? 1 : 0)} µs`
  if (unit === 'ns more') return `${figure.toFixed(1)} ns`
  if (unit === 'ms') return `${figure.toFixed(1)} ms`
  if (unit === '%') return `${figure.toFixed(2)} %`
  return `${Math.round(figure).toLocaleString('en')} ${unit === 'bytes' ? 'B' : unit}`
}
