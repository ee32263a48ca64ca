// The wait-for graph: which fiber waits on which. An op that only one fiber can end names that fiber (`BaseOp.waitsOn`), so
// a circle is found when its last wait begins, whatever else the program is doing (S32).
//
//   one --a.lock(), held by--> two --b.lock(), held by--> one        nothing but a stop from outside can end this
//
// Only certain deadlocks count. A fiber inside a time limit or a race (its own or one around a parent), with an AbortSignal, or
// on its way to its end will go on by itself; so may one with another child, since an error of that child would wake it. Waits for a
// semaphore, a promise or a queue can be ended by any code.

import type { Block } from './block.js'
import { describe } from './debug.js'
import { DeadlockError } from './errors.js'
import type { Fiber } from './fiber.js'
import type { BaseOp } from './op.js'
import { LIVE, NONE, WAITING } from './state.js'
import { blocksOf, isCalm, type Region } from './switchpoint.js'

/** How far a chain of waits is followed. */
const MAX_STEPS = 1000

type AnyFiber = Fiber<any, any>

/** Throws if this wait would close a circle. Called in `enter` of an op that has to wait. */
export function refuseCircle(fiber: Fiber, op: BaseOp<any>): void {
  let next = op.waitsOn
  if (next === fiber) {
    const what = op.resource === null ? 'awaits itself' : `waits for ${describe(op)} and holds it already`
    throw new DeadlockError(`${fiber.path} ${what}, which would never end`)
  }
  if (next?._state !== WAITING || next.op?.waitsOn == null) return // most waits end here
  const circle = new Map<AnyFiber, BaseOp<any>>([[fiber, op]])
  while (next !== fiber) {
    if (next === null || next.op === null || next._state !== WAITING || next.how !== NONE) return
    if (circle.size === MAX_STEPS || circle.has(next)) return
    circle.set(next, next.op)
    next = next.op.waitsOn
  }
  for (const [member, wait] of circle) if (!wait.isCertain || mayGoOn(member, circle)) return
  throw new DeadlockError(tellCircle([...circle]))
}

/** Whether a fiber of a circle may go on although its wait does not end. */
function mayGoOn(member: AnyFiber, circle: ReadonlyMap<AnyFiber, unknown>): boolean {
  for (const child of member.children) if (!circle.has(child)) return true
  for (const block of blocksOf(member)) if (block.endsEarly) return true
  return !isCalm(member) || mayBeEnded(member)
}

/**
 * Whether something around a fiber will end it: an AbortSignal, the end of a parent, a limit around the scope that it belongs to,
 * the winner of its race, a supervisor that ends or restarts it with its group.
 */
function mayBeEnded(fiber: AnyFiber): boolean {
  for (let { owner } = fiber; ; { owner } = fiber) {
    if (fiber.rare?.abortSignal != null) return true
    if (owner === null) return false
    const { host } = owner
    if (host._phase !== LIVE || host.rare?.supervisor?.endsEarly) return true
    for (let region: Region = owner; region !== host; region = (region as Block<any>).outer) {
      if ((region as Block<any>).endsEarly || region._phase !== LIVE) return true
    }
    fiber = host
  }
}

function tellCircle(circle: [AnyFiber, BaseOp<any>][]): string {
  const lines = circle.map(([fiber, op], i) => {
    const [, before] = circle.at(i - 1) as [AnyFiber, BaseOp<any>]
    const wanted = before.resource as { name?: string } | null
    const holds = wanted === null ? '' : ` holds ${wanted.name ?? 'what the one before wants'} and`
    return `${fiber.path}${holds} waits for ${describe(op)}`
  })
  return `these fibers wait for each other, which would never end: ${lines.join('; ')}`
}
