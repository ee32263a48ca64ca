// What memory does a connection take that says nothing more? Each has said one thing and has got its answer.
import { execFileSync } from 'node:child_process'
import { startClient, startHost } from '../traffic/traffic.js'

const COUNT = Math.min(10_000, descriptors() - 1000)

/** How many files a process may have open. */
function descriptors() {
  const limit = execFileSync('sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' }).trim()
  return limit === 'unlimited' ? Infinity : Number(limit)
}

/** Bytes for each of n connections, in a new server. A smoke test, where both rows are in one process, measures once for both. */
function bytesEach(server, what) {
  return async (n) => {
    const last = measured.get(server)
    const bytes = last?.[what] === undefined ? await measure(server, n) : last
    measured.set(server, { ...bytes, [what]: undefined })
    return bytes[what]
  }
}

/** What was measured last, without what was asked for already. */
const measured = new Map()

async function measure(server, n) {
  const host = await startHost('echo.js', server)
  const client = startClient()
  const exchange = { port: host.port, request: 64, answer: 'same' }
  // What a process takes once, for its code and its first garbage, comes before.
  await client.ask({ type: 'open', count: Math.ceil(n / 4), ...exchange })
  await client.ask({ type: 'close' })
  const before = await host.ask({ type: 'memory' })
  await client.ask({ type: 'open', count: n, ...exchange })
  const after = await host.ask({ type: 'memory' })
  await host.end()
  await client.end()
  return { rss: (after.rss - before.rss) / n, heapUsed: (after.heapUsed - before.heapUsed) / n }
}

const row = (name, what, more) => ({
  name,
  note: 'At least 0.77x is at most 1.3 times the memory.',
  unit: 'bytes',
  n: COUNT,
  rounds: 2,
  slow: true,
  ours: bytesEach('readLoop', what),
  net: bytesEach('plainNet', what),
  ...more,
})

export const rows = [
  row(`memory of each of ${COUNT.toLocaleString('en')} idle connections`, 'rss', { aim: { net: 0.77 } }),
  row('live heap of an idle connection', 'heapUsed', { detail: true }),
]
