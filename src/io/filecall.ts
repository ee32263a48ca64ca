// A wait for work in Node's thread pool. It cannot be called back: who is stopped waits for its end, bounded by the grace,
// and what it gives then is put away (S35).

import { type Attempt, LATER, OutsideOp, PolyphonyError } from '../core/index.js'
import { ioError } from './errors.js'
import type { Done } from './filechannel.js'

/** What a call does besides. */
export interface CallOptions<T> {
  /** Puts away a value that nobody will receive. */
  discard?: (value: T) => void
  /** Whoever waits is stopped: does what it can to hurry. */
  hurry?: () => void
}

export class FileCall<T> extends OutsideOp<T> {
  constructor(
    /** For the tree and for errors: `openFile(notes.txt)`. */
    private readonly what: string,
    private readonly call: (done: Done<T>) => void,
    private readonly options: CallOptions<T> = {},
  ) {
    super()
  }

  protected start(attempt: Attempt<T>): void {
    this.call((error, value) => {
      if (!error) attempt.settle(value as T)
      else attempt.fail(error instanceof PolyphonyError ? error : ioError(error, this.what))
    })
  }

  protected cancel(): typeof LATER {
    this.options.hurry?.()
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
