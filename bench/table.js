// How figures read: one row of the table as cells with names, and whether its aim is met.
import { CONTESTANTS, FLOORS, isFloor, median } from './harness.js'

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
/** Short runs have one more. */
const WHOLE = 'whole process'
const IN_COLUMNS = ['ours', 'async', 'effect', 'effection']
const OTHERS = CONTESTANTS.filter((who) => !IN_COLUMNS.includes(who))
const LIBRARIES = CONTESTANTS.filter((who) => who !== 'ours' && !isFloor(who))
/** Figures of which nothing can be said by dividing them. */
const NO_RATIO = ['steps', '%', 'calls', 'turns', 'times']

export const titles = COLUMNS.map(([title]) => title)
export const shortTitles = [...titles, WHOLE]
/** Which columns hold text, and are set to the left. */
export const isText = (title) => ['row', 'aim', 'met?', titles.at(-1), WHOLE].includes(title)

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
      .map((who) => `${who} ${figure(who)} ${inBrackets(ratioInWords(result, who))}`.trim())
      .join(', '),
  ]
}

/** Likewise of a short run: at the end, the CPU time of the whole process. */
export function shortLine(result, isSmoke = false) {
  const whole = Object.entries(result.whole).map(([who, ms]) => `${who} ${Math.round(median(ms))} ms`)
  return [...lineOf(result, isSmoke), whole.join(', ')]
}

const inBrackets = (text) => (text === '' ? '' : `(${text})`)

/** A line of text with its cells in columns. */
export function line(cells) {
  return cells
    .map((cell, i) => {
      const width = COLUMNS[i]?.[1] ?? 0
      return isText(shortTitles[i]) ? cell.padEnd(width) : cell.padStart(width)
    })
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

/** Whether its figures may be divided by each other. */
export const hasRatio = ({ unit }) => !NO_RATIO.includes(unit)

/** What we cost beside async or another floor, or how many times faster than a library we are; '' if there is nothing to compare. */
export function ratioOf(result, who) {
  if (!hasRatio(result.row)) return ''
  const ratio = timesOf(result, who)
  if (!Number.isFinite(ratio)) return ''
  return `${ratio < 10 ? ratio.toFixed(2) : ratio.toFixed(0)}x`
}

/** Beside others than libraries, which do less than ours, it says which way the ratio goes. */
function ratioInWords(result, who) {
  const ratio = ratioOf(result, who)
  return isFloor(who) && ratio !== '' ? `ours ${ratio}` : ratio
}

function timesOf(result, who) {
  const ours = typicalOf(result, 'ours')
  const theirs = typicalOf(result, who)
  return isFloor(who) ? ours / theirs : theirs / ours
}

export function aimOf({ aim = {}, unit }) {
  const parts = []
  if (aim.most !== undefined) parts.push(`at most ${aim.most.toLocaleString('en')} ${unit}`)
  for (const who of FLOORS) if (aim[who] !== undefined) parts.push(`≤ ${aim[who]}x ${who}`)
  for (const who of LIBRARIES) if (aim[who] !== undefined) parts.push(`≥ ${aim[who]}x ${who}`)
  return parts.join(', ')
}

/** Whom the aim is missed against: names of contestants; '' for a figure that is too large. */
export function missedBy(result) {
  const { aim = {} } = result.row
  const missed = []
  if (typicalOf(result, 'ours') > aim.most) missed.push('')
  for (const who of FLOORS) if (timesOf(result, who) > aim[who]) missed.push(who)
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

export function show({ unit, never }, figure) {
  if (figure === undefined) return ''
  if (figure >= never) return 'never'
  if (unit === undefined)
    return figure < 9950
      ? `${figure.toFixed(0)} ns`
      : `${(figure / 1000).toFixed(figure < 99_500 ? 1 : 0)} µs`
  if (unit === 'ns more') return `${figure.toFixed(1)} ns`
  if (unit === 'ms') return `${figure.toFixed(1)} ms`
  if (unit === 'turns' || unit === 'times') return `${figure.toFixed(2)} ${unit}`
  if (unit === '%') return `${figure.toFixed(2)} %`
  return `${Math.round(figure).toLocaleString('en')} ${unit === 'bytes' ? 'B' : unit}`
}
