// supervise: the current fiber watches its children, restarts those that fail, and gives up when they fail too often.
// This file is the public function; the loop is in supervisor.ts.

import { BadArgument, BadState, Fiber, type Op, op, type Routine, show } from '../core/index.js'
import { type ChildSpec, checkChildren, type Policy, readPolicy, type SuperviseOptions } from './options.js'
import { Supervision, Supervisor } from './supervisor.js'

type Child = Fiber<any, any> | ChildSpec

/**
 * Watches over children until all have ended (S42-S44): all children of the current fiber, or those of a list. Fibers in
 * the list become children of the current fiber; specs are spun. An error without a restart stops the other children,
 * newest first, and is thrown.
 *
 * ```ts
 * let attempt = 0
 * function* fetcher() {
 *   yield* sleep(100)
 *   if (++attempt < 3) throw new Error('connection reset')
 *   console.log(`fetched at attempt ${attempt}`) // fetched at attempt 3
 * }
 * yield* supervise([{ name: 'fetcher', body: fetcher }], { restart: 'onError', backoff: { delay: 50 } })
 * console.log('done') // done
 * ```
 */
export function supervise(options?: SuperviseOptions): Op<void>
export function supervise(children: readonly Child[], options?: SuperviseOptions): Op<void>
export function supervise(first?: readonly Child[] | SuperviseOptions, second?: SuperviseOptions): Op<void> {
  const isList = Array.isArray(first)
  if (first instanceof Fiber) throw new BadArgument('supervise() needs an array of fibers, got one fiber')
  if (!isList && second !== undefined) {
    throw new BadArgument(`supervise() needs an array of children before its options, got ${show(first)}`)
  }
  const children = isList ? [...(first as readonly Child[])] : undefined
  if (children !== undefined) checkChildren(children)
  const policy = readPolicy((isList ? second : (first as SuperviseOptions)) ?? {})
  return op('supervise()', () => supervising(children, policy))
}

function* supervising(children: readonly Child[] | undefined, policy: Policy): Routine<void> {
  const host = Fiber.current
  checkFamily(host, children ?? [])
  yield* new Supervision(new Supervisor(host, children, policy))
}

/** Throws for fibers that cannot be children of `host`, and for a second supervision at the same time. */
function checkFamily(host: Fiber, children: readonly unknown[]): void {
  if (host.rare?.supervisor != null) {
    throw new BadState(
      `${host.path} is supervising already. A fiber has one supervision at a time: spin a child that supervises, or give one list`,
    )
  }
  const listed = new Set(children)
  for (let fiber: Fiber | null = host; fiber !== null; fiber = fiber.parent) {
    if (!listed.has(fiber)) continue
    const why = fiber === host ? 'itself' : `${fiber.path}, which it belongs to`
    throw new BadState(`${host.path} cannot supervise ${why}`)
  }
}
