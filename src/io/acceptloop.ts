// acceptLoop: a fiber for each connection, named conn#1, conn#2 and so on.
//
//   accept -> [ conn#1: body -> its children are stopped -> what was written is sent, closed ] -> room for the next
//
// A fiber that is stopped closes its connection in the same way, within its grace, even if it never ran a line (S05). An error in
// one of them is reported and harms nobody else (S29).

import {
  addCleanup,
  Fiber,
  isForced,
  isGeneratorFunction,
  isStop,
  type Routine,
  runBody,
  scope,
  spin,
} from '../core/index.js'
import type { Server } from './server.js'
import type { Socket } from './socket.js'

export type Handler = (...args: unknown[]) => never

export function* acceptLoop(server: Server, body: Handler, onError: Handler | undefined): Routine<void> {
  const { room } = server
  const loop = Fiber.current
  let isOver = false
  const isRoutine = isGeneratorFunction(body) // without a generator of ours around it: memory, in each connection

  function* converse(socket: Socket): Routine<void> {
    try {
      const result = isRoutine ? yield* body(socket) as Routine<unknown> : yield* runBody(body, socket)
      if (result !== false) return
      isOver = true
      server.dismiss(loop)
    } catch (error) {
      if (isStop(error)) throw error
      if (socket.isLostBy(error)) return
      if (onError === undefined) throw error
      yield* runBody(onError, error, socket)
    }
  }

  function handle(socket: Socket): void {
    const fiber = spin({ name: `conn#${++server.handled}`, link: false }, converse, socket)
    server.open++
    addCleanup(fiber, function* () {
      try {
        yield* socket.close()
      } catch (error) {
        if (!socket.isLostBy(error)) throw error
      } finally {
        socket.destroy()
        server.open--
        room?.release()
      }
    })
  }

  /** Whether there was one. */
  function* next(): Routine<boolean> {
    if (room !== null) yield* room.acquire()
    let socket: Socket | undefined
    let isHandled = false
    try {
      if (!isOver) socket = yield* server.accept()
      if (socket === undefined || isOver || isForced(loop)) return false // forced: nothing can be spun any more (S06)
      handle(socket)
      isHandled = true
      return true
    } finally {
      if (!isHandled) {
        room?.release()
        if (socket !== undefined) server.putBack(socket)
      }
    }
  }

  yield* scope(function* () {
    while (!isOver && (yield* next()));
  })
}
