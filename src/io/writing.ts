// The waits of writing, and of ending and closing. A chunk is handed over at once, in the order of the calls; the wait is for
// room. A fiber that is stopped in that wait leaves, and its bytes are sent all the same: half a message helps nobody.

import { BadArgument, BaseOp, type Fiber, LATER, settle, show } from '../core/index.js'
import type { Chunk } from './channel.js'
import type { Flow } from './flow.js'

export class Write extends BaseOp<void> {
  constructor(
    private readonly stream: Flow,
    private readonly chunks: readonly Chunk[],
  ) {
    super()
    checkChunks(chunks, stream, 'write')
  }

  enter(fiber: Fiber): void {
    if (this.stream.send(this.chunks, 'write')) settle(fiber, this, undefined)
    else this.stream.joinWriters(fiber)
  }

  abort(fiber: Fiber): void | typeof LATER {
    if (this.stream.channel.isPatient) return LATER
    this.stream.leaveWriters(fiber)
  }

  describe(): string {
    return `${this.stream.name}.write()`
  }
}

export class End extends BaseOp<void> {
  constructor(
    private readonly stream: Flow,
    private readonly chunks: readonly Chunk[],
  ) {
    super()
    checkChunks(chunks, stream, 'end')
  }

  enter(fiber: Fiber): void {
    if (this.stream.sendEnd(this.chunks)) settle(fiber, this, undefined)
    else this.stream.joinWriters(fiber)
  }

  abort(fiber: Fiber): void | typeof LATER {
    if (this.stream.channel.isPatient) return LATER
    this.stream.leaveWriters(fiber)
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
    else this.stream.joinClosers(fiber)
  }

  abort(fiber: Fiber): void | typeof LATER {
    if (this.stream.channel.isPatient) return LATER
    this.stream.leaveClosers(fiber)
    this.stream.destroy()
  }

  describe(): string {
    return `${this.stream.name}.close()`
  }
}

export function checkChunks(chunks: readonly unknown[], stream: Flow, what: string): void {
  for (const chunk of chunks) {
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) continue
    throw new BadArgument(`${stream.name}.${what}() needs strings or bytes (Uint8Array), got ${show(chunk)}`)
  }
}
