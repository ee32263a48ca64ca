// Dead children that will be restarted, and when: a heap, since there may be many of them.

import { type Fiber, type TimerNode, Timers } from '../core/index.js'

export class Due {
  private readonly times = new Timers()
  private readonly entries = new Map<Fiber, Entry>()

  get size(): number {
    return this.entries.size
  }
  /** When the next one is due, Infinity if there is none. */
  get next(): number {
    return this.times.next
  }

  has(child: Fiber): boolean {
    return this.entries.has(child)
  }

  fibers(): Iterable<Fiber> {
    return this.entries.keys()
  }

  add(child: Fiber, time: number): void {
    this.remove(child)
    const entry = new Entry(this, child)
    this.entries.set(child, entry)
    this.times.add(entry, time)
  }

  remove(child: Fiber): void {
    const entry = this.entries.get(child)
    if (entry === undefined) return
    this.entries.delete(child)
    this.times.remove(entry)
  }

  /** Those whose time has come; they are not in here any more. */
  take(now: number): Fiber[] {
    this.times.fire(now)
    const { ready } = this
    this.ready = [] // nothing is kept of them (S04)
    return ready
  }
  private ready: Fiber[] = []

  /** @internal For `Entry`. */
  came(child: Fiber): void {
    this.entries.delete(child)
    this.ready.push(child)
  }
}

class Entry implements TimerNode {
  time = 0
  seq = 0
  index = -1

  constructor(
    private readonly due: Due,
    private readonly child: Fiber,
  ) {}

  fire(): void {
    this.due.came(this.child)
  }
}
