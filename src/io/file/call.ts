// A wait for a call of node:fs. The thread pool cannot cancel it: a fiber that is stopped waits for its end, bounded by the grace,
// and a value that comes then is disposed of (S35).

import { type Attempt, type Fiber, LATER, OutsideOp, PolyphonyError } from '../../core/index.js'
import { ioError } from '../errors.js'
import type { Done } from './channel.js'

/** What a call does besides. */
export interface CallOptions<T> {
  /** Called before the value is given to its fiber. */
  give?: (value: T, fiber: Fiber) => void
  /** Disposes of a value that no fiber will receive. */
  discard?: (value: T) => void
}

/** A call that was started; `hurry` is called when the waiting fiber is stopped. */
export interface Started {
  hurry(): void
}

export class FileCall<T> extends OutsideOp<T> {
  private started: Started | undefined

  constructor(
    /** For the tree and for errors: `openFile(notes.txt)`. */
    private readonly what: string,
    private readonly call: (done: Done<T>) => Started | void,
    private readonly options: CallOptions<T> = {},
  ) {
    super()
  }

  protected start(attempt: Attempt<T>): void {
    const started = this.call((error, value) => {
      if (!error) this.give(attempt, value as T)
      else attempt.fail(error instanceof PolyphonyError ? error : ioError(error, this.what))
    })
    this.started = started ?? undefined
  }

  private give(attempt: Attempt<T>, value: T): void {
    const { fiber } = attempt
    if (attempt.isOpen && fiber.state !== 'dead') this.options.give?.(value, fiber)
    attempt.settle(value)
  }

  protected cancel(): typeof LATER {
    this.started?.hurry()
    return LATER
  }

  override discard(value: T): void {
    this.options.discard?.(value)
  }

  describe(): string {
    return this.what
  }
  override get kind(): string {
    return 'file'
  }
}
