// How much memory is taken when a producer outruns the handler? A million items from one producer who does not wait for
// outcomes; the handler does nothing. Our queue has its default of 1,000 places, and submitAsync waits for room; the rivals
// take whatever comes. The figure is by how much the largest resident size of the process grows.
import { run } from '../../dist/index.js'
import { Proco } from '../../dist/proco/index.js'

const BATCH = 1000
const nothing = () => {}
const asyncNothing = async () => {}
const asyncSame = async (items) => items

const megabytes = () => process.resourceUsage().maxRSS / 1024
const measured = (flood) => async (n) => {
  const before = megabytes()
  await flood(n)
  return megabytes() - before
}

function* inFiber(proco, n) {
  proco.start(nothing)
  for (let i = 0; i < n; i++) yield* proco.submitAsync(i)
  yield* proco.exit()
}
async function awaited(proco, n) {
  proco.start(nothing)
  for (let i = 0; i < n; i++) await proco.submitAsync(i)
  await proco.exit()
}

const settings = { unit: 'MB', aim: { most: 64 }, n: 1e6, smoke: 1000, rounds: 1, apart: true, slow: true }

export const rows = [
  {
    name: 'proco: memory for a million items, in batches',
    note: 'submitAsync in one fiber. Our queue is full at 1,000 items, and the fiber waits; the rivals have no limit.',
    ...settings,
    ours: measured((n) => run(() => inFiber(Proco.batch(true).batchSize(BATCH).new(), n))),
    dataloader: ({ default: DataLoader }) =>
      measured((n) => {
        const loader = new DataLoader(asyncSame, { cache: false, maxBatchSize: BATCH })
        let last
        for (let i = 0; i < n; i++) last = loader.load(i)
        return last
      }),
    'async.cargo': ({ cargo }) =>
      measured((n) => {
        const all = cargo((_items, done) => done(), BATCH)
        for (let i = 1; i < n; i++) all.push(i, nothing)
        return all.push(n)
      }),
  },
  {
    name: 'proco: memory for a million items, one by one',
    note: 'await submitAsync() in one async function.',
    ...settings,
    ours: measured((n) => awaited(Proco.new(), n)),
    'p-queue': ({ default: PQueue }) =>
      measured((n) => {
        const queue = new PQueue({ concurrency: 1 })
        let last
        for (let i = 0; i < n; i++) last = queue.add(asyncNothing)
        return last
      }),
    fastq: ({ default: fastq }) =>
      measured(
        (n) =>
          new Promise((resolve) => {
            const queue = fastq((item, done) => process.nextTick(done, null, item), 1)
            for (let i = 1; i < n; i++) queue.push(i, nothing)
            queue.push(n, resolve)
          }),
      ),
    'fastq.promise': ({ default: fastq }) =>
      measured((n) => {
        const queue = fastq.promise(asyncNothing, 1)
        let last
        for (let i = 0; i < n; i++) last = queue.push(i)
        return last
      }),
  },
]
