// Looks on while items are handed in and handled, and says at the end whether the promises were kept: one outcome for
// each (S78), room (S79) and order (S80). One for each run, from a start to the end.

import assert from 'node:assert/strict'
import { type Fiber, isStop, type Op, type Routine, spin } from 'polyphony'
import {
  type Executor,
  type Future,
  Proco,
  type ProcoOptions,
  type ProcoStats,
  type SubmitOptions,
} from 'polyphony/proco'

/** What a handler is. */
export type Form = 'fiber' | 'plain' | 'async'
export type AnyExecutor = Executor<any, any, any>

/** What an item is, for those who look: its name, and its key if it has one. */
export interface Item {
  readonly id: number
  readonly key?: unknown
}

export class Witness {
  /** Items in the order in which they came to the counter, and in which handlers got them. */
  private readonly arrived: Item[] = []
  private readonly begun: Item[] = []
  /** Items in the hands of handlers now. */
  private readonly held = new Set<Item>()
  private readonly futures: Future<any>[] = []
  private handlers = 0
  private readonly faults: string[] = []
  /** What those who waited for a result were told. */
  private readonly told = { value: 0, error: 0 }
  /** What was cancelled or timed out in the line is not accepted, and cannot be told from what was. */
  private made = 0
  private form: Form = 'fiber'
  private last: ProcoStats | null = null

  constructor(
    readonly options: ProcoOptions = {},
    private readonly body: (given: any, work: any) => unknown = () => 'done',
    readonly proco: AnyExecutor = new Proco(options as object) as unknown as AnyExecutor,
  ) {}

  /** Futures without an outcome. */
  get open(): number {
    return this.futures.filter((future) => !future.done).length
  }
  /** What async functions that are no longer waited for do, nobody can hold back. */
  private get isLoose(): boolean {
    return this.form === 'async'
  }
  get threads(): number {
    return this.options.threads ?? 1
  }
  get queues(): number {
    return this.options.queues ?? 1
  }

  item(key?: unknown): Item {
    return { id: this.made++, key }
  }

  /** Starts it; whoever calls this is the starter. */
  start(form: Form = 'fiber'): this {
    this.form = form
    this.proco.start(this.handler(form))
    return this
  }

  private handler(form: Form): (given: any, work: any) => any {
    const { body } = this
    const witness = this
    if (form === 'async') {
      return async (given, work) => {
        const items = witness.begin(given)
        try {
          return await body(given, work)
        } finally {
          witness.end(items)
        }
      }
    }
    if (form === 'plain') {
      return (given, work) => {
        const items = witness.begin(given)
        try {
          return body(given, work)
        } finally {
          witness.end(items)
        }
      }
    }
    return function* (given: any, work: any): Routine<any> {
      const items = witness.begin(given)
      try {
        const returned = body(given, work)
        return isOp(returned) ? yield* returned : returned
      } finally {
        witness.end(items)
      }
    }
  }

  private begin(given: Item | Item[]): Item[] {
    const items = Array.isArray(given) ? [...given] : [given]
    const { threads, begun, held, isLoose } = this
    this.handlers++
    this.expect(isLoose || this.handlers <= threads, `${this.handlers} handlers at a time, of ${threads}`)
    for (const item of items) {
      this.expect(!begun.includes(item), `S78 item ${item.id} was handled twice`)
      for (const other of held) {
        this.expect(
          isLoose || item.key === undefined || other.key !== item.key || items.includes(other),
          `S80 items ${other.id} and ${item.id} of key ${String(item.key)} at a time`,
        )
      }
      begun.push(item)
      held.add(item)
    }
    const { batchSize = Infinity } = this.options
    this.expect(items.length > 0 && items.length <= batchSize, `S81 a batch of ${items.length}`)
    this.expect(this.last === null && this.proco.state !== 'idle', 'S84 a handler began after the end')
    this.look()
    return items
  }

  private end(items: Item[]): void {
    this.handlers--
    for (const item of items) this.held.delete(item)
  }

  /** What holds at every moment. */
  look(): void {
    if (this.last !== null) return
    const { depth, accepted, done, failed, cancelled, running, waiting } = this.proco.stats()
    const { queueSize = 1000 } = this.options
    this.expect(depth <= queueSize * this.queues, `S79 ${depth} items in queues for ${queueSize}`)
    const inHands = accepted - depth - done - failed - cancelled
    this.expect(inHands >= 0, 'S78 the counts do not add up')
    this.expect(running > 0 || inHands === 0, 'S78 items are in no hands')
    this.expect(waiting === 0 || depth >= queueSize, 'S79 someone waits, and there is room')
  }

  /** Kept for the end: an error in a handler would be the handler's. */
  private expect(holds: boolean, what: string): void {
    if (!holds) this.faults.push(what)
  }

  // ---- those who hand in

  *submit(item: Item, options?: SubmitOptions): Routine<any> {
    this.arrived.push(item)
    try {
      const value = yield* this.proco.submit(item, withKey(item, options))
      this.told.value++
      return value
    } catch (error) {
      if (!isStop(error)) this.told.error++
      throw error
    } finally {
      this.look()
    }
  }

