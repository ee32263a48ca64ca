// What does it cost to have items handled one by one? The handler does nothing, and at most 1,000 items are outstanding, as
// in proco-batch.js.
import { run } from '../../dist/index.js'
import { Proco } from '../../dist/proco/index.js'
import { asyncCrowd, callbackCrowd, crowd } from '../crowd.js'
import { PlainChain } from '../plain.js'

const CLIENTS = 1000

const template = Proco.queueSize(CLIENTS)
const work = (item) => item
const asyncWork = async (item) => item
function* fiberWork(item) {
  return item
}

function* submitLoop(proco, n) {
  for (let i = 0; i < n; i++) yield* proco.submit(i)
}
async function asyncSubmitLoop(proco, n) {
  for (let i = 0; i < n; i++) await proco.submit(i)
}
function* inFibers(handler, n) {
  const proco = template.new().start(handler)
  yield* crowd(n, (times) => submitLoop(proco, times), CLIENTS)
  yield* proco.exit()
}
async function awaited(handler, n) {
  const proco = template.new().start(handler)
  await asyncCrowd(n, (times) => asyncSubmitLoop(proco, times), CLIENTS)
  await proco.exit()
}

async function addLoop(queue, n) {
  for (let i = 0; i < n; i++) await queue.add(asyncWork)
}
async function pushLoop(queue, n) {
  for (let i = 0; i < n; i++) await queue.push(i)
}

const others = {
  n: { 'p-queue': 200_000, else: 1_000_000 },
  smoke: CLIENTS,
  multiple: CLIENTS,
  apart: true, // why, says proco-batch.js
  processes: 3,
  rounds: 3,
  async: (n) => {
    const chain = new PlainChain(asyncWork)
    return asyncCrowd(n, (times) => asyncSubmitLoop(chain, times), CLIENTS)
  },
  'p-queue':
    ({ default: PQueue }) =>
    (n) => {
      const queue = new PQueue({ concurrency: 1 })
      return asyncCrowd(n, (times) => addLoop(queue, times), CLIENTS)
    },
  'fastq.promise':
    ({ default: fastq }) =>
    (n) => {
      const queue = fastq.promise(asyncWork, 1)
      return asyncCrowd(n, (times) => pushLoop(queue, times), CLIENTS)
    },
  fastq:
    ({ default: fastq }) =>
    (n) => {
      const queue = fastq((item, done) => process.nextTick(done, null, item), 1)
      return callbackCrowd(n, (i, done) => queue.push(i, done), CLIENTS)
    },
}
const aim = { 'p-queue': 5, 'fastq.promise': 1 }

export const rows = [
  {
    name: 'proco: one by one, plain handler, fibers',
    note: 'p-queue with concurrency 1. The worker of fastq calls back in process.nextTick: one that calls back at once makes the stack overflow.',
    aim,
    ...others,
    ours: (n) => run(() => inFibers(work, n)),
  },
  {
    name: 'proco: one by one, plain handler, await',
    aim,
    ...others,
    ours: (n) => awaited(work, n),
  },
  {
    name: 'proco: one by one, async handler, await',
    aim,
    ...others,
    ours: (n) => awaited(asyncWork, n),
  },
  {
    name: 'proco: one by one, async handler, fibers',
    detail: true,
    aim,
    ...others,
    ours: (n) => run(() => inFibers(asyncWork, n)),
  },
  {
    name: 'proco: one by one, handler in a fiber, fibers',
    detail: true,
    ...others,
    ours: (n) => run(() => inFibers(fiberWork, n)),
  },
]
