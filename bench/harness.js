// How a row is measured. A row is one line of the table: a question put to polyphony ("ours"), to plain async/await, and to
// libraries: effect and effection where they have the thing, and those made for just this question (a pool, a lock). Each
// file in rows/ is one question and exports `rows`, a list of objects:
//
//   name        what the table says
//   note        for results.md: what one must know to read it
//   detail      true: not in the short table of README.md
//   short       also one of the short runs (bench/short.js): true, or { effection: 10 }, which does a tenth as many operations there
//   aim         { async: 1.5, effect: 6 } means: at most 1.5 times the cost of async, at least 6 times faster than effect.
//               Likewise at most for a trampoline or a bare loop (FLOORS). { most: 450 } is a figure that ours must not exceed
//   unit        without one, CPU time for each operation; or 'bytes', 'MB', 'steps', 'ms', 'µs', '%', 'calls' ...: the
//               contestants return the figure
//   ours, async   (n, clock) => promise; does the operation n times. Likewise what Node has itself: net, readline ...,
//               and what the row writes out by hand: trampoline, 'for (;;)'
//   effect, effection, tarn, 'generic-pool' ...   the name of any package in package.json:
//               (library) => (n, clock) => promise; the library is loaded only if it takes part
//   'fastq.promise' ...   likewise, a way of using a package that has several (FORMS)
//   n           how many operations a round has, or { effection: 5000, else: 1e5 }; without it, as many as take about 100 ms
//   multiple    n is a multiple of it
//   heavy       n for the warm-up after a full collection, for rows that leave much garbage
//   warmups     how many rounds warm the code up where n is given; without it, one
//   smoke       n for a smoke test
//   rounds      a number of rounds of its own
//   apart       each contestant in a process of its own
//   slow        true: left out of the quick bench, as are details
//   processes   run it in so many processes, one after the other, and take the figures of all
//   never       a figure from here on means "never"
//
// Two traps of V8. Optimised code dies with the hidden classes it was made for, and those die in a full collection when no
// object has them at that moment: between two rounds, always; in a program that lives, hardly ever. So before a round only
// the young generation is collected; a row that leaves much behind (`heavy`) gets a full collection, and then a warm-up. For
// the same reason the loops of a row are functions made once, not closures made anew for each round.
//
// CPU time is that of the process, of all its threads: garbage collection and compilation are part of the price. It is
// taken from clock.start to clock.stop; a contestant that does not touch the clock is measured whole. One whose work is done
// by another process tells what that took (clock.tell).

import { readFileSync } from 'node:fs'

const { dependencies } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'))

/** Contestants that do less than ours, so that an aim beside them is a limit: the cost of ours, as a multiple of theirs. */
export const FLOORS = ['async', 'trampoline', 'for (;;)']
export const isFloor = (who) => FLOORS.includes(who)
/** What Node has itself, what we have in another form, and what a row writes out by hand. */
export const WITHOUT_LIBRARY = [
  'trampoline',
  'for (;;)',
  'net',
  'net corked',
  'node:http',
  'readline',
  'readline for await',
  'read()',
  'for (;;)',
  'fsync for each',
  'linger of 5 ms',
]
/** Other ways of using a package, and the one whose name is taken. */
const FORMS = {
  'fastq.promise': 'fastq',
  'async.cargo': 'async',
  'async.cargo awaited': 'async',
  'async.cargo unobserved': 'async',
  'dataloader unobserved': 'dataloader',
}
/** Everybody who may take part. The libraries that appear in most rows come first. */
export const CONTESTANTS = [
  ...new Set([
    'ours',
    'async',
    'effect',
    'effection',
    ...WITHOUT_LIBRARY,
    ...Object.keys(FORMS),
    ...Object.keys(dependencies),
  ]),
]
/** The package of a contestant; undefined for ours, plain async/await, and what Node has itself. */
export function packageOf(who) {
  if (who === 'async') return undefined
  return FORMS[who] ?? (who in dependencies ? who : undefined)
}
export const isLibrary = (who) => packageOf(who) !== undefined