  *submitAsync(item: Item, options?: SubmitOptions): Routine<Future<any>> {
    this.arrived.push(item)
    const future = yield* this.proco.submitAsync(item, withKey(item, options))
    this.futures.push(future)
    this.look()
    return future
  }

  /** By async code. */
  async awaitSubmit(item: Item, options?: SubmitOptions): Promise<any> {
    this.arrived.push(item)
    try {
      // By `then`, since `await` begins it a moment later.
      const value = await this.proco.submit(item, withKey(item, options)).then((result) => result)
      this.told.value++
      return value
    } catch (error) {
      this.told.error++
      throw error
    }
  }

  async awaitSubmitAsync(item: Item, options?: SubmitOptions): Promise<Future<any>> {
    this.arrived.push(item)
    const future = await this.proco.submitAsync(item, withKey(item, options)).then((given) => given)
    this.futures.push(future)
    return future
  }

  trySubmit(item: Item, options?: SubmitOptions): Future<any> | undefined {
    const future = this.proco.trySubmit(item, withKey(item, options))
    if (future !== undefined) {
      this.arrived.push(item)
      this.futures.push(future)
    }
    this.look()
    return future
  }

  // ---- the end

  /** It is idle, and about to be started again: no item is open any more. */
  close(): void {
    const stats = (this.last = this.proco.stats())
    const { state, depth, waiting, accepted, done, failed, cancelled } = stats
    assert.deepEqual({ state, depth, waiting }, { state: 'idle', depth: 0, waiting: 0 })
    assert.equal(accepted, done + failed + cancelled, 'S78 the counts do not add up')
    assert.equal(this.open, 0, 'S78 a future is open')
  }

  /** When it has ended, and everybody has gone home. */
  check(): void {
    const { futures, told } = this
    if (this.last === null) {
      this.close()
      assert.equal((this.last as unknown as ProcoStats).running, 0)
    }
    const { accepted, done, failed, cancelled } = this.last as unknown as ProcoStats
    assert.deepEqual(this.faults, [])
    assert.ok(this.isLoose || this.handlers === 0)
    const of = (wanted: string) => futures.filter((future) => future.state === wanted).length
    assert.equal(done, of('done') + told.value, 'S78 a result went to nobody, or to two')
    assert.ok(accepted >= futures.length)
    assert.ok(failed >= of('failed') && failed <= of('failed') + told.error)
    assert.ok(cancelled >= of('cancelled'))
    this.checkOrder()
  }

  /** S80: with one queue and one thread all in order, with more those of one key. */
  checkOrder(): void {
    const { arrived, begun, threads, queues } = this
    if (threads === 1 && queues === 1) assertWithin(begun, arrived)
    const keys = new Set(begun.map((item) => item.key))
    keys.delete(undefined)
    for (const key of keys) {
      const ofKey = (item: Item) => item.key === key
      assertWithin(begun.filter(ofKey), arrived.filter(ofKey))
    }
  }

  /** All handled items are gone, so it can be started again, and works. */
  *again(): Routine<void> {
    const { proco } = this
    proco.start((given: any) => (Array.isArray(given) ? given.map(() => 'again') : 'again'))
    const value = yield* proco.submit({ id: -1 })
    assert.ok(value === 'again' || value[0] === 'again')
    yield* proco.exit()
    const { accepted, done } = proco.stats()
    assert.deepEqual([proco.state, accepted, done], ['idle', 1, 1])
  }
}

function isOp(returned: unknown): returned is Op<unknown> {
  return typeof (returned as Iterator<unknown> | null)?.next === 'function'
}

function withKey(item: Item, options: SubmitOptions | undefined): SubmitOptions | undefined {
  return item.key === undefined ? options : { ...options, key: item.key }
}

/** Those that were handled came in this order; some were not handled. */
function assertWithin(some: Item[], all: Item[]): void {
  let at = -1
  for (const item of some) {
    const next = all.indexOf(item)
    assert.ok(next > at, `S80 item ${item.id} was handled before one that came earlier`)
    at = next
  }
}

const EXPECTED = ['CANCEL', 'TIMED_OUT', 'KILLED', 'NOT_RUNNING', 'MISSING_RESULT', 'INJECTED_FAILURE']

/** What may come out of a submission. */
export function isExpected(error: unknown): boolean {
  const { code, message } = error as { code?: string; message: string }
  return EXPECTED.includes(code as string) || /killed|not this time/.test(message)
}

/** A fiber of its own, whose failures are nobody else's. */
export function aside(body: () => unknown): Fiber<any> {
  return spin({ link: false }, body as () => Routine<unknown>)
}

/** Waits for all of them; none may end in a way that is not expected. */
export function* joinAll(fibers: Iterable<Fiber<any>>): Routine<void> {
  for (const fiber of fibers) {
    const outcome = yield* fiber.join()
    assert.notEqual(outcome.type, 'abandoned')
    if (outcome.type === 'error' && !isExpected(outcome.error)) throw outcome.error
  }
}
