// Who is watched: the fibers of a list, or all children of a fiber. Nothing is kept of children that were not listed (S04).

import type { Fiber } from '../core/index.js'
import type { RestartRule } from './options.js'

/** What is known of a child that was listed. */
interface Entry {
  /** Its place in the list. */
  readonly place: number
  readonly rule: RestartRule
  /** It was given a grace of its own. */
  readonly hasGrace: boolean
}

export class Roster {
  /** In start order; null: all children are watched. */
  private readonly listed: Map<Fiber, Entry> | null
  /** Children that hang on something further out than the scope in which `supervise` was called: not ours. */
  private readonly bystanders = new WeakSet<Fiber>()
  private places = 0

  constructor(
    private readonly host: Fiber,
    isList: boolean,
    private readonly rule: RestartRule,
  ) {
    this.listed = isList ? new Map() : null
    let region = host.innermost
    while (!region.isOwner) region = region.outer as typeof region
    for (const child of isList ? [] : host.children) {
      if (child.owner !== region) this.bystanders.add(child)
    }
  }

  add(child: Fiber, rule: RestartRule = this.rule, hasGrace = false): void {
    this.listed?.set(child, { place: this.places++, rule, hasGrace })
  }

  /** It has another parent now. */
  drop(child: Fiber): void {
    this.listed?.delete(child)
  }

  has(child: Fiber): boolean {
    if (this.listed !== null) return this.listed.has(child)
    return child.parent === this.host && !this.bystanders.has(child)
  }

  ruleOf(child: Fiber): RestartRule {
    return this.listed?.get(child)?.rule ?? this.rule
  }

  /** For ever, if it supervises others itself: their grace bounds it (S44). Undefined: its own. */
  graceOf(child: Fiber): number | undefined {
    const isSupervisor = child.cold?.supervisor != null
    return isSupervisor && !this.listed?.get(child)?.hasGrace ? Infinity : undefined
  }

  /** Those that live, newest first; not in start order. */
  *living(): Generator<Fiber> {
    for (let region = this.host.innermost as typeof this.host.innermost | null; region !== null; ) {
      for (let child = region.newest; child !== null; child = child.older) {
        if (this.has(child)) yield child
      }
      region = region.outer
    }
  }

  hasLiving(): boolean {
    for (const _ of this.living()) return true
    return false
  }

  /** Those that live, and the dead ones given, in start order: that of the list, else that in which they were spun. */
  inOrder(dead: Iterable<Fiber>): Fiber[] {
    return this.sort(new Set([...this.living(), ...dead]))
  }

  /** Those of them that are watched, in start order. */
  sort(children: Iterable<Fiber>): Fiber[] {
    const { listed } = this
    if (listed === null) return [...children].sort((a, b) => a.id - b.id)
    const placeOf = (child: Fiber) => (listed.get(child) as Entry).place
    return [...children].filter((child) => listed.has(child)).sort((a, b) => placeOf(a) - placeOf(b))
  }
}
