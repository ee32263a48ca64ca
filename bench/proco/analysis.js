// What the figures of a chart say, in sentences. Every number in them is computed, and what is said of it is said only if
// it is so: two figures that differ by less than a quarter count as alike.
import { median } from '../harness.js'

const ALIKE = 1.25

/** The sentences for a chart, one a line. */
export function analysisOf({ kind, seeks }, lines) {
  return (kind === 'cpu' ? ofComputing(lines) : ofDisk(lines, seeks)).join('\n')
}

function ofComputing(lines) {
  const loop = lines[0]
  const one = alone(lines)
  const single = some(lines, { batch: false })
  const threads = ratio(single, [one])
  const batches = ratio(some(lines, { batch: true }), single)
  const more = ((one.seconds - loop.seconds) / one.items) * 1e6
  return [
    `${one.name} took ${times(ratio([one], [loop]))} as long as the loop${
      more > 0 ? `: ${more.toFixed(1)} µs more for each item` : ''
    }.`,
    `With 2 to 8 threads it took ${times(threads)} as long as with one${
      isAlike(threads)
        ? '. They gain nothing here: they are fibers that share one thread of the machine, and such work never leaves it idle'
        : ''
    }.`,
    `In batches it took ${times(batches)} as long as one by one${isAlike(batches) ? ': the work is the same' : ''}.`,
  ]
}

function ofDisk(lines, seeks) {
  const loop = lines[0]
  const single = some(lines, { batch: false })
  const batched = some(lines, { batch: true })
  const gain = ratio([loop], batched)
  const threads = ratio(some(single, { threads: 8 }), [alone(lines)])
  const queues = ratio(some(batched, { queues: 4 }), some(batched, { queues: 1 }))
  return [
    `In batches, the items took ${range(batched)} ${seeks} instead of ${loop.seeks}, and ${times(1 / gain)} as long as the loop${
      gain > ALIKE ? `: they were ${gain.toFixed(gain < 10 ? 1 : 0)} times faster` : ''
    }.`,
    `One by one, 8 threads took ${times(threads)} as long as one${ofThreads(threads, seeks)}.`,
    `In batches, 4 queues took ${times(queues)} as long as one${
      queues > ALIKE ? ': each has batches of its own' : ''
    }.`,
  ]
}

function ofThreads(threads, seeks) {
  if (isAlike(threads)) return ': there is one disk, and whoever comes second waits'
  return threads < 1 ? `: the system lets ${seeks} pass side by side` : ''
}

/** '3', or '3 to 7'. */
function range(lines) {
  const counts = lines.map(({ seeks }) => seeks)
  const [least, most] = [Math.min(...counts), Math.max(...counts)]
  return least === most ? `${least}` : `${least} to ${most}`
}

/** The executor that has no options. */
function alone(lines) {
  return lines.find(({ threads }) => threads === 1)
}

/** Those with more than one thread that are made so. */
function some(lines, wanted) {
  return lines.filter(
    (line) => line.threads > 1 && Object.entries(wanted).every(([key, value]) => line[key] === value),
  )
}

const typical = (lines) => median(lines.map(({ seconds }) => seconds))
const ratio = (lines, others) => typical(lines) / typical(others)
const isAlike = (number) => number < ALIKE && number > 1 / ALIKE
const times = (number) => `${number.toFixed(2)} times`
