// The throttler: lets fibers through at a given rate, on a grid that does not drift.
//
//   slots  |----|----|----|----|      one for each fiber, `interval` apart
//               ^ cursor: the next free slot
//
// A fiber takes the slot at the cursor and waits until it is due. Slots that pass while no fiber waits are lost, except
// for the last `burst - 1`. Slots that pass because the platform's timer was late are not lost: the grid stays where it
// is, and waiting fibers catch up. The times of the last second are kept, so that catching up never exceeds the rate.

import {
  BadArgument,
  BadState,
  BaseOp,
  type Checks,
  check,
  type Fiber,
  type Op,
  op,
  type Result,
  type Returned,
  type Routine,
  type Runtime,
  runBody,
  runningFiber,
  settle,
  show,
  type TimerNode,
  Waiters,
} from '../core/index.js'

/** How fast: either a rate or an interval. */
export interface Rate {
  /** Turns per second. */
  rate?: number
  /** Milliseconds between two turns. */
  interval?: number
  /** How many turns may be taken at once after a pause; default 1. */
  burst?: number
}

/** What `throttler.stats()` returns. */
export interface ThrottlerStats {
  /** Turns per second. */
  readonly rate: number
  /** How many turns may be taken at once after a pause. */
  readonly burst: number
  /** Fibers waiting in line. */
  readonly waiting: number
  /** Turns taken so far. */
  readonly passed: number
  /** The turns that were waited for: how many, and how long, in milliseconds. */
  readonly waits: { readonly count: number; readonly mean: number; readonly max: number }
}

export const RATE_OPTIONS: Checks<Rate> = { rate: checkRate, interval: check.ms, burst: check.limit }
/** How late a timer may be, in milliseconds, without a slot being lost. */
const LATENESS = 100
const SECOND = 1000

/** Takes checked options, with a rate or an interval; returns the interval in milliseconds. */
export function readInterval({ rate, interval }: Rate, where: string): number {
  if ((rate === undefined) === (interval === undefined)) {
    throw new BadArgument(`${where} needs either a rate (how many a second) or an interval (milliseconds)`)
  }
  return rate === undefined ? (interval as number) : SECOND / rate
}

function checkRate(rate: unknown, what: string): void {
  if (typeof rate !== 'number' || !(rate > 0))
    throw new BadArgument(`${what} needs a number above 0, got ${show(rate)}`)
  if (SECOND / rate === Infinity)
    throw new BadArgument(`${what} needs a larger number than ${rate}: its interval would be infinite`)
}

/** The times of the turns of the last second, so that no second has more than `most`. At high rates only every n-th is kept. */
class LastSecond {
  private readonly times: Float64Array
  /** How many turns there are for each time that is kept. */
  private readonly share: number
  private count = 0

  /** `span` is a second and a little more, since a fiber runs a little after its turn. */
  constructor(
    most: number,
    private readonly span: number,
  ) {
    this.share = Math.ceil(most / 8192)
    const kept = Math.floor(most / this.share)
    this.times = new Float64Array(this.share === 1 ? kept : kept - 1).fill(-Infinity)
  }

  /** When the next turn may be taken. */
  get next(): number {
    if (this.count % this.share !== 0) return -Infinity
    return (this.times[(this.count / this.share) % this.times.length] as number) + this.span
  }
  add(now: number): void {
    if (this.count % this.share === 0) this.times[(this.count / this.share) % this.times.length] = now
    this.count++
  }
}

/** Waits for a slot. It has no state per wait, so one object serves all fibers. */
class Passage extends BaseOp<void> {
  constructor(protected readonly throttler: Throttler) {
    super()
  }
  enter(fiber: Fiber): void {
    if (this.throttler.pass(fiber)) settle(fiber, this, undefined)
    else this.throttler.queueUp(fiber)
  }
  abort(fiber: Fiber): void {
    this.throttler.leaveLine(fiber)
  }
  describe(): string {
    return `a throttler, once in ${this.throttler.interval} ms`
  }
  override get kind(): string {
    return 'throttler'
  }
  override get resource(): object {
    return this.throttler
  }
}

/** Waits for a slot for the next round of a loop. That is new work, so refused in cleanup (S17). */
class Round extends Passage {
  override get idle(): boolean {
    return true
  }
  override describe(): string {
    return `the next round, once in ${this.throttler.interval} ms`
  }
}

/**
 * Lets fibers through at a rate, for example ten per second: the first at once, the next when its turn is due. Share it
 * between the fibers that together must not exceed the rate. They are served first come, first served (S52); a fiber
 * that is stopped while it waits leaves its turn to the next.
 *
 * With a `burst` of n, n fibers may pass at once after a pause. No second sees more than `rate + burst` turns.
 *
 * ```ts
 * const throttler = new Throttler(10)
 * function* send(address: string) {
 *   yield* throttler.process(() => console.log(`mail to ${address}`)) // mail to ann, mail to bob, mail to cho
 * }
 * for (const address of ['ann', 'bob', 'cho']) spin(send, address)
 * yield* Fiber.current.joinChildren() // 200 ms later
 * ```
 */
export class Throttler {
  /** Milliseconds between two turns. */
  readonly interval: number
  /** How many turns may be taken at once after a pause. */
  readonly burst: number
  /** A rate or a burst of `Infinity`: nothing ever waits. */
  private readonly isUnlimited: boolean
  /** How much earlier than the cursor a slot may be taken: the burst, in milliseconds. */
  private readonly early: number
  private readonly line = new Waiters<number>()
  private readonly waits = { count: 0, sum: 0, max: 0 }
  private readonly alarm: TimerNode = { time: 0, seq: 0, index: -1, fire: () => this.serve() }
  private readonly passage = new Passage(this).droppable()
  private readonly round = new Round(this).droppable()
  private passed = 0
  // State for the runtime that it serves now:
  private runtime: Runtime | null = null
  private second!: LastSecond
  private cursor = -Infinity
  /** How late the last turn was because of the platform's timer, in milliseconds. */
  private late = 0

