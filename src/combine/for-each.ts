// forEach: many items, a few fibers. Workers share one source; each takes an item, runs the body, takes the next.
//
//   source --> worker: body(item, 0)       a worker is hired when an item was taken and no worker is free for the next,
//          --> worker: body(item, 1)       so there is at most one worker more than items in progress
//          --> worker: waits for item 2
//
// Each item behaves as if it had a fiber of its own: if its body has left something behind (a child, a local value, a
// message), the worker ends, and another is hired. Hiring and stopping is done by Team (team.ts).

import {
  check,
  ensure,
  Fiber,
  FiberStopped,
  hasTraces,
  IdleOp,
  isGeneratorFunction,
  type Op,
  op,
  passOn,
  type Result,
  type Returned,
  type Routine,
  runReturned,
  settle,
  Waiters,
} from '../core/index.js'
import { checkItems, type Items, SyncSource, sourceOf } from '../interop/index.js'
import { END, type Source } from '../sync/index.js'
import { type Member, Team } from './team.js'

/** Options of `forEach`. */
export interface ForEachOptions {
  /** How many items may be in progress at the same time; default 1. `Infinity` sets no limit. */
  concurrency?: number
}

/** The switchpoint of a worker between two items that need no wait: for signals, fairness (S09, S50) and S17. */
class Between extends IdleOp<void> {
  enter(fiber: Fiber): void {
    settle(fiber, this, undefined)
  }
  abort(): void {}
  describe(): string {
    return 'the next item'
  }
  override get kind(): string {
    return 'item'
  }
}
const BETWEEN = new Between()

/** Lets one worker at a time wait for an item, so that items keep their order. */
class Turn extends IdleOp<void> {
  private isTaken = false
  private readonly line = new Waiters()

  constructor() {
    super()
    this.droppable() // never handed out
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
  override get kind(): string {
    return 'item'
  }
}

class ForEach extends Team {
  /** Null if the items may have to be waited for. */
  readonly sync: SyncSource<unknown> | null
  /** Workers that have no item. */
  private free = 0
  private taken = 0
  private done = 0
  private isEnded = false
  private failed: Member | null = null
  /** As long as the last value that is not undefined: an endless source with a body that returns nothing uses no memory. */
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

  *work(): Routine<unknown[]> {
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

  // ---- called by workers

  /** Waits for an item, if the source is not synchronous. */
  *pull(): Routine<unknown> {
    yield* this.turn
    try {
      return yield* this.source.next()
    } finally {
      this.turn.pass()
    }
  }

  /** A worker has got an item. Returns its index. */
  take(): number {
    this.free--
    if (this.needsWorker) this.tellNews()
    return this.taken++
  }

  /** Stores the result of an item. */
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
      // A generator of a function* is driven directly; anything else is checked first.
      const isShort = isGenerator && typeof (returned as Routine<unknown>).throw === 'function'
      value = yield* isShort ? (returned as Op<unknown>) : runReturned(returned, body)
    }
    job.put(index, value)
    passOn(fiber, value)
    if (hasTraces(fiber)) return
    job.release()
  }
  job.end()
}

function cutShort(host: Fiber): FiberStopped {
  return new FiberStopped(
    `a worker of forEach() in ${host.path} was stopped or restarted from outside, so an item has no result`,
  )
}

/**
 * Runs a body for every item of an iterable, a queue or another source, and returns the results in order. `concurrency`
 * says how many items may be in progress at the same time; default 1. An item is taken only when a fiber is free for it.
 * The first error stops the rest, waits for them, and is thrown (S28); then the source is closed, as in `each`.
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
  check.body(body, 'forEach()')
  const { concurrency = 1 } = check.options(options, { concurrency: check.limit }, 'forEach()')
  return op('forEach()', () => running(sourceOf(items, 'forEach()'), body, concurrency))
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
