// Runtime: the run queue and the timers of one thread, and the turns that drain them.
//
// A turn runs until the queue is empty, or 1,024 steps or 10 ms have been spent since the event loop last had its
// turn; then the event loop gets one (S49). A reading of the clock costs as much as a switch, so the clock is read at a
// stride that adapts itself. Steps in the callbacks of promises are not measured, but few of them follow each other:
// they count as much as the last ones measured.

import type { Backend, Report } from './backend.js'
import { Current, changeCurrent, current } from './current.js'
import { debugging } from './debug.js'
import { show } from './errors.js'
import type { Fiber } from './fiber.js'
import type { BaseOp } from './op.js'
import { answer, DONE } from './op.js'
import { BUDGET, type ERROR, RUNNABLE, type VALUE, WAITING } from './state.js'
import { step } from './step.js'
import { emit, tappedSwitches } from './tap.js'
import { type TimerNode, Timers } from './timers.js'

const BATCH_STEPS = 1024
const BATCH_MS = 10
const MAX_STRIDE = 64
const SLOW_STRETCH_MS = 0.5
/** From this step of a turn on, the queue and `current` are replaced by young objects: see RunQueue. */
const RENEWAL = 8
/**
 * 0, but not a small integer: a field that begins as one and takes fractions later gives its object a new hidden class, and
 * V8 throws away the code that has been optimized for the old one. (Bench row: until, short runs.)
 */
const A_DOUBLE = -0
/** In debug mode, how long a fiber may run without a switchpoint. */
const SLOW_STEP_MS = 100

/** What `runtimeStats()` returns: current numbers, and totals so far. */
export interface RuntimeStats {
  /** Living fibers, without raw ones. */
  readonly fibers: number
  /** Runnable fibers. */
  readonly runQueue: number
  /** Timers that are set: sleeps, time limits, deadlines. */
  readonly timers: number
  /** Ops that hold the process: they wait for the outside (S64). */
  readonly pendingOps: number
  /** How often a fiber was resumed. */
  readonly switches: number
  /** How many batches have run (S49). */
  readonly turns: number
  /** Messages to dead fibers (S39). */
  readonly deadLetters: number
  /** How often a mailbox has grown past 1,000 messages (S38). */
  readonly crowdedMailboxes: number
  /** Idle ops refused while unwinding (S17). */
  readonly refused: number
  /** Fibers and blocks that were forced to end (S19). */
  readonly forced: number
  /** Fibers that were abandoned (S19). */
  readonly abandoned: number
  /** Reports made to the backend. */
  readonly reports: number
}

/** Chooses a runnable fiber; the queue is not empty. */
export type Policy = (queue: RunQueue) => Fiber

/** Called at each switchpoint by the testing room; may throw. */
export type Probe = (fiber: Fiber, op: { readonly idle: boolean; describe(): string }) => void

/** Measures the steps of fibers: for tools. Its methods are called in the scheduler, and must neither throw nor wait. */
export interface Meter {
  /** A turn begins: time since the last step was spent outside. */
  turn(): void
  /** A fiber is about to be resumed. */
  begin(fiber: Fiber): void
  /** It waits again, or has ended. */
  end(fiber: Fiber): void
}

/** Every runtime of this thread, for the leak sentinel. */
export const runtimes = new Set<Runtime>()

/**
 * The run queue: the runnable fibers in order, linked through the fibers themselves.
 *
 *   head -> A -> B -> C <- tail        linked through `behind`; a fiber is in it at most once
 *
 * It is replaced now and then, on purpose. A new fiber is in V8's young generation; writing it into an old object costs more
 * than the rest of a switch, writing it into a young one costs nothing. (Bench rows: switch, message.)
 */
export class RunQueue {
  private head: Fiber | null = null
  private tail: Fiber | null = null

  get isEmpty(): boolean {
    return this.head === null
  }

  /** Counted when it is asked for: a count kept at each switch would cost more than all that ask for it. */
  get size(): number {
    return this.count(Infinity)
  }

  /** How many there are, but not more than `most`. */
  count(most: number): number {
    let size = 0
    for (let fiber = this.head; fiber !== null && size < most; fiber = fiber.behind) size++
    return size
  }

  /** Returns the same queue as a young object; this one must not be used afterwards. */
  renew(): RunQueue {
    const young = new RunQueue()
    young.head = this.head
    young.tail = this.tail
    return young
  }

  push(fiber: Fiber): void {
    if (this.tail === null) this.head = fiber
    else this.tail.behind = fiber
    this.tail = fiber
  }