const FIELDS =
  'name note detail short aim unit n multiple heavy warmups smoke rounds apart slow processes never'.split(
    ' ',
  )

/** A row with a misspelt field would be measured without it, and nobody would know. */
export function checkRow(row) {
  const wrong = [
    ...Object.keys(row).filter((key) => !FIELDS.includes(key) && !CONTESTANTS.includes(key)),
    ...Object.keys(row.aim ?? {}).filter((key) => key !== 'most' && !(key in row)),
  ]
  if (wrong.length > 0) throw new Error(`bench: the row '${row.name}' has no use for '${wrong.join("', '")}'`)
}

/** A round should take this much CPU time, in ns: long beside the clock's microsecond, short beside the machine's moods. */
const ROUND = 100e6
const QUICK_ROUND = 40e6
const MAX_N = 4e6
/** A rival that takes longer than this for a round takes part only in every third one. */
const LONG = 500e6

export class Clock {
  #begin = null
  ns = null

  start() {
    this.ns = null
    this.#begin = process.cpuUsage()
  }

  stop() {
    if (this.ns !== null) return
    const { user, system } = process.cpuUsage(this.#begin)
    this.ns = (user + system) * 1000
  }

  tell(ns) {
    this.ns = ns
  }
}

/** One round of one contestant: the figure, and the CPU time it took. */
async function measure(row, contestant, n) {
  if (row.heavy) {
    globalThis.gc?.()
    await contestant(Math.min(n, row.heavy), new Clock())
  }
  globalThis.gc?.({ type: 'minor' })
  const clock = new Clock()
  clock.start()
  const value = await contestant(n, clock)
  clock.stop()
  return { figure: isTimed(row) ? clock.ns / n : value, ns: clock.ns }
}

function isTimed(row) {
  return row.unit === undefined
}

export async function contestantOf(row, who) {
  return isLibrary(who) ? row[who](await import(packageOf(who))) : row[who]
}

/** Number of operations a round. Finding it also warms the code up. */
async function size(row, who, contestant, { quick, smoke }) {
  const { multiple = 1 } = row
  const whole = (n) => Math.ceil(n / multiple) * multiple
  if (smoke) return whole(row.smoke ?? 100)
  const fixed = typeof row.n === 'object' ? (row.n[who] ?? row.n.else) : row.n
  if (fixed !== undefined) {
    if (isTimed(row)) for (let i = 0; i < (row.warmups ?? 1); i++) await measure(row, contestant, fixed)
    return fixed
  }
  // Cold code is slow and grows faster: the size is settled when the last few tries agree.
  const round = quick ? QUICK_ROUND : ROUND
  let n = whole(1000)
  for (let agreed = 0; agreed < 3; ) {
    const { ns } = await measure(row, contestant, n)
    const wanted = whole(Math.min(MAX_N, n * Math.min(10, round / ns)))
    if (wanted > n * 1.3) n = wanted
    else agreed++
  }
  return n
}

/** Runs one row: interleaved rounds (ours, async, effect, ..., effect, async, ours, ...). Returns the figures of every round. */
export async function runRow(row, options) {
  const { only, rounds, smoke } = options
  const contestants = []
  for (const who of only) {
    if (row[who] === undefined) continue
    const contestant = await contestantOf(row, who)
    const n = await size(row, who, contestant, options)
    contestants.push({ who, contestant, n, figures: [], isLong: false })
  }
  for (let round = 0; round < (smoke ? 1 : (row.rounds ?? rounds)); round++) {
    // Forth and back, so that nobody always comes after the one who leaves most garbage.
    for (const entry of round % 2 === 0 ? contestants : contestants.toReversed()) {
      if (entry.isLong && round % 3 !== 0) continue
      const { figure, ns } = await measure(row, entry.contestant, entry.n)
      entry.figures.push(figure)
      entry.isLong = ns > LONG && isLibrary(entry.who)
    }
  }
  return contestants.map(({ who, n, figures }) => ({ who, n, figures }))
}

export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
