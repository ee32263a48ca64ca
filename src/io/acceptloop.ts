// acceptLoop: a fiber for each connection. The connection is closed when its body is over; an error in one of them is reported
// and harms nobody else (S29).

import { type Routine, runBody, scope, spin } from '../core/index.js'
import { Semaphore } from '../sync/index.js'
import type { Server } from './server.js'
import type { Stream } from './stream.js'

type Handler = (socket: Stream) => never

export function* acceptLoop(server: Server, body: (socket: Stream) => unknown): Routine<void> {
  const room = server.maxConnections === Infinity ? null : new Semaphore(server.maxConnections)
  /** Handed to a fiber that has not run yet: if it is stopped before, it never will (S05). */
  const unstarted = new Set<Stream>()
  let count = 0
  function* converse(stream: Stream): Routine<void> {
    unstarted.delete(stream)
    try {
      yield* runBody(body as Handler, stream)
      yield* stream.close()
    } finally {
      stream.destroy()
      room?.release()
    }
  }
  try {
    yield* scope(function* () {
      for (;;) {
        if (room !== null) yield* room.acquire()
        const stream = yield* server.accept()
        if (stream === undefined) return
        unstarted.add(stream)
        spin({ name: `conn#${++count}`, link: false }, converse, stream)
      }
    })
  } finally {
    for (const stream of unstarted) stream.destroy()
  }
}
