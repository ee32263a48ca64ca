// forEach: many items, a few fibers. Workers share one source; each takes an item, runs the body, takes the next.
//
//   source --> worker: body(item, 0)       a worker is hired when an item was taken and nobody is free for the next one,
//          --> worker: body(item, 1)       so there are never more than items under way, and one that waits for the next
//          --> worker: waits for item 2
//
// Each item counts as if it had a fiber of its own: when its body has left something behind (a child, a local value, a
// message), its worker ends with it, as any fiber does, and another is hired.

import {
  BadArgument,
  BaseOp,
  checkBody,
  checkOptions,
  debugging,
  ensure,
  Fiber,
  FiberStopped,
  isGeneratorFunction,
  type Op,
  opEntered,
  type Result,
  type Returned,
  type Routine,
  repeatable,
  runReturned,
  settle,
  show,
  Waiters,
} from '../core/index.js'
import { checkItems, type Items, SyncSource, sourceOf } from '../interop/index.js'
import { END, type Source } from '../sync/index.js'
import { type Member, Team } from './team.js'

/** How `forEach` goes about it. */
export interface ForEachOptions {
  /** How many items may be under way at the same time; default 1, one after the other. `Infinity` sets no limit. */
  concurrency?: number
}

/** The switchpoint of a worker between two items that are there already: signals and fairness (S09, S50), no new work (S17). */
class Between extends BaseOp<void> {
  enter(fiber: Fiber): void {
    settle(fiber, this, undefined)
  }
  abort(): void {}
  describe(): string {
    return 'the next item'
  }
}
;(Between.prototype as { idle: boolean }).idle = true
const BETWEEN = new Between()

/** Whose turn it is to wait for an item: one at a time, so that items have an order. */
class Turn extends BaseOp<void> {
  private isTaken = false
  private readonly line = new Waiters()

  constructor() {
    super()
    if (debugging) opEntered(this) // never handed out
  }
  enter(fiber: Fiber): void {
    if (this.isTaken) this.line.join(fiber, undefined)
    else {
      this.isTaken = true
      settle(fiber, this, undefined)
    }
  }
  abort(fiber: Fiber): void {
    this.line.leave(fiber)
  }
  pass(): void {
    this.isTaken = this.line.handOver(undefined)
  }
  describe(): string {
    return 'its turn to take an item'
  }
}
;(Turn.prototype as { idle: boolean }).idle = true

class ForEach extends Team {
  /** Null if the items may have to be waited for. */
  readonly sync: SyncSource<unknown> | null
  /** Workers that have no item. */
  private free = 0
  private taken = 0
  private done = 0
  private isEnded = false
  private failed: Member | null = null
  /** Only as long as the last value that is not undefined: an endless source whose body gives nothing needs no memory. */
  private readonly results: unknown[] = []
  private readonly turn = new Turn()

  constructor(
    private readonly source: Source<unknown>,
    readonly body: (item: any, index: number) => unknown,
    private readonly concurrency: number,
  ) {
    super('forEach()')
    this.sync = source instanceof SyncSource ? source : null
  }

  protected *work(): Routine<unknown[]> {
    let hired = 0
    while (!this.isEnded || this.alive > 0) {
      if (this.needsWorker) {
        this.free++
        this.hire(`forEach[${hired++}]`, work, this)
      }
      yield* this.news
      if (this.failed !== null) throw this.tell(this.failed)
    }
    if (this.done < this.taken) throw cutShort(this.host)
    while (this.results.length < this.taken) this.results.push(undefined)
    return this.results
  }

  private get needsWorker(): boolean {
    // Below 0: one was restarted from outside in the middle of an item, and has taken the next.
    return this.free <= 0 && !this.isEnded && this.alive < this.concurrency
  }

  protected judge(member: Member): void {
    if (member.outcome?.type !== 'value') this.failed ??= member
    else this.members.delete(member)
    if (this.failed !== null || this.alive === 0 || this.needsWorker) this.tellNews()
  }

