// The throttler: lets fibers through at a given rate, on a grid that does not drift.
//
//   slots  |----|----|----|----|      one for each fiber that is let through, `interval` apart
//               ^ cursor: the next free slot
//
// A fiber takes the slot at the cursor and waits until it is due. Slots that pass while nobody wants them are lost, but
// for the last `burst - 1`. Slots that pass because a timer of the platform was late are not: the grid stays where
// it is, and whoever waited catches up. So that this never lets too many through, the times of the last second are kept.

import {
  BadArgument,
  BadState,
  BaseOp,
  baton,
  checkBody,
  checkMs,
  checkOptions,
  debugging,
  type Fiber,
  notInFiber,
  type Op,
  type Result,
  type Returned,
  type Routine,
  type Runtime,
  repeatable,
  runBody,
  settle,
  shared,
  show,
  type TimerNode,
  Waiters,
} from '../core/index.js'

/** How fast: give either a rate or an interval. */
export interface Rate {
  /** How many a second. */
  rate?: number
  /** Milliseconds from one to the next. */
  interval?: number
  /** How many may go at once after a time in which none went; default 1. */
  burst?: number
}

/** What a throttler tells of itself. */
export interface ThrottlerStats {
  /** How many a second. */
  readonly rate: number
  /** How many may go at once after a time in which none went. */
  readonly burst: number
  /** Fibers in line. */
  readonly waiting: number
  /** How many were let through. */
  readonly passed: number
  /** How many of them had to wait, and how long, in milliseconds. */
  readonly waits: { readonly count: number; readonly mean: number; readonly max: number }
}

const RATE_NAMES = ['rate', 'interval', 'burst']
/** How late a timer may be, in milliseconds, without a slot being lost. */
const LATENESS = 100
const SECOND = 1000

/** Reads a rate or an interval; gives the interval in milliseconds. */
export function readInterval({ rate, interval }: Rate, where: string): number {
  if ((rate === undefined) === (interval === undefined)) {
    throw new BadArgument(`${where} needs either a rate (how many a second) or an interval (milliseconds)`)
  }
  if (rate === undefined) return checkMs(interval, where)
  if (!(typeof rate === 'number' && rate > 0)) {
    throw new BadArgument(`${where} needs a rate above 0, got ${show(rate)}`)
  }
  if (SECOND / rate === Infinity) {
    throw new BadArgument(`${where} needs a rate that is not as small as ${show(rate)}: it would never come`)
  }
  return SECOND / rate
}

export function readBurst({ burst = 1 }: Rate, where: string): number {
  if (Number.isInteger(burst) && burst > 0) return burst
  throw new BadArgument(`${where} needs a burst that is a whole number above 0, got ${show(burst)}`)
}

/** The times of the last second, so that no second sees more than `most`. Of many, only every n-th is kept. */
class LastSecond {
  private readonly times: Float64Array
  /** How many go for one time that is kept. */
  private readonly share: number
  private count = 0

  /** `span` is a second, and a little more: who is let through runs a little later. */
  constructor(
    most: number,
    private readonly span: number,
  ) {
    this.share = Math.ceil(most / 8192)
    const kept = Math.floor(most / this.share)
    this.times = new Float64Array(this.share === 1 ? kept : kept - 1).fill(-Infinity)
  }

  /** When another may go. */
  get next(): number {
    if (this.count % this.share !== 0) return -Infinity
    return (this.times[(this.count / this.share) % this.times.length] as number) + this.span
  }
  add(now: number): void {
    if (this.count % this.share === 0) this.times[(this.count / this.share) % this.times.length] = now
    this.count++
  }
}

/** Waits for a slot. Always woken through its fiber, so one serves all. */
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
}

/** The same for the next round of a loop: new work, so refused in cleanup (S17). */
class Round extends Passage {
  override describe(): string {
    return `the next round, once in ${this.throttler.interval} ms`
  }
}
;(Round.prototype as { idle: boolean }).idle = true

