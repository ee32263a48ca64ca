// The core beside plain async/await, in one run: CPU time per operation, median of interleaved rounds.
// Absolute figures move with the machine and its load; the ratios are what counts.
import { cancelAfter, Fiber, moveOnAfter, receive, run, sleep, snooze, spin, suspend } from 'polyphony'

const ROUNDS = Number(process.env.ROUNDS ?? 7)

function* nothing() {}
function* one() {
  return 1
}
function* snoozer(n) {
  for (let i = 0; i < n; i++) yield* snooze()
}
function* sleeper(ms) {
  yield* sleep(ms)
}
function* suspended() {
  yield* suspend()
}
/** Keeps the idle async functions reachable. */
const parked = []
async function empty() {}
async function awaiter(n) {
  for (let i = 0; i < n; i++) await null
}

/** Two promise mailboxes, the plain way. */
class Box {
  queue = []
  waiter = null
  send(message) {
    if (this.waiter === null) this.queue.push(message)
    else {
      const resolve = this.waiter
      this.waiter = null
      resolve(message)
    }
  }
  receive() {
    if (this.queue.length > 0) return Promise.resolve(this.queue.shift())
    return new Promise((resolve) => {
      this.waiter = resolve
    })
  }
}

/** name, operations a round, ours, theirs */
const rows = [
  ['switch, 1 fiber', 1e6, (n) => run(() => snoozer(n)), (n) => awaiter(n)],
  ['switch, 100 fibers', 1e6, (n) => many(100, n), (n) => manyAsync(100, n)],
  ['switch, 10,000 fibers', 1e6, (n) => many(10_000, n), (n) => manyAsync(10_000, n)],
  [
    'spin + await, shared function',
    5e5,
    (n) =>
      run(function* () {
        for (let i = 0; i < n; i++) yield* spin(nothing)
      }),
    async (n) => {
      for (let i = 0; i < n; i++) await empty()
    },
  ],
  [
    'spin + await, inline closure',
    2e5,
    (n) =>
      run(function* () {
        for (let i = 0; i < n; i++)
          yield* spin(function* () {
            return i
          })
      }),
    async (n) => {
      for (let i = 0; i < n; i++) await (async () => i)()
    },
  ],
  [
    'message there and back',
    5e5,
    (n) =>
      run(function* () {
        const asker = Fiber.current
        const echo = spin(function* () {
          for (let i = 0; i < n; i++) asker.send(yield* receive())
        })
        for (let i = 0; i < n; i++) {
          echo.send(i)
          yield* receive()
        }
      }),
    async (n) => {
      const there = new Box()
      const back = new Box()
      const echo = (async () => {
        for (let i = 0; i < n; i++) back.send(await there.receive())
      })()
      for (let i = 0; i < n; i++) {
        there.send(i)
        await back.receive()
      }
      await echo
    },
  ],
  ['time-out around a ready op', 3e5, (n) => run(() => limits(moveOnAfter, n)), raceTimeouts],
  ['cancelAfter around a ready op', 3e5, (n) => run(() => limits(cancelAfter, n)), raceTimeouts],
  ['100,000 sleeps at a time', 1e5, (n) => run(() => sleeps(n)), setTimeouts],
  [
    'stop a tree of 100,000 waiting fibers',
    1e5,
    (n) =>
      run(function* () {
        for (let i = 0; i < n; i++) spin(suspended)
        yield* snooze()
      }),
    null,
  ],
]

function* limits(limit, n) {
  for (let i = 0; i < n; i++) yield* limit(1000, one)
}

async function raceTimeouts(n) {
  for (let i = 0; i < n; i++) {
    await new Promise((resolve, reject) => {
      const timer = setTimeout(reject, 1000)
      Promise.resolve(1).then((value) => {
        clearTimeout(timer)
        resolve(value)
      })
    })
  }
}

function* sleeps(n) {
  const fibers = []
  for (let i = 0; i < n; i++) fibers.push(spin(sleeper, 1 + (i % 100)))
  yield* Fiber.await(...fibers)
}

async function setTimeouts(n) {
  await Promise.all(Array.from({ length: n }, (_, i) => new Promise((r) => setTimeout(r, 1 + (i % 100)))))
}

function many(count, n) {
  return run(function* () {
    const fibers = []
    for (let i = 0; i < count; i++) fibers.push(spin(snoozer, n / count))
    yield* Fiber.await(...fibers)
  })
}

function manyAsync(count, n) {
  return Promise.all(Array.from({ length: count }, () => awaiter(n / count)))
}

async function measure(operation, n) {
  const begin = process.cpuUsage()
  await operation(n)
  const { user, system } = process.cpuUsage(begin)
  return ((user + system) * 1000) / n
}

function median(numbers) {
  return numbers.sort((a, b) => a - b)[numbers.length >> 1]
}

console.log(`Node ${process.version}, CPU ns per operation, median of ${ROUNDS} interleaved rounds\n`)
console.log(`${'row'.padEnd(40)}${'fibers'.padStart(9)}${'async'.padStart(9)}${'ratio'.padStart(8)}`)
for (const [name, n, ours, theirs] of rows) {
  const own = []
  const other = []
  for (let round = -1; round < ROUNDS; round++) {
    const a = await measure(ours, n)
    const b = theirs === null ? Number.NaN : await measure(theirs, n)
    if (round < 0) continue // warm-up
    own.push(a)
    other.push(b)
  }
  const [a, b] = [median(own), median(other)]
  const ratio = Number.isNaN(b) ? '' : `${(a / b).toFixed(2)}x`
  console.log(
    `${name.padEnd(40)}${a.toFixed(0).padStart(9)}${Number.isNaN(b) ? '' : b.toFixed(0).padStart(9)}${ratio.padStart(8)}`,
  )
}

if (globalThis.gc !== undefined) {
  const heap = () => {
    globalThis.gc()
    return process.memoryUsage().heapUsed
  }
  const per = async (make) => {
    let bytes = 0
    await run(function* () {
      const before = heap()
      for (let i = 0; i < 1e5; i++) make()
      yield* snooze()
      bytes = (heap() - before) / 1e5
    })
    return bytes.toFixed(0)
  }
  const shared = await per(() => spin(suspended))
  const closure = await per(() =>
    spin(function* () {
      yield* suspend()
    }),
  )
  const before = heap()
  for (let i = 0; i < 1e5; i++) waitForever()
  const plain = ((heap() - before) / parked.length).toFixed(0)
  console.log(
    `\nbytes of an idle fiber: ${shared} (shared function), ${closure} (inline closure); of an idle async function: ${plain}`,
  )
}

async function waitForever() {
  await new Promise((resolve) => parked.push(resolve))
}