  private tell(member: Member): unknown {
    member.isTold = true
    return member.failure ?? cutShort(this.host)
  }

  // ---- what workers call

  /** Waits for an item; only where there is no `sync`. */
  *pull(): Routine<unknown> {
    yield* this.turn
    try {
      return yield* this.source.next()
    } finally {
      this.turn.pass()
    }
  }

  /** A worker has an item: gives its index. */
  take(): number {
    this.free--
    if (this.needsWorker) this.tellNews()
    return this.taken++
  }

  /** The item has its result. */
  put(index: number, value: unknown): void {
    this.done++
    if (value === undefined) return
    const { results } = this
    while (results.length < index) results.push(undefined)
    results[index] = value
  }

  /** The worker is ready for another item. */
  release(): void {
    this.free++
  }

  /** There are no more items. */
  end(): void {
    this.free--
    this.isEnded = true
  }
}

/** The body of a worker. */
function* work(job: ForEach): Routine<void> {
  const fiber = Fiber.current
  const { body, sync } = job
  const isGenerator = isGeneratorFunction(body)
  for (;;) {
    let item: unknown
    if (sync === null) item = yield* job.pull()
    else {
      yield* BETWEEN
      item = sync.take()
    }
    if (item === END) break
    const index = job.take()
    const returned = body(item, index)
    let value: unknown = returned
    if (typeof returned === 'object' && returned !== null) {
      // The short way for what a function* returned; anything else is looked at first.
      const isShort = isGenerator && typeof (returned as Routine<unknown>).throw === 'function'
      value = yield* isShort ? (returned as Op<unknown>) : runReturned(returned, body)
    }
    job.put(index, value)
    if (hasTraces(fiber)) return
    job.release()
  }
  job.end()
}

/** Whether an item has left something behind in its fiber, which must not reach the next one: `cold` has what few have. */
function hasTraces(fiber: Fiber): boolean {
  return fiber.newest !== null || fiber._mailbox !== null || fiber.cold !== null
}

function cutShort(host: Fiber): FiberStopped {
  return new FiberStopped(
    `a worker of forEach() in ${host.path} was stopped or restarted from outside, so an item has no result`,
  )
}

/**
 * Runs a body for every item of anything that has items and gives the results in order. `concurrency` says how many may
 * be under way at the same time: 1 unless told otherwise. Items are taken only when a fiber is free for them. The first
 * error stops the rest, waits for them, and is thrown (S28); the source is then let go, as `each` does.
 *
 * ```ts
 * const words = ['one', 'two', 'three', 'four']
 * const lengths = yield* forEach(
 *   words,
 *   function* (word) {
 *     yield* sleep(10)
 *     return word.length
 *   },
 *   { concurrency: 2 },
 * )
 * console.log(lengths) // [ 3, 3, 5, 4 ]
 * ```
 */
export function forEach<T, R>(
  items: Items<T>,
  body: (item: T, index: number) => Returned<R>,
  options: ForEachOptions = {},
): Op<Result<R>[]> {
  checkItems(items, 'forEach()')
  checkBody(body, 'forEach()')
  const { concurrency = 1 } = checkOptions(options, ['concurrency'], 'forEach()')
  if (!(Number.isInteger(concurrency) || concurrency === Infinity) || concurrency < 1) {
    throw new BadArgument(
      `forEach() needs a concurrency that is a whole number from 1 up, or Infinity, got ${show(concurrency)}`,
    )
  }
  return repeatable('forEach()', () => running(sourceOf(items, 'forEach()'), body, concurrency))
}

function* running(
  source: Source<any>,
  body: (item: any, index: number) => unknown,
  concurrency: number,
): Routine<any> {
  return yield* ensure(
    () => new ForEach(source, body, concurrency).run(),
    () => source.close(),
  )
}
