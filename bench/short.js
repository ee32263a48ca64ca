// Short runs: what a program pays before its code is warm. Each is a fresh process that does 10,000 operations as warm-up and
// then 100,000 that are measured. Two figures: the CPU time of all threads for each of the 100,000, and that of the whole process
// from its start to its end, with the library that it loads. Nothing is collected on purpose.
//
// The contestants take turns, process by process, so that the moods of the machine strike all of them.
import { ask } from './setup.js'

const WARMUP = 10_000
const MEASURED = 100_000
export const SHORT_CONTESTANTS = ['ours', 'async', 'effect', 'effection', 'trampoline']

const script = new URL('fresh.js', import.meta.url).pathname

/** One fresh process: { figure: ns for each operation, whole: ms of the process }. `from` is the script of another copy of the bench. */
export function freshRun(node, flags, { file, index, row }, who, smoke = false, from = script) {
  const { multiple = 1 } = row
  const divisor = smoke ? 1000 : (row.short[who] ?? 1)
  const whole = (n) => Math.ceil(n / divisor / multiple) * multiple
  return ask(node, flags, from, { file, index, who, warmup: whole(WARMUP), n: whole(MEASURED) })
}

/** All contestants of a row: { figures: { ours: [...], ... }, whole: { ours: [...], ... } }. */
export function shortRuns(node, flags, job, { rounds, smoke }) {
  const figures = Object.fromEntries(job.only.map((who) => [who, []]))
  const wholes = Object.fromEntries(job.only.map((who) => [who, []]))
  for (let round = 0; round < (smoke ? 1 : rounds); round++) {
    for (const who of round % 2 === 0 ? job.only : job.only.toReversed()) {
      const { figure, whole } = freshRun(node, flags, job, who, smoke)
      figures[who].push(figure)
      wholes[who].push(whole)
    }
  }
  return { figures, whole: wholes }
}
