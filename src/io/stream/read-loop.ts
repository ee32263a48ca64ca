// readLoop: runs a body for each chunk as it arrives. The chunk is lent: it is valid until the body has ended.

import { BaseOp, type Fiber, type Op, op, type Routine, runReturned, settle } from '../../core/index.js'
import type { ReadBuffer } from './read-buffer.js'
import { copyOf, MORE, Taking } from './read-ops.js'
import type { Stream } from './stream.js'

/**
 * Waits for the next chunk and keeps it, in a buffer that is lent if it can be; false at the end of the stream. The chunk is
 * never in a variable of the loop: a generator keeps its variables while it waits, so each idle connection would keep its last
 * buffer.
 */
class Borrow extends Taking<boolean> {
  private chunk: Buffer | null = null
  private lent: Lent | null = null
  private cutBefore = 0

  take(buffer: ReadBuffer, isEnded: boolean): boolean | typeof MORE {
    this.chunk = buffer.chunk(this.max) ?? null
    return this.chunk !== null || (isEnded ? false : MORE)
  }

  override receive(fiber: Fiber, bytes: Buffer, isOwned: boolean): void {
    if (isOwned) this.chunk = bytes
    else {
      this.lent = lend(bytes)
      this.chunk = this.lent === null ? copyOf(bytes) : this.lent.hold(bytes)
    }
    settle(fiber, this, true)
  }

  feed(body: (chunk: Buffer) => unknown): unknown {
    this.cutBefore = cutWrites
    return body(this.chunk as Buffer)
  }

  /** The body has ended. */
  giveBack(): void {
    this.chunk = null
    const { lent } = this
    if (lent === null) return
    this.lent = null
    if (cutWrites === this.cutBefore) giveBack(lent)
    else loseLent()
  }

  /** The loop was left. If its body was cut, other code may still use the chunk. */
  lose(): void {
    if (this.lent !== null) loseLent()
    this.lent = null
  }

  describe(): string {
    return `${this.stream.name}.readLoop()`
  }
}

/** The loop as an op. Its description is made only when asked for: the name of the other end may cost a system call. */
export function readLoop(stream: Stream, body: (chunk: Buffer) => unknown, max: number): Op<void> {
  return op(
    () => `${stream.name}.readLoop()`,
    () => looping(stream, body, max),
  )
}

function* looping(stream: Stream, body: (chunk: Buffer) => unknown, max: number): Routine<void> {
  const next = new Borrow(stream, max)
  try {
    while (yield* next) {
      let result = next.feed(body)
      if (result instanceof BaseOp) result = yield* result as Op<unknown>
      else if (typeof result === 'object' && result !== null) result = yield* runReturned(result, body)
      next.giveBack()
      if (result === false) return
    }
  } finally {
    next.lose()
  }
}

// ---- buffers that are lent to the bodies of loops and come back, so that a loop allocates nothing for a chunk
// A buffer is not used again if the body was cut, since other code may still use it, such as a write in progress, nor if the
// body went on after a write was cut by a time-out or a race.

const SIZE = 64 * 1024
/** How many buffers there are at most. If more chunks arrive than fibers take, the rest get memory of their own. */
const MOST = 32

/** A buffer and the last view of it: chunks of a protocol are often equally long. */
export class Lent {
  private readonly memory = Buffer.allocUnsafeSlow(SIZE)
  private view = this.memory

  /** Copies the bytes here. */
  hold(bytes: Buffer): Buffer {
    const { length } = bytes
    if (this.view.length !== length) this.view = this.memory.subarray(0, length)
    this.view.set(bytes)
    return this.view
  }
}

const free: Lent[] = []
let count = 0

/** How many writes were left by their fibers so far. Their bytes are sent all the same, so the memory is in use. */
export let cutWrites = 0

export function writeWasCut(): void {
  cutWrites++
}

/** A buffer for these bytes, or null if none is free: then they are copied to memory of their own. */
export function lend(bytes: Buffer): Lent | null {
  if (bytes.length > SIZE) return null
  const lent = free.pop()
  if (lent !== undefined) return lent
  if (count === MOST) return null
  count++
  return new Lent()
}

export function giveBack(lent: Lent): void {
  free.push(lent)
}

/** A buffer was lost: another may take its place. */
export function loseLent(): void {
  count--
}
