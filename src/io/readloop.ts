// readLoop: a body for each chunk, as it comes. The chunk is lent: it is valid until the body has ended.

import { BaseOp, type Fiber, type Op, type Routine, runBody, settle } from '../core/index.js'
import type { Flow } from './flow.js'
import type { Intake } from './intake.js'
import { cutWrites, giveBack, type Lent, lend } from './lent.js'
import { copyOf, MORE, Taking } from './reading.js'

/** The next chunk, in a buffer that is lent if it can be. */
class Borrow extends Taking<Buffer | undefined> {
  lent: Lent | null = null

  take(intake: Intake, isEnded: boolean): Buffer | undefined | typeof MORE {
    return intake.chunk(this.max) ?? (isEnded ? undefined : MORE)
  }

  override receive(fiber: Fiber, bytes: Buffer, isOwned: boolean): void {
    this.lent = isOwned ? null : lend(bytes)
    if (this.lent !== null) settle(fiber, this, this.lent.hold(bytes))
    else settle(fiber, this, isOwned ? bytes : copyOf(bytes))
  }

  describe(): string {
    return `${this.stream.name}.readLoop()`
  }
}

export function* readLoop(
  stream: Flow,
  body: (chunk: Buffer) => Op<unknown> | unknown,
  max: number,
): Routine<void> {
  const next = new Borrow(stream, max)
  for (let chunk: Buffer | undefined; (chunk = yield* next) !== undefined; ) {
    const { lent } = next
    next.lent = null
    const cutBefore = cutWrites
    const returned = body(chunk)
    let result = returned
    if (returned instanceof BaseOp) result = yield* returned as Op<unknown>
    else if (typeof returned === 'object' && returned !== null) result = yield* runBody(() => returned)
    if (lent !== null && cutWrites === cutBefore) giveBack(lent)
    if (result === false) return
  }
}
