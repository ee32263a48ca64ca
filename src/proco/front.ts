// The front of an executor, from one start to its end: queues, batches, futures, limits and counts. It knows nothing of
// how batches are carried out; that is the transport's part (transport.ts).
//
//   submissions -> lanes -> take() -> transport -> batch.succeed / fail -> futures
//
//   OPEN -> DRAINING -> OVER        exit: nothing new comes in, and what is there is handled
//     +---------------->             kill: every future is settled at once

import { BadState, type Fiber, type Runtime } from '../core/index.js'
import type { Batch } from './batch.js'
import { Dual } from './dual.js'
import { Killed, NotRunning } from './errors.js'
import { CANCELLED, DONE, Eventual, FAILED } from './eventual.js'
import { Extras, Future, type Submitter } from './future.js'
import { Histogram } from './histogram.js'
import { laneOf } from './keys.js'
import { Lane } from './lane.js'
import { aborted, Limits, type SubmitOptions } from './limits.js'
import type { List } from './list.js'
import type { Log } from './log.js'
import type { Setup } from './options.js'
import type { Transport } from './transport.js'

export const OPEN = 0
export const DRAINING = 1
export const OVER = 2

/** What became of the items. */
class Counts {
  accepted = 0
  done = 0
  failed = 0
  cancelled = 0

  add(phase: number, n: number): void {
    if (phase === DONE) this.done += n
    else if (phase === FAILED) this.failed += n
    else this.cancelled += n
  }
}

export class Front {
  phase = OPEN
  readonly counts = new Counts()
  /** How long items waited in a queue, and handlers took, in microseconds; how large the batches were. */
  readonly waits = new Histogram()
  readonly runs = new Histogram()
  readonly sizes = new Histogram()
  /** A queue that has grown to this is not held back by the interval. */
  readonly flushAt: number
  private readonly lanes: Lane[] = []
  /** The batches that were taken and are not over. */
  private readonly running: Batch<any>[] = []
  /** The end of everything, for those who wait in exit(). */
  readonly ending = new Eventual<void>(undefined)
  /** The end of its fibers, for those who wait after kill(). */
  readonly gone = new Eventual<void>(undefined)
  /** Whose turn it is to get an item without a key, and to be taken from. */
  private nextIn = 0
  private nextOut = 0
  /** How many batches in a row are not timed, and how many were not since the last one that was. */
  private stride = 0
  /** Whether not to time some is as well: the handler was a plain function the last time, and returned at once. */
  isSampling = false
  private unmeasured = 0
  /** A handler is being called: all of a plain one, and of an async one everything before its first await. */
  isCalling = false
  /** The transport has been woken, and has not looked yet. */
  isAsking = false
  private transport!: Transport
  /** Called when all is over. */
  whenClosed: (() => void) | null = null

  constructor(
    readonly setup: Setup,
    readonly runtime: Runtime,
    readonly log: Log,
  ) {
    const { batch, batchSize, queueSize, queues } = setup
    this.flushAt = batch && batchSize < Infinity ? Math.min(batchSize, queueSize) : Infinity
    for (let n = 0; n < queues; n++) this.lanes.push(new Lane(this))
  }

  get label(): string {
    return this.setup.name
  }

  connect(transport: Transport): void {
    this.transport = transport
  }

  // ---- items come in

  /** A new item; `future.phase` tells whether it has been accepted. Throws if the executor is not running. */
  submit(item: unknown, options: SubmitOptions | undefined, submitter: Submitter | null = null): Future<any> {
    if (this.phase !== OPEN) throw this.notRunning()
    const lane = this.lanes.length === 1 ? (this.lanes[0] as Lane) : this.laneFor(options, true)
    const future = new Future<any>(item, lane)
    if (options !== undefined) this.limit(future, options)
    if (!lane.admit(future) && submitter !== null) extrasOf(future).submitter = submitter
    return future
  }

  private limit(future: Future<any>, options: SubmitOptions): void {
    const { key, signal, timeout } = options
    if (signal?.aborted) throw aborted(this.label, signal)
    if (key !== undefined) extrasOf(future).isKeyed = true
    if (signal !== undefined || timeout !== undefined) {
      extrasOf(future).limits = new Limits(future, this.runtime, options)
    }
  }

