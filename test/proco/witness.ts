// Looks on while items are handed in and handled, and says at the end whether the promises were kept: one outcome for
// each (S78), room (S79) and order (S80). One for each run, from a start to the end.

import { type Future, Proco, type ProcoOptions, type ProcoStats, type SubmitOptions } from 'polyphony/proco'
import { assert, type Fiber, isStop, type Routine, spin } from '../prelude.js'
import type { Any } from './handlers.js'

/** What a handler is. */
export type Form = 'fiber' | 'plain' | 'async'

/** An item has a name, and a key if it is submitted with one. */
export interface Item {
  readonly id: number
  readonly key?: unknown
}

export class Witness {
  // Items in the order in which they came to the counter, and in which handlers got them:
  private readonly arrived: Item[] = []
  private readonly begun: Item[] = []
  // Items in the hands of handlers now:
  private readonly held = new Set<Item>()
  private readonly futures: Future<any>[] = []
  private readonly faults: string[] = []
  // How many waits for a result have ended how:
  private readonly told = { value: 0, error: 0 }
  private handlers = 0
  private made = 0
  private form: Form = 'fiber'
  private last: ProcoStats | null = null

  constructor(
    readonly options: ProcoOptions = {},
    private readonly body: (given: any, work: any) => any = () => 'done',
    readonly proco: Any = new Proco(options as object) as unknown as Any,
  ) {}

  /** Futures without an outcome. */
  get open(): number {
    return this.futures.filter((future) => !future.done).length
  }
  // What async functions that are no longer waited for do, no executor can hold back.
  private get isLoose(): boolean {
    return this.form === 'async'
  }

  item(key?: unknown): Item {
    return { id: this.made++, key }
  }

  /** Starts the executor; the fiber that calls this owns it. */
  start(form: Form = 'fiber'): this {
    this.form = form
    this.proco.start({ fiber: this.inFiber(), plain: this.plain, async: this.later }[form])
    return this
  }
  private inFiber(): (given: any, work: any) => Routine<any> {
    const witness = this
    return function* (given, work) {
      const items = witness.begin(given)
      try {
        const returned = witness.body(given, work)
        return typeof returned?.next === 'function' ? yield* returned : returned
      } finally {
        witness.end(items)
      }
    }
  }
  private readonly plain = (given: any, work: any): any => {
    const items = this.begin(given)
    try {
      return this.body(given, work)
    } finally {
      this.end(items)
    }
  }
  private readonly later = async (given: any, work: any): Promise<any> => {
    const items = this.begin(given)
    try {
      return await this.body(given, work)
    } finally {
      this.end(items)
    }
  }

  private begin(given: Item | Item[]): Item[] {
    const items = [given].flat()
    const { begun, held, isLoose } = this
    const { threads = 1, batchSize = Infinity } = this.options
    this.handlers++
    this.expect(isLoose || this.handlers <= threads, `${this.handlers} handlers at a time, of ${threads}`)
    for (const item of items) {
      this.expect(!begun.includes(item), `S78 item ${item.id} was handled twice`)
      for (const { id, key } of isLoose || item.key === undefined ? [] : held)
        this.expect(key !== item.key, `S80 items ${id} and ${item.id} of key ${String(key)} at a time`)
    }
    begun.push(...items)
    for (const item of items) held.add(item)
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
    const { queueSize = 1000, queues = 1 } = this.options
    this.expect(depth <= queueSize * queues, `S79 ${depth} items in queues for ${queueSize}`)
    const inHands = accepted - depth - done - failed - cancelled
    this.expect(inHands >= 0, 'S78 the counts do not add up')
    this.expect(running > 0 || inHands === 0, 'S78 items are in no hands')
    this.expect(waiting === 0 || depth >= queueSize, 'S79 a submitter waits, and there is room')
  }

  // Kept for the end: an error in a handler would be the handler's.
  private expect(holds: boolean, what: string): void {
    if (!holds) this.faults.push(what)
  }

  // ---- submitters

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

  /** By async code; by `then`, since `await` begins it a moment later. */
  async awaitSubmit(item: Item, options?: SubmitOptions): Promise<any> {
    this.arrived.push(item)
    try {
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
  close(): ProcoStats {
    const stats = (this.last = this.proco.stats())
    const { state, depth, waiting, accepted, done, failed, cancelled } = stats
    assert.deepEqual({ state, depth, waiting }, { state: 'idle', depth: 0, waiting: 0 })
    assert.equal(accepted, done + failed + cancelled, 'S78 the counts do not add up')
    assert.equal(this.open, 0, 'S78 a future is open')
    return stats
  }

  /** When it has ended, and all fibers with it. */
  check(): void {
    const { futures, told, begun, arrived } = this
    const { threads = 1, queues = 1 } = this.options
    if (this.last === null) assert.equal(this.close().running, 0)
    const { accepted, done, failed, cancelled } = this.last as ProcoStats
    assert.deepEqual(this.faults, [])
    assert.ok(this.isLoose || this.handlers === 0)
    const of = (wanted: string) => futures.filter((future) => future.state === wanted).length
    assert.equal(done, of('done') + told.value, 'S78 a result went to none, or to two')
    assert.ok(accepted >= futures.length)
    assert.ok(failed >= of('failed') && failed <= of('failed') + told.error)
    assert.ok(cancelled >= of('cancelled'))
    // S80: with one queue and one thread all in order, with more those of one key.
    if (threads === 1 && queues === 1) assertWithin(begun, arrived)
    for (const key of new Set(begun.map((item) => item.key))) {
      const ofKey = (item: Item) => item.key === key
      if (key !== undefined) assertWithin(begun.filter(ofKey), arrived.filter(ofKey))
    }
  }

  /** It can be started again, and works. */
  *again(): Routine<void> {
    const { proco } = this
    proco.start((given) => (Array.isArray(given) ? given.map(() => 'again') : 'again'))
    assert.equal([yield* proco.submit({ id: -1 })].flat()[0], 'again')
    yield* proco.exit()
    const { accepted, done } = proco.stats()
    assert.deepEqual([proco.state, accepted, done], ['idle', 1, 1])
  }
}

function withKey({ key }: Item, options: SubmitOptions | undefined): SubmitOptions | undefined {
  return key === undefined ? options : { ...options, key }
}

/** Items that were handled came in this order; some were not handled. */
function assertWithin(some: Item[], all: Item[]): void {
  const places = some.map((item) => all.indexOf(item))
  assert.deepEqual(
    places,
    [...places].sort((a, b) => a - b),
    'S80 an item was handled before one that came earlier',
  )
  assert.ok(!places.includes(-1))
}

const EXPECTED = ['CANCEL', 'TIMED_OUT', 'KILLED', 'NOT_RUNNING', 'MISSING_RESULT', 'INJECTED_FAILURE']

/** What may come out of a submission. */
export function isExpected(error: unknown): boolean {
  const { code, message } = error as { code?: string; message: string }
  return EXPECTED.includes(code as string) || /killed|not this time/.test(message)
}

/** A fiber of its own, whose failures are those of no other. */
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
