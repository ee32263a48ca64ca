// A wait for work in Node's thread pool. It cannot be called back: who is stopped waits for its end, bounded by the grace,
// and what it gives then is put away (S35).

import { enteredTwice, type Fiber, fail, LATER, LateOp, PolyphonyError, settle } from '../core/index.js'
import { ioError } from './errors.js'
import type { Done } from './filechannel.js'

/** What a call does besides. */
export interface CallOptions<T> {
  /** Puts away a value that nobody will receive. */
  discard?: (value: T) => void
  /** Whoever waits is stopped: does what it can to hurry. */
  hurry?: () => void
}

export class FileCall<T> extends LateOp<T> {
  private fiber: Fiber | null = null

  constructor(
    /** For the tree and for errors: `openFile(notes.txt)`. */
    private readonly what: string,
    private readonly start: (done: Done<T>) => void,
    private readonly options: CallOptions<T> = {},
  ) {
    super()
  }

  enter(fiber: Fiber): void {
    if (this.fiber !== null) throw enteredTwice(this, this.fiber)
    this.left = false
    this.start(this.done)
    this.fiber = fiber
    fiber.runtime.hold()
    fiber.runtime.external++
  }

  private readonly done: Done<T> = (error, value) => {
    const fiber = this.fiber as Fiber
    this.fiber = null
    fiber.runtime.external--
    fiber.runtime.release()
    if (!error) settle(fiber, this, value as T)
    else fail(fiber, this, error instanceof PolyphonyError ? error : ioError(error, this.what))
  }

  abort(): typeof LATER {
    this.options.hurry?.()
    return LATER
  }

  override discard(value: T): void {
    this.options.discard?.(value)
  }

  describe(): string {
    return this.what
  }
}