  /** Whether an item with these options would be accepted now. */
  hasRoom(options: SubmitOptions | undefined): boolean {
    if (this.phase !== OPEN) throw this.notRunning()
    const { lanes } = this
    const { queueSize } = this.setup
    const key = options?.key
    if (lanes.length === 1) return (lanes[0] as Lane).queue.size < queueSize
    if (key !== undefined) return (lanes[laneOf(key, lanes.length)] as Lane).queue.size < queueSize
    return lanes.some((lane) => lane.queue.size < queueSize)
  }

  /** Where an item with these options goes next; `isTaken`: it goes there now. */
  private laneFor(options: SubmitOptions | undefined, isTaken: boolean): Lane {
    const { lanes } = this
    const key = options?.key
    if (key !== undefined) return lanes[laneOf(key, lanes.length)] as Lane
    const at = this.nextLane()
    if (isTaken) this.nextIn = (at + 1) % lanes.length
    return lanes[at] as Lane
  }

  /** The queues take turns; one that is full is passed over, unless all are. */
  private nextLane(): number {
    const { lanes } = this
    const { queueSize } = this.setup
    for (let i = 0; i < lanes.length; i++) {
      const at = (this.nextIn + i) % lanes.length
      if ((lanes[at] as Lane).queue.size < queueSize) return at
    }
    return this.nextIn
  }

  notRunning(): NotRunning {
    const { label } = this
    return new NotRunning(
      this.phase === DRAINING
        ? `${label} takes no more items: it has been told to exit`
        : `${label} is not running: start it (again) first`,
    )
  }

  // ---- batches go out

  /** There is something to take. Said once, until something is taken. */
  wake(): void {
    if (this.isAsking) return
    this.isAsking = true
    this.transport.wake()
  }

  /** A place has come free by itself: the transport is woken again if there is something to take. */
  freed(): void {
    this.isAsking = false
    if (this.hasWork) this.wake()
  }

  /** Whether there is something to take. */
  get hasWork(): boolean {
    for (const lane of this.lanes) if (lane.isReady) return true
    return false
  }

  /** The next batch; undefined if there is none to be had now. */
  take(): Batch<any> | undefined {
    this.isAsking = false
    for (;;) {
      const batch = this.next()
      if (batch === undefined || batch.open > 0) return batch
      this.over(batch) // the logger did not want it, or has killed everything
    }
  }

  private next(): Batch<any> | undefined {
    const { lanes } = this
    for (let i = 0; i < lanes.length; i++) {
      const at = (this.nextOut + i) % lanes.length
      const lane = lanes[at] as Lane
      if (!lane.isReady) continue
      this.nextOut = (at + 1) % lanes.length
      const batch = lane.take()
      if (this.unmeasured < this.stride) this.unmeasured++
      else batch.since = this.runtime.now()
      batch.index = this.running.push(batch) - 1
      this.sizes.record(batch.size)
      this.log.dispatched(batch.size, at)
      return batch
    }
    return undefined
  }

  /** A batch is over: its place is free. */
  over(batch: Batch<any>): void {
    if (batch.index < 0) return
    const { running } = this
    const last = running.pop() as Batch<any>
    if (last !== batch) {
      running[batch.index] = last
      last.index = batch.index
    }
    batch.index = -1
    if (batch.since >= 0) this.measure(this.runtime.now() - batch.since)
    if (batch.isKeyed) {
      batch.lane.isBusy = false
      if (batch.lane.isReady) this.wake()
    }
    if (this.phase === DRAINING) this.look()
  }

  /** Of plain handlers that take hardly more time than a look at the clock, one in sixteen is timed, and counts for all. */
  private measure(ms: number): void {
    this.runs.record(ms * 1000, this.unmeasured + 1)
    this.unmeasured = 0
    this.stride = this.isSampling && ms < 0.01 ? 15 : 0
  }

  /** Nobody waits for any item of this batch: its handler is stopped (S82). */
  giveUp(batch: Batch<any>, reason: unknown): void {
    batch.abort(reason)
    if (batch.carrier !== null) this.transport.stop(batch, reason)
  }

  // ---- the end

  /** Nothing new comes in; what is there is handled, a batch without waiting for its interval. */
  exit(): void {
    if (this.phase !== OPEN) return
    this.phase = DRAINING
    this.log.exiting(this)
    for (const { line } of this.lanes) empty(line, FAILED, () => this.notRunning())
    if (this.isHurried) for (const lane of this.lanes) lane.hurry()
    this.look()
  }

