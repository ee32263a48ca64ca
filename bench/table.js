// How figures read: one row of the table as a list of cells, and whether its aim is met.
import { median } from './harness.js'

const RIVALS = ['effect', 'effection']
const WIDTHS = [46, 41, 10, 10, 10, 11, 10, 11, 14, 0]

export function titles() {
  return [
    'row',
    'aim',
    'ours',
    'async',
    'effect',
    'effection',
    'ours/async',
    'effect/ours',
    'effection/ours',
    'met?',
  ]
}

/** The cells of a row. */
export function lineOf({ row, figures }, isSmoke = false) {
  const typical = typicalOf(figures)
  return [
    row.name,
    aimOf(row),
    ...['ours', 'async', ...RIVALS].map((who) => show(row, typical[who])),
    ...ratiosOf(row, typical).map(times),
    isSmoke ? '' : verdict({ row, figures }),
  ]
}

/** Ratios say nothing about steps. */
function ratiosOf({ unit }, { ours, async, effect, effection }) {
  return unit === 'steps'
    ? [Number.NaN, Number.NaN, Number.NaN]
    : [ours / async, effect / ours, effection / ours]
}

/** The same in short: figure, ratios, verdict. */
export function brief(result) {
  const [, aim, ours, , , , async, effect, effection, verdict] = lineOf(result)
  return { aim, ours, async, effect, effection, verdict }
}

/** A line of text with its cells in columns. */
export function line(cells) {
  return cells
    .map((cell, i) => (i < 2 || i === cells.length - 1 ? cell.padEnd(WIDTHS[i]) : cell.padStart(WIDTHS[i])))
    .join('  ')
    .trimEnd()
}

function typicalOf(figures) {
  return Object.fromEntries(Object.entries(figures).map(([who, list]) => [who, median(list)]))
}

function aimOf({ aim = {}, unit }) {
  const parts = []
  if (aim.most !== undefined) parts.push(`at most ${aim.most.toLocaleString('en')} ${unit}`)
  if (aim.async !== undefined) parts.push(`≤ ${aim.async}x async`)
  for (const who of RIVALS) if (aim[who] !== undefined) parts.push(`≥ ${aim[who]}x ${who}`)
  return parts.join(', ')
}

/** Whom the aim is missed against: some of 'async', 'effect', 'effection'; '' for a figure that is too large. */
export function missedBy({ row: { aim = {} }, figures }) {
  const typical = typicalOf(figures)
  const missed = []
  if (aim.most !== undefined && typical.ours > aim.most) missed.push('')
  if (typical.ours / typical.async > aim.async) missed.push('async')
  for (const who of RIVALS) if (typical[who] / typical.ours < aim[who]) missed.push(who)
  return missed
}

/** 'met', or what is missed; '' where there is no aim, or nobody to compare with. */
function verdict(result) {
  const { row, figures } = result
  if (!Object.keys(row.aim ?? {}).some((key) => key === 'most' || key in figures)) return ''
  const missed = missedBy(result)
  return missed.length === 0 ? 'met' : `missed ${missed.join(', ')}`.trim()
}

function show({ unit, never }, figure) {
  if (figure === undefined) return ''
  if (figure >= never) return 'never'
  if (unit === undefined)
    return figure < 9950 ? `${figure.toFixed(0)} ns` : `${(figure / 1000).toFixed(0)} µs`
  if (unit === 'ns more') return `${figure.toFixed(1)} ns`
  if (unit === 'ms') return `${figure.toFixed(1)} ms`
  return `${Math.round(figure).toLocaleString('en')} ${unit === 'bytes' ? 'B' : unit}`
}

function times(ratio) {
  if (!Number.isFinite(ratio)) return ''
  return `${ratio < 10 ? ratio.toFixed(2) : ratio.toFixed(0)}x`
}