  unshift(fiber: Fiber): void {
    fiber.behind = this.head
    this.head = fiber
    if (this.tail === null) this.tail = fiber
  }

  /** Removes and returns the first fiber; only when there is one. */
  shift(): Fiber {
    const fiber = this.head as Fiber
    this.head = fiber.behind
    fiber.behind = null
    if (this.head === null) this.tail = null
    return fiber
  }

  /** Removes and returns the fiber at `index`, which must be there. For schedules that tests choose. */
  take(index: number): Fiber {
    if (index === 0) return this.shift()
    let before = this.head as Fiber
    for (let i = 1; i < index; i++) before = before.behind as Fiber
    return this.removeAfter(before)
  }

  /** Removes a fiber, wherever it is. */
  delete(fiber: Fiber): void {
    if (this.head === fiber) {
      this.shift()
      return
    }
    for (let before = this.head; before !== null; before = before.behind) {
      if (before.behind !== fiber) continue
      this.removeAfter(before)
      return
    }
  }

  private removeAfter(before: Fiber): Fiber {
    const fiber = before.behind as Fiber
    before.behind = fiber.behind
    fiber.behind = null
    if (before.behind === null) this.tail = before
    return fiber
  }
}

/**
 * The runtime of the fibers of one thread, for ops as `fiber.runtime`. Times are milliseconds on its own clock, `now()`,
 * which is virtual in tests.
 *
 * ```ts
 * class Deadline extends BaseOp<string> implements TimerNode {
 *   time = 0
 *   seq = 0
 *   index = -1
 *   private fiber: Fiber | null = null
 *   enter(fiber: Fiber) {
 *     this.fiber = fiber
 *     fiber.runtime.addTimer(this, fiber.runtime.now() + 50)
 *   }
 *   abort(fiber: Fiber) {
 *     fiber.runtime.removeTimer(this)
 *   }
 *   fire() {
 *     settle(this.fiber as Fiber, this, 'time is up')
 *   }
 *   describe() {
 *     return 'a deadline'
 *   }
 * }
 * console.log(yield* new Deadline()) // time is up
 * ```
 */
export class Runtime {
  /** @internal */ readonly backend: Backend
  /** @internal */ queue = new RunQueue()
  /** @internal */ readonly timers = new Timers()
  /** @internal Timers that no fiber waits for: they do not keep the program alive. */
  readonly weakTimers = new Timers()
  /** @internal The roots of the trees. */
  readonly roots = new Set<Fiber>()
  /** @internal */ main: Fiber | null = null
  /** @internal */ alive = 0
  /** @internal */
  readonly counts = { deadLetters: 0, crowdedMailboxes: 0, refused: 0, forced: 0, abandoned: 0, reports: 0 }
  /** @internal Takes the fiber that goes next out of the queue; null: the first. For tests. */
  policy: Policy | null = null
  /** @internal */ probe: Probe | null = null
  /**
   * How many ops wait for something unknown to the runtime, such as a promise: while there are any, a program in which no
   * fiber can run is not deadlocked. An op adds 1 in `enter`, and subtracts it when the wait is over. `OutsideOp` does that.
   */
  external = 0
  /** @internal Whether each wait records when it began, also without a meter: set where reading the clock costs nothing. */
  isTimed = false
  /** @internal Called when a root that is not raw is dead. */
  onRootEnd: ((fiber: Fiber) => void) | null = null

  /** Called once when this turn is over. */
  private atEnd: (() => void) | null = null
  private held = 0
  private turns = 0
  /** @internal How often a fiber was resumed: a fiber that finds it unchanged has not waited meanwhile. */
  switches = 0
  /** @internal The switch in which a fiber last got a fresh budget because a signal was delivered. */
  restoredAt = -1
  /** A turn runs, or one has been asked for. */
  private awake = false
  private turning = false
  // The batch since the event loop last had its turn: in switches, and the milliseconds spent in turns, as far as `counted`.
  private batchEnd = BATCH_STEPS
  private spent = A_DOUBLE
  private counted = 0
  // The steps of this turn that are measured: at which switch the clock is read next, how many there are between two
  // readings, and since when and since which switch they are measured.
  private nextCheck = 0
  private stride = 1
  private measuredSince = A_DOUBLE
  private measuredFrom = 0
  /** Steps in callbacks of promises: how many may follow each other without one that is measured, and up to which switch. */
  private trust = 1
  private trustEnd = 0
  /** The changes of timers that the backend has been told of. */
  private toldChanges = 0

  /** @internal */
  constructor(connect: (runtime: Runtime) => Backend) {
    this.backend = connect(this)
    runtimes.add(this)
  }

