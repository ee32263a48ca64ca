// Many queries over a few connections: the pool lends each connection to one fiber at a time.

import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { ensure, Fiber, main, moveOnAfter, ResourcePool, type Routine, spin, until } from 'polyphony'

/** A database of sorts: it takes its time for each query. */
const database = createServer((socket) => {
  socket.on('data', (sql) => setTimeout(() => socket.write(`rows of "${sql}"`), 20))
  socket.on('error', () => {})
})

const connections = new ResourcePool({
  name: 'db',
  limit: 2,
  async create(signal) {
    const socket = connect((database.address() as AddressInfo).port, '127.0.0.1')
    await once(socket, 'connect', { signal })
    return socket
  },
  destroy: (socket) => socket.destroy(),
})

function queryRecords(sql: string) {
  return connections.acquire(function* (db): Routine<string> {
    let answer: unknown[] | undefined
    try {
      db.write(sql)
      answer = yield* until((signal) => once(db, 'data', { signal }))
      return String(answer[0])
    } finally {
      if (answer === undefined) connections.discard(db) // its answer will come, and nobody else may take it for theirs
    }
  })
}

function* work(): Routine<void> {
  yield* until(once(database.listen(0, '127.0.0.1'), 'listening'))
  const queries = ['select 1', 'select 2', 'select 3', 'select 4', 'select 5'].map((sql) =>
    spin(queryRecords, sql),
  )
  for (const rows of yield* Fiber.await(...queries)) console.log(rows)
  const { created, waits } = connections.stats()
  console.log(`${queries.length} queries, ${created} connections; ${waits.count} queries had to wait for one`)

  console.log(yield* moveOnAfter(5, () => queryRecords('select sleep(1000)'), 'too slow'))
  console.log(yield* queryRecords('select 6'))
}

main(() =>
  ensure(work, function* () {
    yield* connections.close()
    database.close()
    const { created, destroyed } = connections.stats()
    console.log(created === destroyed ? 'every connection is closed' : 'a connection is still open')
  }),
)
