// A hold: a stretch of a fiber's code in which it has something in its hands, and lets go of it however that ends.
//
//   yield* hold   like yield* of the body's generator: what the body yields, and what is thrown into it, goes through
//
// It is a region (S65) without a ladder of its own, so its fiber's chain of regions tells what the fiber holds, and if
// the body's generator is abandoned, the hold is told.

import {
  BadState,
  baton,
  checkBody,
  DONE,
  debugging,
  enteredTwice,
  type Fiber,
  isGenerator,
  isPlainGenerator,
  isStop,
  keepBeside,
  nextOf,
  type Op,
  Region,
  rememberOp,
  returnOf,
  runnerOf,
  type Switchpoint,
  throwOf,
} from '../core/index.js'

const NEXT = 0
const THROW = 1
const RETURN = 2

export abstract class Hold<T> extends Region implements Op<T>, Iterator<Switchpoint, T, unknown> {
  /** The fiber whose body runs; null while it does not. */
  fiber: Fiber | null = null
  outer: Region | null = null
  /** The fiber that is on its way in. */
  protected comer: Fiber | null = null
  private inner: Iterator<unknown> | null = null
  /** Whether `inner` is a generator, to be driven through the shared functions, or else an op. */
  private native = false

  constructor(
    protected readonly body: (...args: any[]) => unknown,
    where: string,
  ) {
    super()
    checkBody(body, where)
    if (debugging) rememberOp(this, baton.fiber)
  }

  // ---- what subclasses give

  /** The first `next()`, and every other until the body has begun. */
  protected abstract enter(): IteratorResult<Switchpoint, any>
  /** An error for the wait in front. */
  protected abstract failEntry(error: unknown): IteratorResult<Switchpoint, any>
  /** A forced end of the wait in front. */
  protected abstract endEntry(value: unknown): IteratorResult<Switchpoint, any>
  /** What is held is given back. `isSound` is false if somebody may still use it. */
  protected abstract letGo(isSound: boolean): void
  abstract describe(): string

  // ---- an iterator around the body's

  [Symbol.iterator](): this {
    const by = this.fiber ?? this.comer
    if (by !== null) throw enteredTwice(this, by)
    return this
  }

  next(value?: unknown): IteratorResult<Switchpoint, any> {
    return this.fiber === null ? this.enter() : this.drive(NEXT, value)
  }

  throw(error: unknown): IteratorResult<Switchpoint, any> {
    return this.fiber === null ? this.failEntry(error) : this.drive(THROW, error)
  }

  return(value?: unknown): IteratorResult<Switchpoint, any> {
    return this.fiber === null ? this.endEntry(value) : this.drive(RETURN, value)
  }

  /** Into the chain of regions: from here on something is held. */
  protected attach(fiber: Fiber): void {
    this.comer = null
    this.fiber = fiber
    this.outer = fiber.innermost
    fiber.innermost = this
  }

  /** Runs the body. */
  protected start(argument: unknown): IteratorResult<Switchpoint, any> {
    let returned: unknown
    try {
      const { body } = this
      returned = body(argument)
      if (typeof returned === 'object' && returned !== null) {
        if (isPlainGenerator(returned, body)) return this.run(returned as Iterator<unknown>, true)
        const runner = runnerOf(returned, body)
        return this.run(runner, isGenerator(runner))
      }
    } catch (error) {
      if (this.fiber === null) throw error // the body was running, and has been left
      return this.failed(error)
    }
    this.leave()
    DONE.value = returned // a plain value: there is nothing to run
    return DONE
  }

  /** Goes on with another iterator: the body's, or what comes before it. */
  protected run(inner: Iterator<unknown>, native: boolean): IteratorResult<Switchpoint, any> {
    this.inner = inner
    this.native = native
    return this.drive(NEXT, undefined)
  }

  private drive(how: number, value: unknown): IteratorResult<Switchpoint, any> {
    if (baton.fiber !== this.fiber) {
      throw new BadState(`${this.describe()} of ${this.fiber?.path} was iterated from another fiber (S61)`)
    }
    let result: IteratorResult<any>
    try {
      result =
        how === NEXT && this.native
          ? nextOf.call(this.inner as Iterator<unknown>, value)
          : this.advance(how, value)
    } catch (error) {
      return this.failed(error)
    }
    return result.done ? this.ended(result) : result
  }

  private advance(how: number, value: unknown): IteratorResult<unknown> {
    const inner = this.inner as Required<Iterator<unknown>>
    if (this.native) return how === THROW ? throwOf.call(inner, value) : returnOf.call(inner, value)
    if (how === NEXT) return inner.next()
    if (how === THROW) return inner.throw(value)
    return inner.return === undefined ? { done: true, value } : inner.return(value)
  }

  /** What ran is over. */
  protected ended(result: IteratorResult<any>): IteratorResult<Switchpoint, any> {
    this.leave()
    return result
  }

  /** The body's error goes out; one of letting go is kept beside it, but outweighs a stop, as in `ensure`. */
  private failed(error: unknown): never {
    const fiber = this.fiber as Fiber
    try {
      this.leave()
    } catch (later) {
      if (isStop(error)) throw later
      keepBeside(fiber, error, later)
    }
    throw error
  }

  private leave(): void {
    const fiber = this.fiber as Fiber
    const isInnermost = fiber.innermost === this
    if (isInnermost) fiber.innermost = this.outer as Region
    else this.unchain(fiber)
    this.fiber = null
    this.outer = null
    this.inner = null
    this.letGo(true)
    if (!isInnermost) {
      throw new BadState(
        `blocks of ${fiber.path} were left in the wrong order: ${this.describe()} was not the innermost (S61)`,
      )
    }
  }

  // ---- as a region

  /** @internal */ get wall(): number {
    return 0
  }
  /** @internal */ get isOwner(): boolean {
    return false
  }
  /** @internal */ get isTimed(): boolean {
    return false
  }
  /** @internal */ get idle(): boolean {
    return false
  }
  /** @internal */ get deadline(): number {
    return Infinity
  }
  /** @internal It never ends by itself, so there is nothing to arm, to count, or to let through. */
  armDeadline(): void {}
  /** @internal */ swallowed(): number {
    return 0
  }
  /** @internal */ passThrough(): void {}
  /** @internal The body's generator was dropped. */
  abandon(): void {
    const { runtime } = this.fiber as Fiber
    this.fiber = null
    this.inner = null
    try {
      this.letGo(false)
    } catch (error) {
      runtime.uncaught(error, `leaving ${this.describe()} failed`) // S70: whoever it belongs to is gone
    }
  }
}
