// Something that gets an outcome, once; fibers and async code wait for it. No promise is made until async code looks.

import { type Fiber, fail, settle, Waiters } from '../core/index.js'
import type { Dual } from './dual.js'

/** Everything before DONE has no outcome yet. */
export const DONE = 3
export const FAILED = 4
export const CANCELLED = 5

/** A promise and what settles it. */
export interface Deferred<T> {
  readonly promise: Promise<T>
  readonly resolve: (value: T) => void
  readonly reject: (error: unknown) => void
}

export function defer<T>(): Deferred<T> {
  let resolve!: (value: T) => void
  let reject!: (error: unknown) => void
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}

export class Eventual<T> {
  /** @internal */ phase = 0
  /** The first who waits, and all others: mostly there is one. */
  private waiter: Fiber | null = null
  private line: Waiters | null = null
  private deferred: Deferred<T> | null = null

  /** @internal */
  constructor(/** @internal In the end the result, or the error. */ public content: unknown) {}

  /** @internal */
  settle(phase: number, content: unknown): void {
    const { waiter, line, deferred } = this
    this.phase = phase
    this.content = content
    if (waiter !== null) this.answer(waiter)
    if (line !== null) this.tell(line)
    if (deferred !== null) this.resolve(deferred)
  }

  private answer(fiber: Fiber): void {
    this.waiter = null
    const op = fiber.op as Dual<T>
    if (this.phase === DONE) settle(fiber, op, this.content as T)
    else fail(fiber, op, this.content)
  }

  private tell(line: Waiters): void {
    this.line = null
    if (this.phase === DONE) while (line.handOver(this.content));
    else while (line.refuse(this.content));
  }

  private resolve({ resolve, reject }: Deferred<T>): void {
    this.deferred = null
    if (this.phase === DONE) resolve(this.content as T)
    else reject(this.content)
  }

  /** @internal At the end of an op's `enter`. */
  wait(fiber: Fiber, op: Dual<T>): void {
    if (this.phase === DONE) settle(fiber, op, this.content as T)
    else if (this.phase > DONE) fail(fiber, op, this.content)
    else if (this.waiter === null && this.line === null) this.waiter = fiber
    else {
      this.line ??= new Waiters()
      this.line.join(fiber, undefined)
    }
  }

  /** @internal In an op's `abort`. */
  leaveLine(fiber: Fiber): void {
    if (this.waiter === fiber) this.waiter = null
    else this.line?.leave(fiber)
  }

  /** @internal */
  promise(): Promise<T> {
    if (this.phase === DONE) return Promise.resolve(this.content as T)
    if (this.phase > DONE) return Promise.reject(this.content)
    this.deferred ??= defer()
    return this.deferred.promise
  }
}