  /** Batches are not held back any more. (One item after the other still keeps its pace.) */
  get isHurried(): boolean {
    return this.phase === DRAINING && this.setup.batch
  }

  /** While draining: is that all? */
  look(): void {
    if (this.phase !== DRAINING || this.depth > 0 || this.running.length > 0) return
    this.phase = OVER
    this.transport.close()
  }

  /** Every future is settled, at once. True if it was not over already. */
  end(): boolean {
    if (this.phase === OVER) return false
    this.phase = OVER
    const { running, label } = this
    const killed = (what: string) => new Killed(`${label} was killed while this item was ${what}`)
    for (const lane of this.lanes) {
      empty(lane.line, FAILED, () => killed('waiting for room'))
      this.counts.cancelled += lane.queue.size
      empty(lane.queue, CANCELLED, () => killed('in its queue'))
      lane.clear()
    }
    const batches = [...running]
    for (const batch of batches) batch.settleAll(CANCELLED, killed('being handled'))
    const reason = killed('being handled')
    for (const batch of batches) batch.abort(reason) // last: those who listen find everything settled
    this.log.ended('killed', this)
    this.ending.settle(FAILED, new Killed(`${label} was killed before it had handled everything`))
    return true
  }

  kill(): boolean {
    if (!this.end()) return false
    this.transport.kill()
    return true
  }

  /** The transport has let go of everything. */
  closed(): void {
    for (const batch of [...this.running]) this.transport.stop(batch, 'the end') // promises that may never settle
    if (this.ending.phase < DONE) {
      this.log.ended('exited', this)
      this.ending.settle(DONE, undefined)
    }
    this.gone.settle(DONE, undefined)
    this.whenClosed?.()
    this.whenClosed = null // who keeps a future need not keep the fiber that started all
  }

  get depth(): number {
    let depth = 0
    for (const { queue } of this.lanes) depth += queue.size
    return depth
  }

  get waiting(): number {
    let waiting = 0
    for (const { line } of this.lanes) waiting += line.size
    return waiting
  }

  get runningBatches(): number {
    return this.running.length
  }

  get isOver(): boolean {
    return this.phase === OVER
  }

  // ---- not waiting for oneself

  /** Whether this fiber is part of the work. */
  isInside(fiber: Fiber): boolean {
    return this.transport.isInside(fiber)
  }

  /** Whether this fiber waits for one of the items, or for room. */
  isAwaitedBy(fiber: Fiber): boolean {
    return fiber.op instanceof Dual && fiber.op.front === this
  }

  /** S85: a handler that waits for its own place, or in the queue that waits for it, waits for ever. */
  refusalFor(fiber: Fiber, what: string, lane: Lane | null): BadState | null {
    if (this.transport.isStuck(fiber)) return this.refusal(what, fiber.path)
    if (lane === null || !lane.isBusy || !this.transport.isHandling(fiber, lane)) return null
    return new BadState(
      `${fiber.path} is a handler of ${this.label} and cannot ${what}: it has an item with a key, so everything else in ` +
        'that queue waits for its end. Use submitAsync(), which does not wait for the result, or another queue.',
    )
  }

  refuseInside(fiber: Fiber, what: string, lane: Lane | null): void {
    const refusal = this.refusalFor(fiber, what, lane)
    if (refusal !== null) throw refusal
  }

  /** The same for a submission that is about to begin. */
  refuseSubmit(fiber: Fiber, options: SubmitOptions | undefined): void {
    if (!this.isInside(fiber)) return
    this.refuseInside(fiber, 'wait for the result of another item', this.laneFor(options, false))
  }

  /** Whether there is only one handler at a time. */
  get isSole(): boolean {
    return this.setup.threads === 1
  }

  refusal(what: string, who = 'this'): BadState {
    return new BadState(
      `${who} is a handler of ${this.label} and cannot ${what}: all its handlers would wait for each other. ` +
        'Use submitAsync(), which does not wait for the result, or more threads.',
    )
  }
}

function extrasOf(future: Future<any>): Extras {
  future.extras ??= new Extras()
  return future.extras
}

function empty(list: List, phase: number, error: () => unknown): void {
  while (list.size > 0) list.shift().settle(phase, error())
}
