// One thread's world of fibers: the run queue, the timers, and the turns that drain them.
//
// A turn runs until the queue is empty, or 1,024 steps or 10 ms have been spent since the event loop last had its
// turn; then the event loop gets one (S49). The clock is read at a stride that adapts itself: reading it at each
// step costs more than a switch, a fixed stride of 64 lets slow steps delay timers.

import type { Backend, Report } from './backend.js'
import { debugging } from './debug.js'
import { show } from './errors.js'
import type { Fiber } from './fiber.js'
import type { BaseOp } from './op.js'
import { DONE } from './op.js'
import { BUDGET, RUNNABLE } from './phase.js'
import { Baton, changeBaton, RunQueue } from './runqueue.js'
import { step } from './step.js'
import { emit, tapped } from './tap.js'
import { type TimerNode, Timers } from './timers.js'

const BATCH_STEPS = 1024
const BATCH_MS = 10
const MAX_STRIDE = 64
const SLOW_STRETCH_MS = 0.5
/** In debug mode, how long a fiber may run without a switchpoint. */
const SLOW_STEP_MS = 100

/** What has happened so far, and what is there now. */
export interface RuntimeStats {
  /** Fibers that are not dead, raw ones aside. */
  readonly fibers: number
  /** Fibers that are runnable and wait for their turn. */
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
export type Probe = (fiber: Fiber, op: Pick<BaseOp<unknown>, 'idle' | 'describe'>) => void

/** Every runtime of this thread, for the leak sentinel. */
export const runtimes = new Set<Runtime>()

export class Runtime {
  readonly backend: Backend
  queue = new RunQueue()
  readonly timers = new Timers()
  /** Timers that nobody waits for: they fire if there still is a program then, and do not keep it alive. */
  readonly weakTimers = new Timers()
  /** The fibers at the top of their trees. */
  readonly roots = new Set<Fiber>()
  main: Fiber | null = null
  alive = 0
  readonly counts = { deadLetters: 0, crowdedMailboxes: 0, refused: 0, forced: 0, abandoned: 0, reports: 0 }
  /** Takes the fiber that goes next out of the queue; null: the first. For tests. */
  policy: Policy | null = null
  probe: Probe | null = null
  /** Ops that wait for something the backend does not know of, such as a promise. */
  external = 0
  /** Called when a root that is not raw is dead. */
  onRootEnd: ((fiber: Fiber) => void) | null = null

  /** What to do when this turn is over, once. */
  private atEnd: (() => void) | null = null
  private held = 0
  private turns = 0
  private switches = 0
  /** A turn runs, or one has been asked for. */
  private awake = false
  private turning = false
  // The batch since the event loop last had its turn, counted in switches and in time spent in turns:
  private batchEnd = BATCH_STEPS
  private nextCheck = 1
  private stride = 1
  private batchStart = 0
  private lastCheck = 0
  private lastEnd = 0

  constructor(connect: (runtime: Runtime) => Backend) {
    this.backend = connect(this)
    runtimes.add(this)
  }

  /** The runtime is no longer used. */
  close(): void {
    runtimes.delete(this)
  }

  /** With a probe every op goes through the gate, so that every switchpoint is seen. */
  get freshBudget(): number {
    return this.probe === null ? BUDGET : 0
  }

  now(): number {
    return this.backend.now()
  }

  /** Makes a fiber runnable. A fiber is in the queue at most once, because only a fiber that is not gets here. */
  push(fiber: Fiber<any, any>, first = false): void {
    fiber._state = RUNNABLE
    if (first) this.queue.unshift(fiber)
    else this.queue.push(fiber)
    if (tapped) emit('schedule', fiber, fiber.value)
    if (!this.awake) this.rouse()
  }

  private rouse(): void {
    this.awake = true
    if (this.switches >= this.batchEnd) this.backend.yieldTurn()
    else this.backend.wake()
  }

