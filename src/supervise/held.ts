// A held restart (Fiber.holdRestart in core) is what a dead child has while it waits for its time: messages sent to it are
// kept for the next incarnation, and a stop calls it off.

import { endForGood, type Fiber } from '../core/index.js'

/** Whether a dead child waits for its restart. */
export function isHeld(child: Fiber): boolean {
  return child.state === 'dead' && child.cold?.restart?.isHeld === true
}

/** It will not be restarted after all: what is sent to it finds nobody. */
export function release(child: Fiber): void {
  if (!child.cold?.restart?.isHeld) return
  child.cold.restart = null
  if (child.state === 'dead') endForGood(child)
}
