// What does it cost to have an item handled in a batch? The handler does nothing, and at most 1,000 items are outstanding:
// 1,000 clients, each of which hands in an item and waits for its outcome before the next. Then without waiting for
// outcomes: one producer, and a queue with room for 1,000.
import { run } from '../../dist/index.js'
import { Proco } from '../../dist/proco/index.js'
import { asyncCrowd, callbackCrowd, crowd } from '../crowd.js'
import { PlainBatches } from '../plain.js'

const CLIENTS = 1000

const template = Proco.batch(true).batchSize(CLIENTS).queueSize(CLIENTS)
const count = (items) => items.length
const asyncCount = async (items) => items.length
const same = (items) => items
const asyncSame = async (items) => items
const nothing = () => {}

function* submitLoop(proco, n) {
  for (let i = 0; i < n; i++) yield* proco.submit(i)
}
async function asyncSubmitLoop(proco, n) {
  for (let i = 0; i < n; i++) await proco.submit(i)
}
function* inFibers(n) {
  const proco = template.new().start(count)
  yield* crowd(n, (times) => submitLoop(proco, times), CLIENTS)
  yield* proco.exit()
}
async function awaited(proco, n) {
  await asyncCrowd(n, (times) => asyncSubmitLoop(proco, times), CLIENTS)
  await proco.exit()
}
async function byFuture(n) {
  const proco = template.new().start(count)
  await callbackCrowd(n, (i, done) => void proco.trySubmit(i).get().then(done), CLIENTS)
  await proco.exit()
}

function* unobserved(n) {
  const proco = template.new().start(count)
  for (let i = 0; i < n; i++) yield* proco.submitAsync(i)
  yield* proco.exit()
}
async function unobservedByTry(n) {
  const proco = template.new().start(count)
  for (let i = 0; i < n; i++) if (proco.trySubmit(i) === undefined) await proco.submitAsync(i)
  await proco.exit()
}

const async = (n) => {
  const batches = new PlainBatches(asyncCount)
  return asyncCrowd(n, (times) => asyncSubmitLoop(batches, times), CLIENTS)
}

const loaderOf = ({ default: DataLoader }) =>
  new DataLoader(asyncSame, { cache: false, maxBatchSize: CLIENTS })
const loadLoop = async (loader, n) => {
  for (let i = 0; i < n; i++) await loader.load(i)
}
const cargoOf = ({ cargo }) => cargo((_items, callback) => callback(), CLIENTS)
const pushLoop = async (cargo, n) => {
  for (let i = 0; i < n; i++) await cargo.push(i)
}

/** Each of the rivals; only dataloader has results. */
const observing = {
  dataloader: (library) => (n) => {
    const loader = loaderOf(library)
    return asyncCrowd(n, (times) => loadLoop(loader, times), CLIENTS)
  },
  'async.cargo': (library) => (n) => {
    const cargo = cargoOf(library)
    return callbackCrowd(n, (i, done) => void cargo.push(i, done), CLIENTS)
  },
  'async.cargo awaited': (library) => (n) => {
    const cargo = cargoOf(library)
    return asyncCrowd(n, (times) => pushLoop(cargo, times), CLIENTS)
  },
}
/** They have no limit, so the producer waits for the last of every thousand. */
const unobserving = {
  'dataloader unobserved': (library) => async (n) => {
    const loader = loaderOf(library)
    for (let i = 1; i <= n; i++) {
      const promise = loader.load(i)
      if (i % CLIENTS === 0) await promise
    }
  },
  'async.cargo unobserved': (library) => async (n) => {
    const cargo = cargoOf(library)
    for (let i = 1; i <= n; i++) {
      if (i % CLIENTS === 0) await cargo.push(i)
      else cargo.push(i, nothing)
    }
  },
}

/** In one process, V8 may learn from one contestant to put what the next one makes into the old generation at once
 * (dataloader then takes three times as long). So each has processes of its own, which take turns. */
const apart = { n: 1_000_000, smoke: CLIENTS, multiple: CLIENTS, apart: true, processes: 3, rounds: 3 }
const observed = {
  ...apart,
  aim: { dataloader: 0.8, 'async.cargo': 0.8 },
  async,
  ...observing,
}
const notLooked = { ...observed, aim: { dataloader: 3, 'async.cargo': 3 }, ...unobserving }

export const rows = [
  {
    name: 'proco: in batches, fibers that submit',
    note: 'dataloader without its cache. The callbacks of async.cargo get no result: they only say that the batch is over. In the rows of Proco each contestant has processes of its own, which take turns.',
    ...observed,
    ours: (n) => run(() => inFibers(n)),
  },
  {
    name: 'proco: in batches, await submit()',
    ...observed,
    ours: (n) => awaited(template.new().start(count), n),
  },
  {
    name: 'proco: the same, a result for each item',
    detail: true,
    ...observed,
    ours: (n) => awaited(template.results('each').new().start(same), n),
  },
  {
    name: 'proco: in batches, trySubmit() and get().then',
    detail: true,
    ...observed,
    ours: byFuture,
  },
  {
    name: 'proco: in batches, futures not looked at',
    note: 'submitAsync by one fiber. The rivals as in the rows before, and unobserved: dataloader makes its promise all the same, async.cargo gets an empty callback.',
    ...notLooked,
    ours: (n) => run(() => unobserved(n)),
  },
  {
    name: 'proco: the same, trySubmit()',
    detail: true,
    note: 'and await submitAsync() for an item that finds the queue full.',
    ...notLooked,
    ours: unobservedByTry,
  },
]
