// Conversations over real sockets, disturbed at every switchpoint: whatever happens, both sides come to an end, and nothing
// stays open.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { ensure, Fiber, type Routine, scope, spin, use } from 'polyphony'
import {
  type ConnectOptions,
  connect,
  type ListenOptions,
  listen,
  type Server,
  type Socket,
} from 'polyphony/io'
import { disturbances, everywhere } from './disturb.js'
import { inFolder, isGone } from './real.js'

/** A client that lives as long as the other side does. */
function* client(where: ConnectOptions, talk: (socket: Socket) => Routine<void>): Routine<void> {
  try {
    const socket = yield* connect(where)
    try {
      yield* talk(socket)
    } finally {
      socket.destroy()
    }
  } catch (error) {
    if (!isGone(error)) throw error
  }
}

/** Serves lines with echoes, and ends when its loop does. */
function* serve(server: Server): Routine<void> {
  try {
    yield* server.acceptLoop(function* (socket) {
      for (let line: string | undefined; (line = yield* socket.gets()) !== undefined; ) {
        if (line === 'bye') return
        yield* socket.write(`${line}\n`)
      }
    })
  } finally {
    server.destroy()
  }
}

function scenario(where: ListenOptions): () => Routine<void> {
  return function* () {
    const server = yield* use(yield* listen(where))
    const to = where.path === undefined ? { host: '127.0.0.1', port: server.port } : { path: where.path }
    const serving = spin('server', serve, server)
    yield* scope(function* () {
      spin('talker', () =>
        client(to, function* (socket) {
          yield* socket.write('one\n')
          yield* socket.gets()
          yield* socket.end('two\n')
          yield* socket.readAll()
          yield* socket.close()
        }),
      )
      spin('leaver', () =>
        client(to, function* (socket) {
          yield* socket.write('bye\n')
          yield* socket.readLoop(() => {})
        }),
      )
      spin('sender', () =>
        client(to, function* (socket) {
          const line = `${'x'.repeat(50_000)}\n`
          yield* ensure(
            function* () {
              const reader = spin(() => socket.gets())
              yield* socket.write(line)
              yield* reader.join()
            },
            () => socket.close(),
          )
        }),
      )
    })
    yield* server.close()
    yield* serving.join()
  }
}

describe('a conversation with a server', { concurrency: 1 }, () => {
  for (const [name, disturb] of Object.entries(disturbances)) {
    test(`over TCP survives: ${name}, at every switchpoint`, async (t) => {
      const count = await everywhere(scenario({ host: '127.0.0.1' }), disturb)
      t.diagnostic(`${count} switchpoints`)
      assert.ok(count > 20)
    })
  }

  test('over a Unix socket with room for one survives: stop, at every switchpoint', (t) =>
    inFolder(async (folder) => {
      const path = join(folder, 's')
      const count = await everywhere(scenario({ path, maxConnections: 1 }), (fiber) => void fiber.stop())
      t.diagnostic(`${count} switchpoints`)
      assert.ok(count > 20)
    }))

  test('with a server that waits for its clients by itself survives: stop, at every switchpoint', async (t) => {
    const count = await everywhere(
      function* () {
        const server = yield* use(yield* listen({ host: '127.0.0.1' }))
        const accepting = spin('acceptor', function* () {
          try {
            const socket = yield* server.accept()
            if (socket === undefined) return
            try {
              yield* socket.write(yield* socket.readExactly(3))
              yield* socket.close()
            } finally {
              socket.destroy()
            }
          } finally {
            server.destroy()
          }
        })
        yield* client({ host: '127.0.0.1', port: server.port }, function* (socket) {
          yield* socket.write('abc')
          yield* socket.readAll()
        })
        yield* Fiber.await(accepting)
      },
      (fiber) => void fiber.stop(),
    )
    t.diagnostic(`${count} switchpoints`)
  })
})
