// Watches the shop of a random program: each construct keeps a book of what it was given and what it gave, and is looked
// at whenever nobody can run (`quiet`), and at the end. The rules:
//
//   S36 nobody waits while what they wait for is free          S52 nobody is served before those who came earlier
//   S34 no item, permit, lock, signal, answer is lost or doubled: what was given = what was taken + what is there
//   S16b, S60 what was taken by `use` is let go once, newest first      and what `stats()` says is so

import { type Call, type ChildSpec, Fiber, type Op, type Outcome, type Routine, receive } from 'polyphony'
import { onEnd } from 'polyphony/op'
import type { Watch } from '../invariants.js'
import type { Recorder } from '../run.js'
import type { Book, Desk, Wait } from './books/book.js'
import { CallBook } from './books/call.js'
import { ConditionBook } from './books/condition.js'
import { EventBook } from './books/event.js'
import { MutexBook } from './books/mutex.js'
import { PoolBook } from './books/pool.js'
import { QueueBook } from './books/queue.js'
import { SemaphoreBook } from './books/semaphore.js'
import { ThrottlerBook } from './books/throttler.js'
import { UseBook } from './books/use.js'
import type { Resource, Shop } from './shop.js'

/** The books of a shop, and the words of a program that is watched. */
export class Ledger {
  private readonly books: Book[]
  private readonly pools: PoolBook[]
  private readonly names: Record<string, unknown>

  constructor(
    private readonly shop: Shop,
    private readonly recorder: Recorder,
    private readonly watch: Watch,
    hooks: { wait: Wait; cleanup: (body: () => Op<unknown>) => Op<void> },
    sleep: (ms: number) => Op<void>,
  ) {
    const desk: Desk = { watch, wait: hooks.wait, now: () => recorder.now, reports: () => recorder.reports }
    const q = shop.q.map((queue) => new QueueBook(queue.name, desk, queue))
    const m = shop.m.map((mutex) => new MutexBook(mutex.name, desk, mutex))
    const s = shop.s.map((semaphore) => new SemaphoreBook(semaphore.name, desk, semaphore))
    const c = shop.c.map(
      (condition, i) => new ConditionBook(`c${i}`, desk, condition, i === 1 ? m[0] : undefined),
    )
    const ev = shop.ev.map((event, i) => new EventBook(`e${i}`, desk, event, i === 1))
    const t = shop.t.map((throttler, i) => new ThrottlerBook(`t${i}`, desk, throttler))
    this.pools = shop.p.map((pool, i) => new PoolBook(`p${i}`, desk, pool, shop.made[i] as Resource[]))
    const calls = new CallBook('call', desk)
    const uses = new UseBook(desk, recorder.error, hooks.cleanup)
    this.books = [...q, ...m, ...s, ...c, ...ev, ...t, ...this.pools, calls, uses]
    const words = shop.words()
    this.names = {
      ...words,
      ...{ q, m, s, c, ev, t, p: this.pools },
      *pushTo(fiber: Fiber, message: string): Routine<boolean> {
        watch.sent(fiber, message, true)
        let isIn = false
        try {
          isIn = yield* hooks.wait('op', fiber.mailbox.push(message))
          return isIn
        } finally {
          watch.pushed(fiber, message, isIn)
        }
      },
      *pick(match: (message: unknown) => boolean): Routine<unknown> {
        return watch.receives(yield* hooks.wait('idle', receive(match)), match)
      },
      ask: (fiber: Fiber, question: string, options?: { timeout: number }) =>
        calls.ask(fiber, question, options),
      serve: (how: string, question: Call) => words.serve(how, calls.overheard(question)),
      take: (name: string, ms: number, fails: boolean) =>
        uses.take(name, ms, fails, (ms) => hooks.wait('sleep', sleep(ms), ms)),
      family: (children: (Fiber | ChildSpec | undefined)[]) =>
        words.family(children).map((child) => {
          if (child instanceof Fiber) {
            watch.isSupervised(child)
            return child
          }
          const body = function* (): Routine<unknown> {
            watch.isSupervised(Fiber.current)
            return yield* child.body() as Op<unknown>
          }
          return { ...child, body }
        }),
      /** A fiber that is given to `any` or `allSettled` may fail by itself, too. */
      candidates: (items: (Fiber | (() => Op<unknown>) | undefined)[]) => {
        const list = words.members(items)
        for (const item of list) {
          if (!(item instanceof Fiber)) continue
          onEnd(item, () => item.outcome?.type === 'error' && watch.sees('team', item.outcome.error))
        }
        return list
      },
      hears: (error: unknown) => {
        watch.sees(Fiber.current, error)
        return true
      },
      settled: (outcomes: Outcome<unknown>[]) => {
        for (const outcome of outcomes) if (outcome.type === 'error') watch.sees(Fiber.current, outcome.error)
        return outcomes
      },
      /** A member of `any` or `allSettled` may fail by itself. */
      tolerated: (body: () => Op<unknown>) =>
        function* (): Routine<unknown> {
          try {
            return yield* body()
          } catch (thrown) {
            watch.sees('team', thrown)
            throw thrown
          }
        },
    }
  }

  words(): Record<string, unknown> {
    return this.names
  }

  quiet(): void {
    for (const error of this.shop.unheard.splice(0)) this.watch.sees('nobody', error)
    for (const book of this.books) book.quiet()
    for (const fiber of this.recorder.f) if (fiber) this.watch.looksAtMailbox(fiber)
  }
  end(): void {
    for (const error of this.shop.unheard.splice(0)) this.watch.sees('nobody', error)
    for (const book of this.books) book.end()
  }
}
