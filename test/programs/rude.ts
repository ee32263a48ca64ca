// A server with a time limit in its handler and a bound for its closes, among rude peers in a thread of their own: they never
// read, never write, reset, end one half, send a byte now and then, or vanish. A polite client asks all the time. Prints what is left
// in the end. Arguments: how many peers; 'node' to have connections as Node makes them.

import { Worker } from 'node:worker_threads'
import { main, moveOnAfter, type Routine, sleep, spin } from 'polyphony'
import { connect, listen, type Socket } from 'polyphony/io'
import { wires } from '#io/net/wire'

const [count = '2000', kind = 'wires'] = process.argv.slice(2)
if (kind === 'node') wires.work = false

/** As many peers as it is told, so many at a time; says when the last is gone. */
const peers = `
  const net = require('node:net')
  const { parentPort, workerData: { port, count } } = require('node:worker_threads')
  const WAYS = [
    (peer) => peer.pause().write('much\\n'),
    () => {},
    (peer) => peer.write('much\\n', () => peer.resetAndDestroy()),
    (peer) => peer.end(),
    (peer) => peer.end('much\\n'),
    (peer) => peer.on('close', clearInterval.bind(null, setInterval(() => peer.write('x'), 100))),
    (peer) => peer.destroy(),
    (peer) => setImmediate(() => peer.resetAndDestroy()),
  ]
  let next = 0
  let open = 0
  function more() {
    while (open < 200 && next < count) {
      const way = WAYS[next++ % WAYS.length]
      open++
      const peer = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => way(peer))
      // A peer that is paused never hears of the end: it stays until it has been rude for long enough.
      const limit = setTimeout(() => peer.destroy(), 3000)
      peer.on('error', () => {}).on('close', () => {
        clearTimeout(limit)
        open--
        if (open === 0 && next === count) parentPort.postMessage('gone')
        else more()
      })
      if (way !== WAYS[0]) peer.resume().on('end', () => peer.destroy())
    }
  }
  more()`

const MUCH = Buffer.alloc(4_000_000)

function* answer(socket: Socket): Routine<void> {
  yield* moveOnAfter(500, function* () {
    for (let line: string | undefined; (line = yield* socket.gets()) !== undefined; ) {
      if (line === 'much') yield* socket.write(MUCH)
      else yield* socket.write(`${line}!\n`)
    }
  })
}

main(function* () {
  const server = yield* listen({ host: '127.0.0.1', closeTimeout: 300 })
  const { port } = server
  const serving = spin(() => server.acceptLoop(answer))
  const memory = () => {
    globalThis.gc?.()
    const { heapUsed, external, rss } = process.memoryUsage()
    return { heap: heapUsed, external, rss }
  }
  const before = memory()
  let isOver = false
  const worker = new Worker(peers, { eval: true, execArgv: [], workerData: { port, count: Number(count) } })
  worker.on('message', () => {
    isOver = true
  })
  let [asked, failed, most] = [0, 0, 0]
  while (!isOver) {
    asked++
    most = Math.max(most, server.stats().open)
    const said = yield* connect({ host: '127.0.0.1', port }, function* (socket: Socket) {
      yield* socket.write('hello\n')
      return yield* socket.gets()
    })
    if (said !== 'hello!') failed++
    yield* sleep(5)
  }
  for (let i = 0; i < 500 && server.stats().open > 0; i++) yield* sleep(10)
  const { open, connections, dropped } = server.stats()
  worker.terminate()
  yield* sleep(200)
  const after = memory()
  const grown = {
    heap: after.heap - before.heap,
    external: after.external - before.external,
    rss: after.rss - before.rss,
  }
  console.log(JSON.stringify({ open, connections, dropped, asked, failed, most, grown }))
  yield* server.close()
  yield* serving
})
