// What is gained by group commit? 64 clients, each of which has a record of 50 kB written to a file and waits until fsync has
// it on the disk, before the next. Ours takes what is there while the disk is busy, and never waits for more. Beside it, by
// the same executor: an fsync for each record, and batches that wait 5 ms for others. Time is by the clock.
import { run } from '../../dist/index.js'
import { Proco } from '../../dist/proco/index.js'
import { crowd } from '../crowd.js'
import { append, RECORD, withFile } from '../disk.js'

const CLIENTS = 64
const RECORDS = 1024

const NATURAL = Proco.batch(true)
const EACH = Proco.batch(false)
const LINGER = Proco.batch(true).interval(5)

/** Gives what a row wants of it: microseconds for each record, the latencies (sorted), the number of fsyncs. */
const commit = (template, figure) => (n) =>
  withFile(async (handle) => {
    const latencies = []
    let syncs = 0
    const write = async (given) => {
      await append(handle, Array.isArray(given) ? given : [given])
      await handle.sync()
      syncs++
    }
    const begin = performance.now()
    await run(() => clients(template.new().start(write), latencies, n))
    const microseconds = ((performance.now() - begin) * 1000) / n
    latencies.sort((a, b) => a - b)
    return figure({ microseconds, latencies, syncs })
  })

function* clients(proco, latencies, n) {
  yield* crowd(n, (times) => client(proco, latencies, times), CLIENTS)
  yield* proco.exit()
}
function* client(proco, latencies, times) {
  for (let i = 0; i < times; i++) {
    const begin = performance.now()
    yield* proco.submit(RECORD)
    latencies.push(performance.now() - begin)
  }
}

const row = (figure) => ({
  n: RECORDS,
  smoke: CLIENTS,
  multiple: CLIENTS,
  rounds: 5,
  slow: true,
  ours: commit(NATURAL, figure),
  'fsync for each': commit(EACH, figure),
  'linger of 5 ms': commit(LINGER, figure),
})
const quantile = (latencies, part) => latencies[Math.floor((latencies.length - 1) * part)]

export const rows = [
  {
    name: 'group commit, 64 clients: time for a record',
    note: 'by the clock, as all rows of group commit: 1,024 records of 50 kB, written and on the disk.',
    unit: 'µs',
    aim: { 'fsync for each': 8 },
    ...row(({ microseconds }) => microseconds),
  },
  {
    name: 'group commit: half of the clients wait at most',
    unit: 'ms',
    aim: { 'linger of 5 ms': 1 },
    ...row(({ latencies }) => quantile(latencies, 0.5)),
  },
  {
    name: 'group commit: 99 % of the clients wait at most',
    detail: true,
    unit: 'ms',
    ...row(({ latencies }) => quantile(latencies, 0.99)),
  },
  {
    name: 'group commit: fsyncs for 1,024 records',
    detail: true,
    unit: 'fsyncs',
    ...row(({ syncs }) => syncs),
  },
]
