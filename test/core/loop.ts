// An event loop driven by hand, with a clock that is set by the test: no load of the machine changes what it counts.

import type { Backend, Fiber, RuntimeStats } from 'polyphony'
import { spinRoot, type TimerNode } from 'polyphony/op'
import { Runtime } from '#core/index'

/** The inside of a runtime, as its backend and tools see it: the declarations of the package have only what ops may use. */
interface Inside extends Runtime {
  turn(): void
  batch(): void
  arrive(fiber: Fiber, op: object | null, how: number, value: unknown): void
  addWeakTimer(node: TimerNode, time: number): void
  readonly nextTimer: number
  meter: object | null
  stats(): RuntimeStats
  close(): void
}
const RuntimeInside = Runtime as unknown as new (connect: () => Backend) => Inside

export class Loop {
  time = 0
  /** What the runtime has asked for and not got yet: a turn soon, or one after the event loop's own. */
  wakes = 0
  yields = 0
  /** When it wants to be called, and whether a fiber waits for that. */
  alarm = Number.POSITIVE_INFINITY
  isAwaited = false
  /** How often it has looked at the clock, and told when it wants to be called. */
  reads = 0
  rests = 0
  readonly held: boolean[] = []
  readonly reports: string[] = []
  readonly runtime = new RuntimeInside(() => ({
    now: () => {
      this.reads++
      return this.time
    },
    wake: () => this.wakes++,
    isDirect: true,
    yieldTurn: () => this.yields++,
    rest: (next, isAwaited) => {
      this.rests++
      this.alarm = next
      this.isAwaited = isAwaited
    },
    hold: (isHeld) => this.held.push(isHeld),
    report: ({ kind, message }) => this.reports.push(`${kind}: ${message}`),
  }))

  spin(body: () => unknown): Fiber {
    return spinRoot(this.runtime, body, { name: 'root' })
  }

  /** Gives every turn that is asked for, and lets time jump to the alarm, until nothing is asked for. */
  run(): void {
    for (;;) {
      if (this.wakes > 0) {
        this.wakes--
        this.runtime.turn()
      } else if (this.yields > 0) {
        this.yields--
        this.runtime.batch()
      } else if (this.alarm < Number.POSITIVE_INFINITY) {
        this.time = Math.max(this.time, this.alarm)
        this.alarm = Number.POSITIVE_INFINITY
        this.runtime.batch()
      } else break
    }
    this.runtime.close()
  }
}
