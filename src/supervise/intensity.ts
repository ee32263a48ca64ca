// How often children were restarted: too often is a failure of the supervisor (S43); again and again makes waits longer.

import type { Fiber } from '../core/index.js'
import { RestartIntensityError } from './errors.js'
import type { Policy } from './options.js'

export class Intensity {
  /** When children were restarted, as far back as it matters. */
  private readonly times: number[] = []
  /** Children that were restarted: how often in a row, and when they last came back. */
  private readonly rows = new WeakMap<Fiber, { nth: number; since: number }>()

  constructor(
    private readonly host: Fiber,
    private readonly policy: Policy,
  ) {}

  /** Another restart; counted when it is decided, so waiting before it does not help. Throws if it is one too many. */
  count(child: Fiber, lastError: unknown): void {
    const { restarts, within } = this.policy
    if (restarts === Infinity) return
    const { times } = this
    const now = this.host.runtime.now()
    while (times.length > 0 && (times[0] as number) < now - within) times.shift()
    if (times.push(now) <= restarts) return
    throw new RestartIntensityError(
      `${child.name} would be restart number ${times.length} within ${within} ms in ${this.host.path}, which allows ${restarts}. ` +
        'Mend the child, wait longer between restarts with {backoff}, or allow more with {intensity: {restarts, within}}.',
      { cause: lastError },
    )
  }

  /** How long to wait before this restart. A child that has lived for longer than `within` begins a new row. */
  delay(child: Fiber): number {
    const row = this.rows.get(child)
    const isNew = row === undefined || this.host.runtime.now() - row.since > this.policy.within
    const nth = isNew ? 1 : row.nth + 1
    this.rows.set(child, { nth, since: Infinity })
    return this.policy.delay(nth)
  }

  /** It lives again. */
  cameBack(child: Fiber): void {
    const row = this.rows.get(child)
    if (row !== undefined) row.since = this.host.runtime.now()
  }
}
