// Monitors: each end of a fiber, of every incarnation, is a message in the mailbox of another. Built on the listeners of
// tree.ts.

import { BadState } from './errors.js'
import type { Fiber } from './fiber.js'
import { deliver } from './mailbox.js'
import { isBetweenLives } from './restart.js'
import { DEAD, ENDED, type EndCode, makeOutcome, type Outcome } from './state.js'
import { type EndListener, listen, unlisten } from './tree.js'

/** What `monitor()` sends to the mailbox of its caller when the fiber ends. */
export interface FiberEnd {
  /** Distinguishes it from other messages. */
  readonly type: 'end'
  /** The fiber that has ended. */
  readonly fiber: Fiber
  /** How it ended. */
  readonly outcome: Outcome<unknown>
}

/** The listener of `monitor()`. It stays in the fiber's list from one incarnation to the next, also while the fiber is dead. */
export class Monitor implements EndListener {
  before: EndListener | null = null
  after: EndListener | null = null
  readonly moment = ENDED
  readonly watcher = null
  /** The incarnation that was reported last: the same end may be told twice, when a held restart is called off. */
  private lastTold = 0

  constructor(
    private readonly target: Fiber<any, any>,
    private readonly owner: Fiber<any, any>,
  ) {}

  told(how: EndCode, value: unknown): void {
    const { target, owner } = this
    if (owner._state === DEAD) return
    listen(target, this) // for the next incarnation
    if (this.lastTold === target.incarnation) return
    this.lastTold = target.incarnation
    deliver(owner, { type: 'end', fiber: target, outcome: makeOutcome(how, value) }, false)
  }

  /** The fiber is dead, and its watcher must not keep it in memory (S04). The listener stays, in case of a restart. */
  stayBehind(): void {
    this.owner.rare?.monitoring?.delete(this)
  }

  end(): void {
    this.stayBehind()
    unlisten(this.target, this)
  }
}

/**
 * From now on the ends of `target` arrive in the mailbox of `watcher`. The end of a dead fiber arrives at once, unless its
 * supervisor has stopped it for a restart.
 */
export function monitor(target: Fiber<any, any>, watcher: Fiber<any, any>): void {
  if (target === watcher) {
    throw new BadState(
      `${target.path} cannot monitor itself: it is not there to hear of its end. Call monitor() of the fiber that is watched, in the one that is to hear.`,
    )
  }
  if (target._state === DEAD && !isBetweenLives(target)) {
    deliver(watcher, { type: 'end', fiber: target, outcome: target.outcome as Outcome<unknown> }, false)
    return
  }
  const rare = watcher.rareState()
  rare.monitoring ??= new Set()
  rare.monitors ??= new WeakMap()
  if (rare.monitors.has(target)) return
  const monitor = new Monitor(target, watcher)
  rare.monitoring.add(monitor)
  rare.monitors.set(target, monitor)
  listen(target, monitor)
}

export function unmonitor(target: Fiber<any, any>, watcher: Fiber<any, any>): void {
  const { rare } = watcher
  rare?.monitors?.get(target)?.end()
  rare?.monitors?.delete(target)
}