  /** @internal The runtime is no longer used. */
  close(): void {
    runtimes.delete(this)
  }

  /** @internal With a probe every op goes through the gate, so that every switchpoint is seen. */
  get freshBudget(): number {
    return this.probe === null ? BUDGET : 0
  }

  /** Milliseconds on a monotonic clock. */
  now(): number {
    return this.backend.now()
  }

  /** @internal Makes a fiber runnable. A fiber is in the queue at most once, because only a fiber that is not gets here. */
  push(fiber: Fiber<any, any>, first = false): void {
    fiber._state = RUNNABLE
    if (first) this.queue.unshift(fiber)
    else this.queue.push(fiber)
    if (tappedSwitches) emit('schedule', fiber, fiber.value)
    if (!this.awake) this.rouse()
  }

  private rouse(): void {
    this.awake = true
    if (this.switches >= this.batchEnd) this.backend.yieldTurn()
    else this.backend.wake()
  }

  /**
   * @internal A promise answers the op of a waiting fiber, in a callback whose async context is that of the fiber. If nothing goes on,
   * the fiber takes its step in this very callback, as an async function would. What it leaves to be done comes in a turn,
   * which the fibers of other promises that end in this tick join: what all of them write goes out together.
   */
  arrive(fiber: Fiber, op: BaseOp<any>, how: typeof VALUE | typeof ERROR, value: unknown): void {
    const isFree =
      !this.awake && this.backend.isDirect === true && this.switches < this.trustEnd && current.fiber === null
    if (!isFree || debugging || tappedSwitches || this._meter !== null || this.isTimed) {
      answer(fiber, op, how, value)
      return
    }
    this.awake = true
    this.turning = true
    this.turns++
    fiber.how = how
    fiber.value = value
    try {
      if (fiber.rare === null) step(fiber)
      else stepInContext(fiber)
    } finally {
      this.switches++
      this.turning = false
      current.fiber = null
      DONE.value = undefined
      if (!this.queue.isEmpty || this.atEnd !== null) this.backend.wake()
      else this.rest(false)
    }
  }

  /** @internal Runs fibers until the queue is empty or the batch is spent. Called by the backend. */
  turn(now = this.backend.now()): void {
    const outer = current
    const pending = outer.fiber === null ? undefined : DONE.value // of a fiber that runs another world
    if (outer.fiber !== null) changeCurrent(new Current())
    this.awake = true
    this.turning = true
    this.turns++
    if (this._meter !== null) this._meter.turn()
    const isWatched = debugging || this._meter !== null || this.policy !== null || this.isTimed
    let queue = this.queue
    this.stride = 1
    this.measure(now)
    try {
      while (!queue.isEmpty) {
        if (isWatched) this.watchedStep(queue)
        else {
          const fiber = queue.shift()
          if (fiber.rare === null) step(fiber)
          else stepInContext(fiber)
        }
        if (++this.switches < this.nextCheck) continue
        if (this.isSpent()) break
        if (this.stride === RENEWAL) queue = this.renew()
      }
    } finally {
      current.fiber = null
      if (current !== outer) changeCurrent(outer)
      DONE.value = pending
      this.turning = false
      this.rest(!queue.isEmpty)
      if (this.atEnd !== null) this.endTurn(this.atEnd)
    }
  }

  private renew(): RunQueue {
    current.fiber = null // nothing may find a fiber in the old one when it is put back
    changeCurrent(new Current())
    return (this.queue = this.queue.renew())
  }

  /**
   * Calls back once at the end of the present turn, so that what its fibers have written is sent together. False, without a
   * call, if no turn is running, or if another callback is set already.
   */
  afterTurn(callback: () => void): boolean {
    if (!this.turning || (this.atEnd !== null && this.atEnd !== callback)) return false
    this.atEnd = callback
    return true
  }

  private endTurn(callback: () => void): void {
    this.atEnd = null
    callback()
  }

  /** @internal The meter that measures the steps of fibers, or null. */
  get meter(): Meter | null {
    return this._meter
  }
  /** @internal */
  set meter(meter: Meter | null) {
    this._meter = meter
  }
  private _meter: Meter | null = null

  /** A step that a test has chosen, or that is measured; in debug mode, names a fiber that holds the event loop. */
  private watchedStep(queue: RunQueue): void {
    const fiber = this.policy === null ? queue.shift() : this.policy(queue)
    const begin = debugging ? this.backend.now() : 0
    this._meter?.begin(fiber)
    stepInContext(fiber)
    this._meter?.end(fiber)
    if (fiber._state === WAITING) fiber.since = this.backend.now()
    const ms = debugging ? this.backend.now() - begin : 0
    if (ms > SLOW_STEP_MS) {
      this.report({ kind: 'slow', message: `${fiber.path} held the event loop for ${Math.round(ms)} ms` })
    }
  }

