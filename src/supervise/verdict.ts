// What is done about the end of a child: what the callbacks say, else what the rule says.

import { Fiber, type Outcome, type Routine, runReturned } from '../core/index.js'
import type { End } from './ends.js'
import { isHeld } from './held.js'
import type { Policy, RestartRule } from './options.js'

/** `again`: somebody else has restarted the child already. */
export type Verdict = 'restart' | 'done' | 'fail' | 'again'

export function byRule(rule: RestartRule, fiber: Fiber, outcome: Outcome<unknown>): Verdict {
  switch (outcome.type) {
    case 'error':
      return rule === 'never' ? 'fail' : 'restart'
    case 'value':
      return rule === 'always' ? 'restart' : 'done'
    default:
      return isHeld(fiber) ? 'restart' : 'done' // held: the supervisor stopped it itself, for its group (S44)
  }
}

/** Tells the callbacks of an end; gives what they decide, if they do. */
export function* tell({ fiber, outcome }: End, { onError, onDone }: Policy): Routine<Verdict | undefined> {
  let said: Verdict | undefined
  if (onError !== undefined && outcome.type === 'error') {
    said = readVerdict(yield* call(onError, outcome.error, fiber))
  }
  if (onDone !== undefined) said = readVerdict(yield* call(onDone, fiber, outcome)) ?? said
  return said
}

/** A callback. `(fiber) => fiber.restart()` returns the fiber, which is not to be waited for. */
function* call(body: (...args: any[]) => unknown, ...args: unknown[]): Routine<unknown> {
  const returned = body(...args)
  return returned instanceof Fiber ? undefined : yield* runReturned(returned, body)
}

function readVerdict(returned: unknown): Verdict | undefined {
  if (returned === 'restart') return 'restart'
  return returned === 'ignore' ? 'done' : undefined
}
