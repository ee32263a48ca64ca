// What does a child cost that fails, when many fail in one scope? It must not cost more the more there are.
import { run, scope, sleep, spin, suspend } from '../../dist/index.js'

const COUNTS = [2500, 5000, 10_000, 20_000]

function fail() {
  throw new Error('a child failed')
}

/** It fails in its cleanup, so that none is stopped by the failure of another before it fails itself. */
function* failing() {
  try {
    yield* suspend()
  } finally {
    fail()
  }
}
function* failsFirst() {
  yield* sleep(1)
  fail()
}
function* failures(n) {
  try {
    yield* scope(() => {
      for (let i = 1; i < n; i++) spin(failing)
      spin(failsFirst)
    })
  } catch {}
}
const ours = (n) => run(() => failures(n))

/** async: all wait for one promise; Promise.allSettled, which also waits for all and keeps every error. */
async function asyncFailing(signal) {
  await signal
  fail()
}
async function asyncFailures(n) {
  const signal = new Promise((resolve) => setTimeout(resolve, 1))
  const promises = []
  for (let i = 0; i < n; i++) promises.push(asyncFailing(signal))
  await Promise.allSettled(promises)
}

/** CPU time for each of n. */
async function each(n, contestant) {
  const begin = process.cpuUsage()
  await contestant(n)
  const { user, system } = process.cpuUsage(begin)
  return (user + system) / n
}

/** How many times as much a child costs when there are eight times as many. */
const growth = (contestant) => async (n) => {
  const few = n / 8
  await contestant(few)
  const before = await each(few, contestant)
  return (await each(n, contestant)) / before
}

export const rows = [
  {
    name: 'failing children of a scope: 20,000 beside 2,500',
    note: 'how many times as much a child costs; 1 is linear, 8 quadratic.',
    aim: { most: 2 },
    unit: 'times',
    n: 20_000,
    smoke: 80,
    rounds: 3,
    slow: true,
    ours: growth(ours),
    async: growth(asyncFailures),
  },
  ...COUNTS.map((count) => ({
    name: `a failing child of a scope, ${count.toLocaleString('en')} of them`,
    detail: true,
    n: count,
    rounds: 3,
    slow: true,
    ours,
    async: asyncFailures,
  })),
]
