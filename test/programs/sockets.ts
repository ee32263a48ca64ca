// Servers in a process of their own, one kind for each argument. Each prints its port first.

import { openSync } from 'node:fs'
import { main, sleep, spin } from 'polyphony'
import { listen } from 'polyphony/io'

const programs: Record<string, () => void> = {
  /** Greets, and does as it is told; for a process with few descriptors. */
  few: () =>
    main(function* () {
      const server = yield* listen({ host: '127.0.0.1' })
      console.log(server.port)
      yield* server.acceptLoop(function* (socket) {
        yield* socket.write('hello\n')
        for (let line: string | undefined; (line = yield* socket.gets()) !== undefined; ) {
          if (line === 'open') yield* socket.write(`${openSync('/dev/null', 'r') > 0}\n`)
          if (line === 'stats') yield* socket.write(`${JSON.stringify(server.stats())}\n`)
          if (line === 'end') yield* server.close()
        }
      })
    }),

  /** Says goodbye to everybody when it is stopped. */
  polite: () =>
    main(function* () {
      const server = yield* listen({ host: '127.0.0.1' })
      console.log(server.port)
      try {
        yield* server.acceptLoop(function* (socket) {
          yield* socket.write('hello\n')
          try {
            yield* sleep()
          } finally {
            yield* socket.write('goodbye\n')
          }
        })
      } finally {
        console.log(`open at the end: ${server.stats().open}`)
      }
    }),

  /** A fiber that waits for connections keeps the process. */
  waiting: () =>
    main(function* () {
      const server = yield* listen({ host: '127.0.0.1' })
      const accepting = spin(() => server.accept())
      console.log(server.port)
      const socket = yield* accepting
      console.log('somebody came')
      socket?.destroy()
    }),
}
programs[process.argv[2] as string]?.()
