// acceptLoop: a fiber for each connection, named conn#1, conn#2 and so on, in a nursery: an error in one of them is reported and
// harms no other (S29).
//
//   accept -> [ conn#1: the body, then its children end ] -> what was written is sent, closed -> a place for the next
//
// The close needs no fiber: the loop keeps the connections that are being closed, and ends when the last is. If the loop may not
// wait any longer, they are cut.

import {
  type Attempt,
  ensure,
  Fiber,
  isStop,
  nursery,
  OutsideOp,
  type Routine,
  runBody,
  spin,
  timeLeft,
} from '../../core/index.js'
import type { Server } from './server.js'
import type { Socket } from './socket.js'

export type Handler = (...args: any[]) => any

export class AcceptLoop {
  /** Connections that are being closed. */
  private readonly closing = new Set<Socket>()
  /** A body has returned false. */
  private isOver = false
  private fiber!: Fiber
  private closed: Closed | null = null

  constructor(
    private readonly server: Server,
    private readonly body: Handler,
    private readonly onError: Handler | undefined,
  ) {}

  *run(): Routine<void> {
    this.fiber = Fiber.current
    this.closed = new Closed(this.closing, `${this.server.name}.acceptLoop()`).droppable()
    const events = {
      ended: (child: Fiber, socket: Socket) => this.ended(child, socket),
      left: (child: Fiber, socket: Socket) => this.left(child, socket),
    }
    try {
      yield* ensure(
        () => nursery(() => this.acceptAll(), events),
        () => this.closed as Closed, // within the grace of the loop
      )
    } finally {
      for (const socket of this.closing) socket.destroy()
    }
  }

  private *acceptAll(): Routine<void> {
    const { server, onError } = this
    const body = onError === undefined ? this.body : (socket: Socket) => this.converse(socket)
    const { room } = server
    for (;;) {
      if (room !== null) yield* room.acquire()
      let socket: Socket | undefined
      let isHandled = false
      try {
        if (!this.isOver) socket = yield* server.acceptDetached.handOut()
        if (socket === undefined || this.isOver) return
        spin(`conn#${++server.handled}`, body, socket)
        server.open++
        isHandled = true
      } catch (error) {
        if (timeLeft(this.fiber) > 0) throw error
        return // the loop was forced to end at this moment, and nothing can be spun any more (S06)
      } finally {
        if (!isHandled) {
          room?.release()
          if (socket !== undefined) server.putBack(socket)
        }
      }
    }
  }

  private *converse(socket: Socket): Routine<unknown> {
    try {
      return yield* runBody(this.body, socket)
    } catch (error) {
      if (isStop(error) || socket.isLostBy(error)) throw error
      yield* runBody(this.onError as Handler, error, socket)
      return undefined
    }
  }

  /** The fiber of a connection is over. Whether its error is none: the other side went away. */
  private ended({ outcome }: Fiber, socket: Socket): boolean {
    if (outcome?.type === 'value' && outcome.value === false) this.end()
    this.close(socket)
    return outcome?.type === 'error' && socket.isLostBy(outcome.error)
  }

  private end(): void {
    this.isOver = true
    this.server.dismiss(this.fiber)
  }

  /** The fiber of a connection was moved to another parent, and closes it as its owner. */
  private left(child: Fiber, socket: Socket): void {
    socket.ownedBy(child)
    socket.whenGone(() => this.free(socket))
  }

  private close(socket: Socket): void {
    this.closing.add(socket)
    try {
      socket.beginClose(this.server.runtime)
    } catch {} // it cannot be closed in order, and was cut
    socket.whenGone(() => this.free(socket))
  }

  private free(socket: Socket): void {
    const { server, closing } = this
    closing.delete(socket)
    server.open--
    server.room?.release()
    this.closed?.look()
  }
}

/** Waits until the last of some connections is closed. */
class Closed extends OutsideOp<void> {
  private waiting: Attempt<void> | null = null

  constructor(
    private readonly closing: ReadonlySet<Socket>,
    private readonly what: string,
  ) {
    super()
  }
  protected start(attempt: Attempt<void>): void {
    this.waiting = attempt
    this.look()
  }
  protected cancel(): void {}
  look(): void {
    if (this.closing.size === 0) this.waiting?.settle()
  }
  describe(): string {
    return this.what
  }
  override get kind(): string {
    return 'close'
  }
}