/**
 * Lets fibers through at a rate, for example ten a second: the first at once, the next when its time has come. Share
 * it between the fibers that together must not be faster. They are served in the order in which they came (S52), and
 * one that is stopped while it waits leaves its turn to the next.
 *
 * With a `burst` of n, n may go at once after a time in which none went. In no second do more than `rate + burst` go.
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
  /** Milliseconds from one to the next. */
  readonly interval: number
  /** How many may go at once after a time in which none went. */
  readonly burst: number
  /** How much earlier than the cursor a slot is due: the burst, in milliseconds. */
  private readonly early: number
  private readonly line = new Waiters<number>()
  private readonly waits = { count: 0, sum: 0, max: 0 }
  private readonly alarm: TimerNode = { time: 0, seq: 0, index: -1, fire: () => this.serve() }
  private readonly passage = shared(new Passage(this))
  private readonly round = shared(new Round(this))
  private passed = 0
  // Of the runtime that it serves now:
  private runtime: Runtime | null = null
  private second!: LastSecond
  private cursor = -Infinity
  /** How late the last one was because of the platform, in milliseconds. */
  private late = 0

  /** Takes a number of times a second; or a rate or an interval, with a burst. */
  constructor(rate: number | Rate) {
    const where = 'new Throttler()'
    const options = checkOptions(typeof rate === 'number' ? { rate } : rate, RATE_NAMES, where)
    this.interval = readInterval(options, where)
    if (this.interval === 0) throw new BadArgument(`${where} needs an interval above 0`)
    this.burst = readBurst(options, where)
    this.early = (this.burst - 1) * this.interval
  }

  /**
   * Waits for its turn.
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
    return debugging ? new Passage(this) : this.passage
  }

  /**
   * Takes a turn if one is due now and nobody waits for it. Never waits.
   *
   * ```ts
   * const throttler = new Throttler(1)
   * console.log(throttler.tryWait(), throttler.tryWait()) // true false
   * ```
   */
  tryWait(): boolean {
    if (baton.fiber === null) throw notInFiber('throttler.tryWait()')
    return this.pass(baton.fiber)
  }

  /**
   * Waits for its turn, then runs a body.
   *
   * ```ts
   * const throttler = new Throttler(1)
   * console.log(yield* throttler.process(() => 'once a second')) // once a second
   * ```
   */
  process<R>(body: () => Returned<R>): Op<Result<R>> {
    checkBody(body, 'process()')
    return repeatable('process()', () => this.processing(body as () => Result<R>))
  }

  private *processing<T>(body: () => Op<T> | T): Routine<T> {
    yield* this.passage
    return yield* runBody(body)
  }

  /** How many fibers wait for their turn. */
  get waiting(): number {
    return this.line.size
  }

  /** What is there now, and what was counted on the way. */
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

  /** @internal Whether the next to come would not have to wait. */
  isReady(fiber: Fiber): boolean {
    this.serveRuntime(fiber)
    return this.line.first === null && this.due <= fiber.runtime.now()
  }

  /** @internal Takes a slot that is due now, if nobody is in line. */
  pass(fiber: Fiber): boolean {
    this.serveRuntime(fiber)
    if (this.line.first !== null) return false
    const now = fiber.runtime.now()
    if (this.due > now) return false
    // What was missed because the last one was late is caught up with. What nobody wanted is lost, up to now.
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

  /** @internal A stopped fiber leaves its turn to the next: nobody has one before it is due. */
  leaveLine(fiber: Fiber): void {
    this.line.leave(fiber)
    if (this.line.first === null) fiber.runtime.removeTimer(this.alarm)
  }

  /** When the next may go. */
  private get due(): number {
    return Math.max(this.cursor - this.early, this.second.next)
  }

  private take(now: number): void {
    this.cursor += this.interval
    this.second.add(now)
    this.passed++
  }

  /** The alarm, which may have come late: everybody whose slot is due goes, and the grid stays where it is. */
  private serve(): void {
    const runtime = this.runtime as Runtime
    const now = runtime.now()
    for (let place = this.line.first; place !== null && this.due <= now; place = this.line.first) {
      this.late = now - (this.cursor - this.early)
      if (this.late > LATENESS) {
        this.cursor += this.late - LATENESS
        this.late = LATENESS
      }
      this.take(now)
      const waited = now - place.item
      this.waits.count++
      this.waits.sum += waited
      this.waits.max = Math.max(this.waits.max, waited)
      this.line.handOver(undefined)
    }
    if (this.line.first !== null) runtime.addTimer(this.alarm, this.due)
  }

  /** Its times are those of one clock. */
  private serveRuntime({ runtime, path }: Fiber): void {
    if (runtime === this.runtime) return
    if (this.line.first !== null) {
      throw new BadState(
        `a throttler that fibers of another runtime wait for cannot serve ${path}. Make one for each.`,
      )
    }
    this.runtime = runtime
    const most = Math.max(1, Math.floor(SECOND / this.interval + this.burst + 1e-6))
    // On an undisturbed grid they take a tenth of an interval more.
    this.second = new LastSecond(most, Math.max(SECOND, (most - this.burst + 0.9) * this.interval))
    this.cursor = -Infinity
    this.late = 0
  }
}