  /** Runs fibers until the queue is empty or the batch is spent. Called by the backend. */
  turn(): void {
    const outer = changeBaton(new Baton())
    const answer = outer.fiber === null ? undefined : DONE.value // of a fiber that runs another world
    this.awake = true
    this.turning = true
    this.turns++
    const queue = (this.queue = this.queue.renew())
    this.lastCheck = this.backend.now()
    this.batchStart += this.lastCheck - this.lastEnd // time between turns is not ours
    try {
      while (queue.size > 0) {
        const fiber = this.policy === null ? queue.shift() : this.policy(queue)
        if (debugging) this.watchedStep(fiber)
        else if (fiber.cold === null) step(fiber)
        else stepInContext(fiber)
        if (++this.switches >= this.nextCheck && this.isSpent()) break
      }
    } finally {
      changeBaton(outer)
      DONE.value = answer
      this.turning = false
      this.lastEnd = this.backend.now()
      this.awake = queue.size > 0 || this.nextTimer <= this.lastEnd
      if (this.awake) this.backend.yieldTurn()
      this.rest()
      if (this.atEnd !== null) this.endTurn(this.atEnd)
    }
  }

  /** Calls this once when the turn that goes on is over: what was written in it goes out together. False if none goes on. */
  afterTurn(callback: () => void): boolean {
    if (!this.turning || (this.atEnd !== null && this.atEnd !== callback)) return false
    this.atEnd = callback
    return true
  }

  private endTurn(callback: () => void): void {
    this.atEnd = null
    callback()
  }

  /** Debug mode: names a fiber that holds the event loop. */
  private watchedStep(fiber: Fiber): void {
    const begin = this.backend.now()
    stepInContext(fiber)
    const ms = this.backend.now() - begin
    if (ms > SLOW_STEP_MS) {
      this.report({ kind: 'slow', message: `${fiber.path} held the event loop for ${Math.round(ms)} ms` })
    }
  }

  /** The event loop has had its turn: a new batch, which begins with timers that are due. Called by the backend. */
  batch(): void {
    this.batchEnd = this.switches + BATCH_STEPS
    this.nextCheck = this.switches + 1
    this.stride = 1
    this.batchStart = this.lastEnd = this.backend.now()
    this.awake = true // the turn below runs every fiber that a timer wakes: no wake-up is needed
    try {
      this.timers.fire(this.batchStart, BATCH_STEPS)
      this.weakTimers.fire(this.batchStart, BATCH_STEPS)
    } finally {
      this.turn() // whatever happens, the clock goes on
    }
  }

  private isSpent(): boolean {
    if (this.switches >= this.batchEnd) return true
    const now = this.backend.now()
    if (now - this.batchStart >= BATCH_MS) {
      this.batchEnd = this.switches
      return true
    }
    this.stride = now - this.lastCheck > SLOW_STRETCH_MS ? 1 : Math.min(this.stride * 2, MAX_STRIDE)
    this.lastCheck = now
    this.nextCheck = Math.min(this.switches + this.stride, this.batchEnd)
    return false
  }

  addTimer(node: TimerNode, time: number): void {
    this.timers.add(node, time)
    if (!this.turning) this.rest()
  }

  removeTimer(node: TimerNode): void {
    this.timers.remove(node)
    if (!this.turning) this.rest()
  }

  /** A timer that does not keep the program alive: the end of an idle resource. `weakTimers.remove` takes it out. */
  addWeakTimer(node: TimerNode, time: number): void {
    this.weakTimers.add(node, time)
    if (!this.turning) this.rest()
  }

  /** When a timer of either kind is due. */
  get nextTimer(): number {
    return Math.min(this.timers.next, this.weakTimers.next)
  }

  private rest(): void {
    this.backend.rest(this.nextTimer, this.timers.size > 0)
  }

  /** An op waits for the outside: the process must not end, and this is no deadlock (S64). */
  hold(): void {
    if (this.held++ === 0) this.backend.hold(true)
  }

  release(): void {
    if (--this.held === 0) this.backend.hold(false)
  }

  report(report: Report): void {
    this.counts.reports++
    this.backend.report(report)
  }

  /** S70: an exception of somebody's callback, which must not land in the fiber that happened to run. */
  uncaught(error: unknown, what: string): void {
    this.report({ kind: 'uncaught', message: `${what}: ${show(error)}`, error })
  }

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
  const context = fiber.cold === null ? null : fiber.cold.context
  if (context === null) step(fiber)
  else context(step, fiber)
}
