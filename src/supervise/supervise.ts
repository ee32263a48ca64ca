// supervise: the current fiber watches over children, restarts those that fail, and gives up when that does not help.

import {
  BadArgument,
  BadState,
  ensure,
  Fiber,
  type Op,
  type Routine,
  repeatable,
  show,
} from '../core/index.js'
import { type ChildSpec, checkChildren, type Policy, readPolicy, type SuperviseOptions } from './options.js'
import { Supervision } from './supervision.js'

type Child = Fiber<any, any> | ChildSpec

/**
 * Watches over children until all have ended (S42-S44): all children of the current fiber, or those of a list, in which
 * fibers are adopted and specs are spun. An error that is not answered by a restart stops the other children, newest first,
 * and is thrown.
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
  return repeatable('supervise()', () => supervising(children, policy))
}

function* supervising(children: readonly Child[] | undefined, policy: Policy): Routine<void> {
  const host = Fiber.current
  checkFamily(host, children ?? [])
  const supervision = new Supervision(host, children, policy)
  yield* ensure(
    () => supervision.watch(),
    () => supervision.shutdown(),
  )
}

/** Refuses what can never be a child of `host`, and a second supervision at the same time. */
function checkFamily(host: Fiber, children: readonly unknown[]): void {
  if (host.cold?.supervisor != null) {
    throw new BadState(
      `${host.path} is supervising already. A fiber has one supervision at a time: spin a child that supervises, or give one list`,
    )
  }
  for (let fiber: Fiber | null = host; fiber !== null; fiber = fiber.parent) {
    if (!children.includes(fiber)) continue
    const why = fiber === host ? 'itself' : `${fiber.path}, which it belongs to`
    throw new BadState(`${host.path} cannot supervise ${why}`)
  }
}
