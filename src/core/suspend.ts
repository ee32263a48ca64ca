// suspend and transfer, which only another fiber can end; and snooze, which ends by itself. They have no state per wait, so
// one shared object serves all fibers. (In debug mode each wait gets its own, so that a forgotten yield* can be found.)

import { current } from './current.js'
import { debugging, opEntered } from './debug.js'
import { BadArgument, BadState, notInFiber, show } from './errors.js'
import type { Fiber } from './fiber.js'
import { BaseOp, DONE, IdleOp, type Op, resume, SUSPENDED, type Switchpoint, throwAnswer } from './op.js'
import { DEAD, ERROR, LIVE, NONE, REFUSED, VALUE, WAITING } from './state.js'
import { gate } from './switchpoint.js'

export class Snooze extends BaseOp<void> {
  // The hottest op of all has its own copy of next(): it never waits, so it needs no enter.
  override next(): IteratorResult<Switchpoint, void> {
    const fiber = current.fiber
    if (fiber === null) throw notInFiber('snooze()')
    if (fiber.op !== null) return resume(fiber, this) ? DONE : throwAnswer()
    if (debugging) opEntered(this)
    if (--fiber.budget < 0 && gate(fiber, this) === REFUSED) return SUSPENDED
    fiber.op = this
    fiber.how = VALUE
    fiber.runtime.push(fiber)
    return SUSPENDED
  }
  enter(): void {}
  abort(): void {}
  describe(): string {
    return 'snooze()'
  }
  override get kind(): string {
    return 'snooze'
  }
}
export const SNOOZE = new Snooze()

/**
 * Lets every other runnable fiber run, then goes on.
 *
 * ```ts
 * spin(() => console.log('meanwhile')) // meanwhile
 * yield* snooze()
 * console.log('later') // later
 * ```
 */
export function snooze(): Op<void> {
  return debugging ? new Snooze() : SNOOZE
}

/** Waits for `schedule`, and returns the value that was scheduled. */
class Suspend extends IdleOp<any> {
  enter(_fiber: Fiber): void {}
  abort(): void {}
  describe(): string {
    return 'suspend()'
  }
  override get kind(): string {
    return 'suspend'
  }
}
const SUSPEND = new Suspend()

/**
 * Waits until `fiber.schedule(value)` is called, and returns that value (S63).
 *
 * ```ts
 * const me = Fiber.current
 * after(10, () => me.schedule('time to get up'))
 * console.log(yield* suspend()) // time to get up
 * ```
 */
export function suspend<T = unknown>(): Op<T> {
  return debugging ? new Suspend() : SUSPEND
}

/** Whether a fiber waits in a bare `suspend()`: such a root goes on when nothing else can happen (decision 5). */
export function isSuspended(fiber: Fiber): boolean {
  return fiber._state === WAITING && fiber.op instanceof Suspend && !(fiber.op instanceof Transfer)
}

class Transfer extends Suspend {
  constructor(
    private readonly target: Fiber<any, any>,
    private readonly value: unknown,
  ) {
    super()
  }
  override enter(fiber: Fiber): void {
    const { target } = this
    if (target === fiber) throw new BadState(`${fiber.path} cannot transfer to itself`)
    if (target._state === DEAD)
      throw new BadState(`${fiber.path} cannot transfer to ${target.path}: it is dead`)
    if (!wake(target, this.value, true)) {
      throw new BadState(
        `${fiber.path} cannot transfer to ${target.path}: it is ${target.waitsFor ? `waiting for ${target.waitsFor}` : target.state}. ` +
          'Only a fiber that waits in suspend() or transfer(), or a raw one, can be transferred to.',
      )
    }
    target.rareState().transferrer = fiber
  }
  override describe(): string {
    return `transfer(${this.target.name})`
  }
}

/**
 * Suspends this fiber, runs `fiber` next, and returns the value that is transferred or scheduled back (S62).
 *
 * ```ts
 * const here = Fiber.current
 * const counter = new Fiber(function* () {
 *   for (let n = 1; ; n++) yield* transfer(here, n)
 * })
 * console.log(yield* transfer(counter)) // 1
 * console.log(yield* transfer(counter)) // 2
 * ```
 */
export function transfer<T = unknown>(fiber: Fiber<any, any>, value?: unknown): Op<T> {
  if (!isFiber(fiber)) throw new BadArgument(`transfer() needs a fiber, got ${show(fiber)}`)
  return new Transfer(fiber, value)
}

/** Whether it is a fiber: only these have a rare state. */
function isFiber(given: unknown): boolean {
  return typeof (given as Fiber | null | undefined)?.rareState === 'function'
}

/** S63: wakes a fiber that waits in suspend or transfer, or starts a raw one. An Error is raised at the wait. */
export function wake(fiber: Fiber, value: unknown, first: boolean): boolean {
  if (fiber._state !== WAITING) return false
  if (fiber.isUnstarted) {
    if (fiber._phase !== LIVE) return false
    fiber.args = [value]
    fiber.runtime.push(fiber, first)
    return true
  }
  const op = fiber.op
  if (!(op instanceof Suspend) || fiber.how !== NONE) return false
  fiber.how = value instanceof Error ? ERROR : VALUE
  fiber.value = value
  fiber.runtime.push(fiber, first)
  return true
}
