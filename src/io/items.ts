// A stream as a source of items, for `each`, `iterate`, `forEach` and `toAsyncIterable`: chunks, or lines.

import { type Fiber, type Op, settle } from '../core/index.js'
import { END, HAS_CLOSED, type Source } from '../sync/index.js'
import type { Flow } from './flow.js'
import type { Intake } from './intake.js'
import { copyOf, type MORE, Taking } from './reading.js'

/** Waits as another op does, and gives END where that gives undefined. */
class Next<T> extends Taking<T | typeof END> {
  constructor(
    stream: Flow,
    private readonly taking: Taking<T | undefined>,
  ) {
    super(stream, taking.max)
  }
  take(intake: Intake, isEnded: boolean): T | typeof END | typeof MORE {
    const found = this.taking.take(intake, isEnded)
    return found === undefined ? END : found
  }
  override receive(fiber: Fiber, bytes: Buffer, isOwned: boolean): void {
    settle(fiber, this as Taking<unknown>, isOwned ? bytes : copyOf(bytes))
  }
  describe(): string {
    return this.taking.describe()
  }
}

/** What the op gives, again and again. Who leaves early leaves the rest in the stream, which stays open. */
export function itemsOf<T>(stream: Flow, taking: Taking<T | undefined>): Source<T> {
  const next = new Next(stream, taking).droppable()
  return {
    next: (): Op<T | typeof END> => next.handOut(),
    close: () => HAS_CLOSED,
  }
}
