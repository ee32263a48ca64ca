// Running a body while holding something: mutex.synchronize(body), semaphore.acquire(body). Whatever way the body ends,
// what was taken is given back.
//
// It is an op that drives the body's generator by hand, instead of a generator with try/finally around a `yield*`: one
// object instead of five, and this is the way in which locks are used. It is no region (S65): signals pass through it.

import {
  type BaseOp,
  baton,
  checkBody,
  debugging,
  enteredTwice,
  type Fiber,
  isGenerator,
  isPlainGenerator,
  nextOf,
  notInFiber,
  type Op,
  opEntered,
  rememberOp,
  returnOf,
  runnerOf,
  type Switchpoint,
  throwOf,
} from '../core/index.js'

/** What can be held while a body runs; `H` is what the body is given. */
export interface Holdable<H> {
  /** Waits for it. A shared op: it has no state of its own. */
  readonly taking: BaseOp<H>
  /** Called in the fiber that holds it. */
  giveBack(held: H): void
  /** The call, for messages: `mutex.synchronize()`. Made once, since making text costs as much as locking. */
  readonly where: string
}

const NEXT = 0
const THROW = 1
const RETURN = 2

const OUTSIDE = 0
/** Waits for it. */
const TAKING = 1
/** Has it; the body runs. */
const INSIDE = 2

export class Holding<T, H = void> implements Op<T>, Iterator<Switchpoint, T, unknown> {
  private stage = OUTSIDE
  private fiber: Fiber | null = null
  private inner: Iterator<unknown> | null = null
  /** Whether `inner` is a generator, to be driven through the shared functions, or else an op. */
  private native = false
  private held: H | undefined = undefined

  constructor(
    private readonly what: Holdable<H>,
    private readonly body: (held: H) => unknown,
  ) {
    checkBody(body, what.where)
    if (debugging) rememberOp(this, baton.fiber)
  }

  describe(): string {
    return this.what.where
  }

  [Symbol.iterator](): this {
    if (this.stage !== OUTSIDE) throw enteredTwice(this, this.fiber as Fiber)
    return this
  }

  next(value?: unknown): IteratorResult<Switchpoint, T> {
    if (this.stage === INSIDE) return this.drive(NEXT, value)
    if (this.stage === OUTSIDE) this.begin()
    let taken: IteratorResult<Switchpoint, H>
    try {
      taken = this.what.taking.next()
    } catch (error) {
      this.end()
      throw error
    }
    return taken.done ? this.open(taken.value) : taken
  }

  throw(error: unknown): IteratorResult<Switchpoint, any> {
    if (this.stage === INSIDE) return this.drive(THROW, error)
    this.end()
    return this.what.taking.throw(error)
  }

  return(value?: unknown): IteratorResult<Switchpoint, any> {
    if (this.stage === INSIDE) return this.drive(RETURN, value)
    this.end()
    return this.what.taking.return(value)
  }

  private begin(): void {
    if (baton.fiber === null) throw notInFiber(this.what.where)
    if (debugging) opEntered(this)
    this.fiber = baton.fiber
    this.stage = TAKING
  }

  /** It is ours: the body begins. */
  private open(held: H): IteratorResult<Switchpoint, any> {
    this.stage = INSIDE
    this.held = held
    let returned: unknown
    try {
      const { body } = this
      returned = body(held)
      this.native = isPlainGenerator(returned, body)
      if (this.native) this.inner = returned as Iterator<unknown>
      else if (typeof returned === 'object' && returned !== null) {
        this.inner = runnerOf(returned, body)
        this.native = isGenerator(this.inner)
      }
    } catch (error) {
      this.leave()
      throw error
    }
    if (this.inner !== null) return this.drive(NEXT, undefined)
    this.leave()
    return { done: true, value: returned }
  }

  private drive(how: number, value: unknown): IteratorResult<Switchpoint, any> {
    let result: IteratorResult<any, any>
    try {
      const inner = this.inner as Required<Iterator<unknown>>
      if (how === NEXT) result = this.native ? nextOf.call(inner, value) : inner.next()
      else if (how === THROW) result = this.native ? throwOf.call(inner, value) : inner.throw(value)
      else result = this.native ? returnOf.call(inner, value) : inner.return(value)
    } catch (error) {
      this.leave()
      throw error
    }
    if (result.done) this.leave()
    return result
  }

  private end(): void {
    this.stage = OUTSIDE
    this.fiber = null
    this.inner = null
  }

  private leave(): void {
    const held = this.held as H
    this.held = undefined
    this.end()
    this.what.giveBack(held)
  }
}
