// The waits of writing, and of ending and closing. A chunk is handed over at once, in the order of the calls; the wait is for
// room. A fiber that is stopped in that wait leaves, and its bytes are sent all the same: half a message helps nobody.

import { BadArgument, BaseOp, type Fiber, LATER, type Switchpoint, settle, show } from '../core/index.js'
import type { Chunk } from './channel.js'
import type { Flow } from './flow.js'
import { writeWasCut } from './lent.js'

/** A wait until what was written is on its way. Who is stopped in it leaves, and the bytes are sent all the same. */
export abstract class Sending extends BaseOp<void> {
  /** How much had been written, of all that ever was, when it began to wait. */
  mark = 0

  constructor(protected readonly stream: Flow) {
    super()
  }

  abort(fiber: Fiber): void | typeof LATER {
    writeWasCut()
    if (this.stream.channel.isPatient) return LATER
    this.stream.leaveWriters(fiber)
  }
  override get kind(): string {
    return 'write'
  }
  override get resource(): object {
    return this.stream
  }
}

export class Write extends Sending {
  /** Handed over by `next`; only the wait for room is left. */
  private isSent = false

  constructor(
    stream: Flow,
    private readonly chunks: Chunk | readonly Chunk[],
  ) {
    super(stream)
    checkChunks(chunks, stream, 'write')
  }

  /** Most writes find room, and need not be entered. */
  override next(): IteratorResult<Switchpoint, void> {
    const fiber = this.stream.hasRoom ? this.tryFastPath() : null
    if (fiber === null) return super.next()
    if (this.stream.send(this.chunks, 'write')) return this.finishNow(fiber, undefined)
    this.isSent = true
    return super.next()
  }

  enter(fiber: Fiber): void {
    const { isSent } = this
    this.isSent = false
    if (!isSent && this.stream.send(this.chunks, 'write')) settle(fiber, this, undefined)
    else this.stream.joinWriters(fiber, this)
  }

  describe(): string {
    return `${this.stream.name}.write()`
  }
}

export class End extends Sending {
  constructor(
    stream: Flow,
    private readonly chunks: readonly Chunk[],
  ) {
    super(stream)
    checkChunks(chunks, stream, 'end')
  }

  enter(fiber: Fiber): void {
    if (this.stream.sendEnd(this.chunks)) settle(fiber, this, undefined)
    else this.stream.joinWriters(fiber, this)
  }

  describe(): string {
    return `${this.stream.name}.end()`
  }
}

/** Who gives up waiting for the close closes at once. */
export class Close extends BaseOp<void> {
  constructor(private readonly stream: Flow) {
    super()
  }

  enter(fiber: Fiber): void {
    if (this.stream.beginClose()) settle(fiber, this, undefined)
    else this.stream.joinClosers(fiber, this)
  }

  abort(fiber: Fiber): void | typeof LATER {
    if (this.stream.channel.isPatient) return LATER
    this.stream.leaveClosers(fiber)
    this.stream.destroy()
  }

  describe(): string {
    return `${this.stream.name}.close()`
  }
  override get kind(): string {
    return 'close'
  }
  override get resource(): object {
    return this.stream
  }
}

export function checkChunks(chunks: unknown, stream: Flow, what: string): void {
  if (typeof chunks === 'string' || chunks instanceof Uint8Array) return
  for (const chunk of Array.isArray(chunks) ? chunks : [chunks]) {
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) continue
    throw new BadArgument(`${stream.name}.${what}() needs strings or bytes (Uint8Array), got ${show(chunk)}`)
  }
}