  /** A number means turns per second; an object has a rate or an interval, and a burst. */
  constructor(rate: number | Rate) {
    const where = 'new Throttler()'
    const options = check.options(typeof rate === 'number' ? { rate } : rate, RATE_OPTIONS, where)
    this.interval = readInterval(options, where)
    if (options.interval === 0) throw new BadArgument(`${where} needs an interval above 0`)
    this.burst = options.burst ?? 1
    this.isUnlimited = this.interval === 0 || this.burst === Infinity
    this.early = (this.burst - 1) * this.interval
  }

  /**
   * Waits for a turn.
   *
   * ```ts
   * const throttler = new Throttler({ interval: 100, burst: 2 })
   * for (const step of ['one', 'two', 'three']) {
   *   yield* throttler.wait()
   *   console.log(step) // one, two, three
   * }
   * ```
   */
  wait(): Op<void> {
    return this.passage.handOut()
  }

  /**
   * Takes a turn if one is due and no fiber waits for it; false if not. Never waits.
   *
   * ```ts
   * const throttler = new Throttler(1)
   * console.log(throttler.tryWait(), throttler.tryWait()) // true false
   * ```
   */
  tryWait(): boolean {
    return this.pass(runningFiber('throttler.tryWait()'))
  }

  /**
   * Waits for a turn, then runs a body.
   *
   * ```ts
   * const throttler = new Throttler(1)
   * console.log(yield* throttler.process(() => 'once a second')) // once a second
   * ```
   */
  process<R>(body: () => Returned<R>): Op<Result<R>> {
    check.body(body, 'process()')
    return op('process()', () => this.processing(body as () => Result<R>))
  }

  private *processing<T>(body: () => Op<T> | T): Routine<T> {
    yield* this.passage
    return yield* runBody(body)
  }

  /** How many fibers wait for a turn. */
  get waiting(): number {
    return this.line.size
  }

  /** Current numbers, and totals since the throttler was made. */
  stats(): ThrottlerStats {
    const { count, sum, max } = this.waits
    return {
      rate: SECOND / this.interval,
      burst: this.burst,
      waiting: this.line.size,
      passed: this.passed,
      waits: { count, mean: count === 0 ? 0 : sum / count, max },
    }
  }

  /** @internal Waits for the next round of a loop. */
  nextRound(): Op<void> {
    return this.round
  }

  /** @internal Whether a turn could be taken now. */
  isReady(fiber: Fiber): boolean {
    if (this.isUnlimited) return true
    this.serveRuntime(fiber)
    return this.line.first === null && this.due <= fiber.runtime.now()
  }

  /** @internal Takes a slot that is due now, if the line is empty. */
  pass(fiber: Fiber): boolean {
    if (this.isUnlimited) {
      this.passed++
      return true
    }
    this.serveRuntime(fiber)
    if (this.line.first !== null) return false
    const now = fiber.runtime.now()
    if (this.due > now) return false
    // Slots missed because the last turn was late are caught up with. Slots that no fiber wanted are lost.
    const missed = now - (this.cursor - this.early)
    if (missed <= this.late) this.late = missed
    else {
      this.late = 0
      this.cursor = Math.max(this.cursor, now)
    }
    this.take(now)
    return true
  }

  /** @internal */
  queueUp(fiber: Fiber): void {
    const { runtime } = fiber
    this.line.join(fiber, runtime.now())
    if (this.alarm.index < 0) runtime.addTimer(this.alarm, this.due)
  }

  /** @internal A stopped fiber leaves its turn to the next: turns are assigned only when they are due. */
  leaveLine(fiber: Fiber): void {
    this.line.leave(fiber)
    if (this.line.first === null) fiber.runtime.removeTimer(this.alarm)
  }

  /** When the next turn is due. */
  private get due(): number {
    return Math.max(this.cursor - this.early, this.second.next)
  }

  private take(now: number): void {
    this.cursor += this.interval
    this.second.add(now)
    this.passed++
  }

  /** Called by the alarm, perhaps late: serves every fiber with a due slot, and keeps the grid where it is. */
  private serve(): void {
    const runtime = this.runtime as Runtime
    const now = runtime.now()
    for (let waiter = this.line.first; waiter !== null && this.due <= now; waiter = this.line.first) {
      this.late = now - (this.cursor - this.early)
      if (this.late > LATENESS) {
        this.cursor += this.late - LATENESS
        this.late = LATENESS
      }
      this.take(now)
      const waited = now - waiter.item
      this.waits.count++
      this.waits.sum += waited
      this.waits.max = Math.max(this.waits.max, waited)
      this.line.handOver(undefined)
    }
    if (this.line.first !== null) runtime.addTimer(this.alarm, this.due)
  }

  /** A throttler's times are of one runtime's clock; it may change runtimes while no fiber waits. */
  private serveRuntime({ runtime, path }: Fiber): void {
    if (runtime === this.runtime) return
    if (this.line.first !== null) {
      throw new BadState(
        `a throttler that fibers of another runtime wait for cannot serve ${path}. Make one for each.`,
      )
    }
    this.runtime = runtime
    const most = Math.max(1, Math.floor(SECOND / this.interval + this.burst + 1e-6))
    // A tenth of an interval less than `most` turns take on an undisturbed grid.
    this.second = new LastSecond(most, Math.max(SECOND, (most - this.burst + 0.9) * this.interval))
    this.cursor = -Infinity
    this.late = 0
  }
}