  /** @internal The event loop has had its turn: a new batch, which begins with timers that are due. Called by the backend. */
  batch(): void {
    const now = this.backend.now()
    this.batchEnd = this.switches + BATCH_STEPS
    this.spent = 0
    this.counted = this.switches
    this.trust = 1
    this.toldChanges = -1 // the alarm may have fired, perhaps too early: the backend needs the next time again
    this.awake = true // the turn below runs every fiber that a timer wakes: no wake-up is needed
    try {
      this.timers.fire(now, BATCH_STEPS)
      this.weakTimers.fire(now, BATCH_STEPS)
    } finally {
      this.turn(now) // even if a timer threw
    }
  }

  /** The next steps are measured. */
  private measure(now: number): void {
    this.measuredSince = now
    this.measuredFrom = this.switches
    this.nextCheck = Math.min(this.switches + this.stride, this.batchEnd)
  }

  private isSpent(): boolean {
    const now = this.backend.now()
    const stretch = now - this.measuredSince
    this.spent += (stretch / (this.switches - this.measuredFrom)) * (this.switches - this.counted)
    this.counted = this.switches
    if (this.spent >= BATCH_MS) this.batchEnd = this.switches
    const isSlow = stretch > SLOW_STRETCH_MS
    this.trust = isSlow ? 1 : Math.min(this.trust * 2, MAX_STRIDE)
    this.trustEnd = Math.min(this.switches + this.trust, this.batchEnd)
    this.stride = isSlow ? 1 : Math.min(this.stride * 2, MAX_STRIDE)
    this.measure(now)
    return this.switches >= this.batchEnd
  }

  /** Calls `node.fire()` at a time of `now()`. Equal times fire in the order in which they were set (S68). A timer keeps the program alive. */
  addTimer(node: TimerNode, time: number): void {
    this.timers.add(node, time)
    if (!this.turning) this.tellTimers()
  }

  /** Removes a timer, if it is set. */
  removeTimer(node: TimerNode): void {
    this.timers.remove(node)
    if (!this.turning) this.tellTimers()
  }

  /** @internal A timer that does not keep the program alive: the end of an idle resource. `weakTimers.remove` takes it out. */
  addWeakTimer(node: TimerNode, time: number): void {
    this.weakTimers.add(node, time)
    if (!this.turning) this.tellTimers()
  }

  /** @internal When a timer of either kind is due. */
  get nextTimer(): number {
    return Math.min(this.timers.next, this.weakTimers.next)
  }

  /** A turn is over. The event loop is asked for another one if there is more to do, or if a new timer is due already. */
  private rest(hasMore: boolean): void {
    this.awake = hasMore
    const isTold = this.timers.changes + this.weakTimers.changes === this.toldChanges
    const next = isTold ? Infinity : this.nextTimer
    if (next < Infinity && next <= this.backend.now()) this.awake = true
    if (this.awake) this.backend.yieldTurn()
    if (!isTold) this.tellTimers(next)
  }

  private tellTimers(next = this.nextTimer): void {
    this.toldChanges = this.timers.changes + this.weakTimers.changes
    this.backend.rest(next, this.timers.size > 0)
  }

  /** An op waits for the outside: until `release()` the process does not end for lack of work (S64). Calls are counted. */
  hold(): void {
    if (this.held++ === 0) this.backend.hold(true)
  }

  /** Undoes one `hold()`. */
  release(): void {
    if (--this.held === 0) this.backend.hold(false)
  }

  /** Reports something that must not go unnoticed: `main` prints it, tests collect it. */
  report(report: Report): void {
    this.counts.reports++
    this.backend.report(report)
  }

  /** Reports an exception of a callback, which must not be thrown in the running fiber (S70). `what` says what failed. */
  uncaught(error: unknown, what: string): void {
    this.report({ kind: 'uncaught', message: `${what}: ${show(error)}`, error })
  }

  /** @internal */
  stats(): RuntimeStats {
    return {
      fibers: this.alive,
      runQueue: this.queue.size,
      timers: this.timers.size,
      pendingOps: this.held,
      switches: this.switches,
      turns: this.turns,
      ...this.counts,
    }
  }
}

/** A step in the async context of the fiber, if it has one (S56). */
function stepInContext(fiber: Fiber): void {
  const context = fiber.rare === null ? null : fiber.rare.context
  if (context === null) step(fiber)
  else context(step, fiber)
}
