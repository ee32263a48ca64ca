// What few fibers need, in one record that most never get.

import type { Context } from './backend.js'
import type { Cleaning, Cleanup } from './cleanup.js'
import type { Stop } from './errors.js'
import type { Fiber } from './fiber.js'
import type { Mailbox } from './mailbox.js'
import type { Ring } from './ring.js'
import type { Deadline } from './stop.js'

/** A restart that waits for the teardown of the present incarnation (S41). */
export interface Restart {
  readonly args: readonly unknown[] | undefined
  /** Messages sent after the call: they belong to the new incarnation. */
  readonly mailbox: Ring<unknown>
  /** The stop that tears the present one down. */
  readonly stop: Stop
  /** A supervisor says when: the fiber stays dead until then (S42). */
  readonly isHeld: boolean
}

/** Takes the place of a parent when its children end (S42). */
export interface Supervisor {
  /** A child is dead; `child.outcome` tells how. True: an error is taken care of, and does not bubble. */
  childEnded(child: Fiber<any, any>): boolean
  /** A child was moved to another parent, or lives again after it was asked to end. */
  childChanged(child: Fiber<any, any>): void
}

export class Cold {
  incarnation = 1
  restart: Restart | null = null
  /** Fibers that want to hear of every end, and those this fiber listens to. */
  monitors: Set<Fiber<any, any>> | null = null
  monitoring: Set<Fiber<any, any>> | null = null
  /** The ladder: the timer of the deadline, a deadline tightened later, patience used up. */
  deadline: Deadline | null = null
  tight = Infinity
  swallows = 0
  forcedYields = 0
  /** Ops refused to a forced fiber since it last yielded. */
  refusals = 0
  badYields = 0
  /** `fiber.signal`, and the AbortSignal that stops this fiber. */
  controller: AbortController | null = null
  unlisten: (() => void) | null = null
  abortSignal: AbortSignal | null = null
  /** Raw fibers have no parent; control goes back to whoever transferred to them last (S62). */
  raw = false
  transferrer: Fiber<any, any> | null = null
  /** Out-of-band fibers: roots whose errors go to main (S46). */
  outOfBand = false
  /** `link: false`: errors go to observers only (S29). */
  isolated = false
  /** Watches over the children while this fiber is in `supervise`. */
  supervisor: Supervisor | null = null
  /** Locks that others wait for: told as soon as this incarnation runs no more, while its children may still be dying. */
  locks: Set<() => void> | null = null
  /** What this incarnation holds that nobody else can let go of: told when it ends, by its own means or not. */
  atEnd: Set<(how: number, value: unknown) => void> | null = null
  /** What is to be done when it is over, and its outcome meanwhile (S60). */
  cleanups: Cleanup[] | null = null
  cleaning: Cleaning | null = null
  /** `fiber.mailbox`: the cap of its messages, and who waits for room. */
  mailbox: Mailbox<any> | null = null
  /** The async context that its steps run in, if that was asked for (S56). */
  context: Context | null = null
  /** Locals at birth, once they have been changed. */
  born: ReadonlyMap<object, unknown> | null | undefined = undefined

  /** An incarnation runs no more. */
  ranOut(): void {
    const { locks } = this
    this.locks = null
    if (locks !== null) for (const tell of locks) tell()
  }

  /** An incarnation has ended. */
  ended(how: number, value: unknown): void {
    this.ranOut()
    const list = this.atEnd
    this.atEnd = null
    if (list !== null) for (const tell of list) tell(how, value)
  }

  /** The fiber is dead: nothing outside may keep it, and it keeps nothing outside. */
  release(fiber: Fiber<any, any>): void {
    this.unlisten?.()
    this.unlisten = null
    if (this.monitoring !== null) for (const target of this.monitoring) target.cold?.monitors?.delete(fiber)
    this.monitoring = null
    this.mailbox?.close()
  }
}
