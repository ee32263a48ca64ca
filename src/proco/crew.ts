// The transport for handlers in fibers.
//
//   proco                 the host (host.ts)
//   ├─ proco[0]           a worker: takes a batch, runs the handler, takes the next
//   └─ proco[1]
//
// Workers are hired when there is work and none is free, up to `threads`. Each batch counts as if it had a fiber of its
// own: when its handler has left something behind (a child, a local value, a message), or has to be stopped, its worker
// ends with it, and another is hired.

import {
  DIED,
  type EndListener,
  Fiber,
  FiberStopped,
  hasTraces,
  IdleOp,
  isStop,
  listen,
  type Op,
  type Routine,
  runReturned,
  settle,
  tagError,
  Waiters,
} from '../core/index.js'
import { PromiseOp } from '../sync/index.js'
import type { Batch } from './batch.js'
import type { Front } from './front.js'
import type { Host } from './host.js'
import type { Lane } from './lane.js'
import type { Transport } from './transport.js'

export type AnyHandler = (argument: any, work: any) => unknown

/** A worker without work waits to be woken. */
class Rest extends IdleOp<void> {
  constructor(private readonly crew: Crew) {
    super()
    this.droppable()
  }
  enter(fiber: Fiber): void {
    this.crew.resting.join(fiber, undefined)
  }
  abort(fiber: Fiber): void {
    this.crew.resting.leave(fiber)
  }
  describe(): string {
    return 'work'
  }
  override get kind(): string {
    return 'executor'
  }
}

/** The switchpoint of a worker between two batches: signals and fairness (S09, S50). */
class Between extends IdleOp<void> {
  enter(fiber: Fiber): void {
    settle(fiber, this, undefined)
  }
  abort(): void {}
  describe(): string {
    return 'the next batch'
  }
  override get kind(): string {
    return 'executor'
  }
}
const BETWEEN = new Between()

/** A fiber that runs handlers, and what it is busy with. */
class Worker implements EndListener {
  before: EndListener | null = null
  after: EndListener | null = null
  readonly moment = DIED
  fiber!: Fiber
  batch: Batch<any> | null = null

  constructor(
    readonly crew: Crew,
    readonly watcher: Fiber,
  ) {}

  /** It is dead. */
  told(): void {
    this.drop(`${this.fiber.path} was stopped while it handled this item`)
    const { outcome } = this.fiber
    if (outcome?.type === 'error') this.crew.front.log.lost(outcome.error) // of a child that was left behind
    this.crew.lost(this)
  }

  /** What it was busy with has come to nothing. */
  drop(why: string): void {
    const { batch } = this
    this.batch = null
    if (batch === null) return
    if (batch.open > 0) batch.fail(new FiberStopped(why))
    else batch.end()
  }
}

export class Crew implements Transport {
  readonly resting = new Waiters()
  readonly rest: Rest & Op<void> = new Rest(this)
  readonly workers = new Set<Worker>()
  /** A worker was woken, or hired, and has not looked yet. */
  isWaking = false
  private hired = 0

  constructor(
    readonly front: Front,
    readonly handler: AnyHandler,
    private readonly host: Host,
  ) {}

  // ---- what the front calls

  wake(): void {
    if (this.isWaking || this.front.isOver) return
    if (this.resting.size > 0) {
      this.isWaking = true
      this.resting.handOver(undefined)
    } else if (this.workers.size < this.front.setup.threads && this.host.fiber.phase === 'live') {
      this.isWaking = true
      this.hire()
    }
  }

  private hire(): void {
    const { fiber } = this.host
    const worker = new Worker(this, fiber)
    this.workers.add(worker)
    worker.fiber = fiber.spin(`${this.front.label}[${this.hired++}]`, work, worker)
    listen(worker.fiber, worker)
  }

  stop(batch: Batch<any>, reason: unknown): void {
    ;(batch.carrier as Worker | null)?.fiber.stop(undefined, { reason })
  }

  close(): void {
    this.host.close()
  }

  kill(): void {
    this.host.fiber.kill()
  }

  /** A worker is dead: another may take its place. */
  lost(worker: Worker): void {
    this.workers.delete(worker)
    this.isWaking = false
    this.front.freed()
  }

  // ---- who is inside

  private workerOf(fiber: Fiber): Worker | undefined {
    for (let f: Fiber | null = fiber; f !== null; f = f.parent) {
      if (f.body === work && (f.args[0] as Worker).crew === this) return f.args[0] as Worker
    }
    return undefined
  }
  isInside(fiber: Fiber): boolean {
    return this.workerOf(fiber) !== undefined
  }
  isHandling(fiber: Fiber, lane: Lane): boolean {
    const worker = this.workerOf(fiber)
    const batch = worker?.fiber === fiber ? worker.batch : null
    return batch?.isKeyed === true && batch.lane === lane
  }
  isStuck(fiber: Fiber): boolean {
    const worker = this.workerOf(fiber)
    if (worker === undefined) return false
    const { threads } = this.front.setup
    if (threads === 1) return true
    if (worker.fiber !== fiber || this.workers.size < threads) return false
    for (const other of this.workers) {
      if (other !== worker && !this.front.isAwaitedBy(other.fiber)) return false
    }
    return true
  }
}

/** The body of a worker. */
function* work(worker: Worker): Routine<void> {
  const { crew } = worker
  const { front, handler } = crew
  const fiber = Fiber.current
  worker.drop(`${fiber.path} was restarted while it handled this item`)
  for (;;) {
    crew.isWaking = false
    const batch = front.take()
    if (batch === undefined) {
      yield* crew.rest
      continue
    }
    worker.batch = batch
    batch.carrier = worker
    if (front.setup.threads > 1 && front.hasWork) crew.wake()
    try {
      let value = call(front, handler, batch)
      front.isSampling = typeof value !== 'object' || value === null
      if (!front.isSampling) value = yield* outcomeOf(value as object, handler)
      worker.batch = null
      batch.succeed(value)
      value = undefined // a worker that rests keeps nothing
    } catch (error) {
      front.isCalling = false
      if (isStop(error)) throw error
      worker.batch = null
      tagError(error, fiber) // it knows now where it came from
      batch.fail(error)
    }
    if (hasTraces(fiber)) return
    yield* BETWEEN
  }
}

function call(front: Front, handler: AnyHandler, batch: Batch<any>): unknown {
  front.isCalling = true
  const returned = handler(batch.argument, batch)
  front.isCalling = false
  return returned
}

/** Runs what a handler has returned: an op, a promise, or the result itself. */
function* outcomeOf(returned: object, handler: AnyHandler): Routine<unknown> {
  const isOp = typeof (returned as Iterator<unknown>).throw === 'function'
  if (!isOp && typeof (returned as PromiseLike<unknown>).then === 'function') {
    return yield* new PromiseOp(returned as PromiseLike<unknown>)
  }
  return yield* runReturned(returned, handler)
}
