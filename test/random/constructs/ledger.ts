// Watches the shop of a random program: each construct keeps a book of what it was given and what it gave, and is looked
// at whenever nobody can run (`quiet`), and at the end. The rules:
//
//   S36 nobody waits while what they wait for is free          S52 nobody is served before those who came earlier
//   S34 no item, permit, lock, signal, answer is lost or doubled: what was given = what was taken + what is there
//   S16b, S60 what was taken by `use` is let go once, newest first      and what `stats()` says is so

import {
  call as ask,
  type Call,
  type ChildSpec,
  type Condition,
  type Event,
  Fiber,
  isStop,
  type Mutex,
  type Op,
  type Outcome,
  type Queue,
  type ResourcePool,
  type Routine,
  receive,
  type Semaphore,
  type Throttler,
  use,
} from 'polyphony'
import { innermostOwner } from '#core/spin'
import type { Kind, Watch } from '../invariants.js'
import type { Recorder } from '../run.js'
import { answerTo, type Resource, type Shop } from './shop.js'

type Wait = <T>(kind: Kind, op: Op<T>, ms?: number) => Routine<T>

/** What every book needs. */
interface Desk {
  watch: Watch
  wait: Wait
  now: () => number
  reports: () => { message: string }[]
}

/** Whose turn it is: those who came first. Fibers that a construct moves by itself have no number. */
class Line {
  private static count = 0
  private readonly numbers = new Map<Fiber, number>()

  constructor(
    private readonly name: string,
    private readonly desk: Desk,
    private readonly places: () => Iterable<{ fiber: Fiber | null }>,
  ) {}

  /** Gives a number, which is lower than all others for one who is in already and need not wait. */
  joins(isIn = false): number {
    if (isIn) return 0
    const number = ++Line.count
    this.numbers.set(Fiber.current, number)
    return number
  }
  /** The current fiber has got what it waited for. */
  served(number: number): void {
    for (const { fiber } of this.places()) {
      const other = this.numbers.get(fiber as Fiber)
      if (other !== undefined && other < number) {
        this.desk.watch.break('S52', `${Fiber.current.name} was served before ${fiber?.name} by ${this.name}`)
      }
    }
    this.left()
  }
  left(): void {
    this.numbers.delete(Fiber.current)
  }
}

abstract class Book {
  constructor(
    protected readonly name: string,
    protected readonly desk: Desk,
  ) {}
  /** Nobody can run: everything that was given has arrived. */
  abstract quiet(): void
  /** All fibers are over. */
  abstract end(): void

  protected expect(is: boolean, rule: string, what: string): void {
    if (!is) this.desk.watch.break(rule, `${this.name}: ${what}`)
  }
}

type ItemState = 'pushing' | 'in' | 'out' | 'refused'

class QueueBook extends Book {
  private readonly states = new Map<string, ItemState>()
  private before: string[] = []
  private accepted = 0
  private taken = 0
  private readonly pushers: Line
  private readonly shifters: Line

  constructor(
    name: string,
    desk: Desk,
    private readonly queue: Queue<string>,
  ) {
    super(name, desk)
    this.pushers = new Line(name, desk, () => (queue as any).pushers)
    this.shifters = new Line(name, desk, () => (queue as any).shifters)
  }

  private get content(): string[] {
    const { items } = this.queue as any
    return Array.from({ length: items.size }, (_, i) => items.at(i))
  }

  *push(item: string): Routine<void> {
    this.states.set(item, 'pushing')
    const number = this.pushers.joins()
    let isIn = false
    try {
      yield* this.desk.wait('op', this.queue.push(item))
      isIn = true
      this.accepts(item)
      this.pushers.served(number)
    } finally {
      this.pushers.left()
      if (!isIn) this.refuses(item)
    }
  }
  private accepts(item: string): void {
    this.accepted++
    if (this.states.get(item) !== 'out') this.states.set(item, 'in')
  }
  private refuses(item: string): void {
    this.expect(this.states.get(item) !== 'out', 'S34', `${item} was refused, and taken`)
    this.states.set(item, 'refused')
  }
  tryPush(item: string): boolean {
    this.states.set(item, 'refused')
    const isIn = this.queue.tryPush(item)
    if (isIn) {
      this.states.set(item, 'in')
      this.accepts(item)
    }
    return isIn
  }
  unshift(item: string): void {
    this.states.set(item, 'in')
    this.before = []
    this.queue.unshift(item)
    this.accepts(item)
  }

  private takes<T>(item: T): T {
    const state = this.states.get(item as string)
    this.expect(state === 'in' || state === 'pushing', 'S34', `${item} came out, and was ${state}`)
    this.states.set(item as string, 'out')
    this.taken++
    return item
  }
  *shift(op: Op<any> = this.queue.shift()): Routine<any> {
    const number = this.shifters.joins()
    try {
      const item = yield* this.desk.wait('idle', op)
      if (typeof item === 'string') this.takes(item)
      this.shifters.served(number)
      return item
    } finally {
      this.shifters.left()
    }
  }
  iterate() {
    return { next: () => this.shift(this.queue.iterate().next()) }
  }
  tryShift(): string | undefined {
    const item = this.queue.tryShift()
    return item === undefined ? item : this.takes(item)
  }
  shiftAll(): string[] {
    return this.queue.shiftAll().map((item) => this.takes(item))
  }
  clear(): void {
    for (const item of this.content) this.states.set(item, 'out')
    this.queue.clear()
    this.before = []
    this.cleared = this.queue.stats().pushed - this.queue.stats().shifted - this.queue.size
  }
  private cleared = 0
  set capacity(capacity: number) {
    this.queue.capacity = capacity
  }
  [Symbol.dispose](): void {
    this.queue[Symbol.dispose]()
  }

  quiet(): void {
    const { size, capacity, shifting, pushing, pushed, shifted, closed } = this.queue.stats()
    const { content } = this
    this.expect(
      shifting === 0 || (size === 0 && !closed),
      'S36',
      `${shifting} wait for an item, ${size} are there`,
    )
    this.expect(
      pushing === 0 || (size >= capacity && !closed),
      'S36',
      `${pushing} wait for room, ${size} are there`,
    )
    this.expect(
      pushed === this.accepted && shifted === this.taken,
      'stats',
      `${pushed} pushed, ${shifted} shifted`,
    )
    this.expect(size === content.length && pushed - shifted - this.cleared === size, 'stats', `${size} items`)
    for (const item of content) {
      const state = this.states.get(item)
      this.expect(state === 'in', 'S34', `${item} is in it, and was ${state}`)
    }
    for (const [item, state] of this.states) {
      if (state === 'in') this.expect(content.includes(item), 'S34', `${item} was lost`)
    }
    const kept = this.before.filter((item) => content.includes(item))
    const inOrder =
      kept.every((item, i) => content[i] === item) &&
      this.before.slice(-kept.length || Infinity).every((item, i) => kept[i] === item)
    this.expect(inOrder, 'S52', `[${this.before}] became [${content}]`)
    this.before = content
  }
  end(): void {
    this.quiet()
    const { shifting, pushing } = this.queue.stats()
    this.expect(shifting + pushing === 0, 'S01', 'somebody still waits')
  }
}

class MutexBook extends Book {
  private owner: { fiber: Fiber; incarnation: number; depth: number } | null = null
  private locked = 0
  private readonly line: Line
  readonly inner: Mutex

  constructor(name: string, desk: Desk, mutex: Mutex) {
    super(name, desk)
    this.inner = mutex
    this.line = new Line(name, desk, () => (mutex as any).line)
  }

  private get holder(): Fiber | null {
    const { owner } = this
    if (owner === null || owner.fiber.incarnation !== owner.incarnation || !(owner.fiber as any).willRun)
      return null
    return owner.fiber
  }
  /** The current fiber has locked it, so many times more. */
  takes(depth = 1, isNew = true): void {
    const fiber = Fiber.current
    const { holder } = this
    this.expect(holder === null || holder === fiber, 'S34', `${fiber.name} and ${holder?.name} hold it`)
    this.expect(this.inner.isHeld, 'S34', `${fiber.name} has locked it and does not hold it`)
    if (holder === fiber && this.owner) this.owner.depth += depth
    else {
      this.owner = { fiber, incarnation: fiber.incarnation, depth }
      if (isNew) this.locked++ // the wait of a condition may have been cut before it gave the lock up
    }
  }
  /** Undoes locks of the current fiber, all of them unless told otherwise; gives how many. */
  gives(depth?: number): number {
    if (this.holder !== Fiber.current || this.owner === null) return 0
    const given = depth ?? this.owner.depth
    this.owner.depth -= given
    if (this.owner.depth === 0) this.owner = null
    return given
  }
  *lock(): Routine<void> {
    const number = this.line.joins(this.inner.isHeld)
    try {
      yield* this.desk.wait('op', this.inner.lock())
      this.takes()
      this.line.served(number)
    } finally {
      this.line.left()
    }
  }
  tryLock(): boolean {
    const isLocked = this.inner.tryLock()
    if (isLocked) this.takes()
    else
      this.expect(
        this.inner.holder !== null && this.inner.holder !== Fiber.current,
        'S36',
        'tryLock() refused a free lock',
      )
    return isLocked
  }
  unlock(): void {
    this.gives(1)
    this.inner.unlock()
  }
  synchronize(body: () => Op<unknown>): Op<unknown> {
    const number = this.line.joins(this.inner.isHeld)
    const book = this
    return this.inner.synchronize(function* () {
      book.takes()
      book.line.served(number)
      try {
        return yield* body()
      } finally {
        book.gives(1)
      }
    })
  }

  quiet(): void {
    const { isLocked, depth, waiting, locked } = this.inner.stats()
    const { holder } = this
    this.expect(
      isLocked === (holder !== null),
      'S34',
      `${holder?.name} should hold it, ${this.inner.holder?.name} does`,
    )
    this.expect(depth === (holder === null ? 0 : this.owner?.depth), 'stats', `locked ${depth} times`)
    this.expect(waiting === 0 || isLocked, 'S36', `${waiting} wait for a free lock`)
    this.expect(locked === this.locked, 'stats', `${locked} locks, not ${this.locked}`)
  }
  end(): void {
    this.quiet()
    this.expect(!this.inner.isLocked && this.inner.waiting === 0, 'S01', 'it is still locked')
  }
}

class SemaphoreBook extends Book {
  private held = 0
  private acquired = 0
  private readonly line: Line

  constructor(
    name: string,
    desk: Desk,
    private readonly semaphore: Semaphore,
  ) {
    super(name, desk)
    this.line = new Line(name, desk, () => (semaphore as any).line)
  }

  private takes(number?: number): void {
    this.held++
    this.acquired++
    if (number !== undefined) this.line.served(number)
  }
  acquire(body?: () => Op<unknown>): Op<unknown> {
    const number = this.line.joins()
    const book = this
    if (body === undefined) return this.byHand(number)
    return this.semaphore.acquire(function* () {
      book.takes(number)
      try {
        return yield* body()
      } finally {
        book.held--
      }
    })
  }
  private *byHand(number: number): Routine<void> {
    try {
      yield* this.desk.wait('op', this.semaphore.acquire())
      this.takes(number)
    } finally {
      this.line.left()
    }
  }
  tryAcquire(): boolean {
    const isAcquired = this.semaphore.tryAcquire()
    if (isAcquired) this.takes()
    else
      this.expect(this.semaphore.inUse >= this.semaphore.limit, 'S36', 'tryAcquire() refused a free permit')
    return isAcquired
  }
  release(): void {
    this.held--
    this.semaphore.release()
  }
  set limit(limit: number) {
    this.semaphore.limit = limit
  }

  quiet(): void {
    const { limit, inUse, available, waiting, acquired } = this.semaphore.stats()
    this.expect(inUse === this.held, 'S34', `${inUse} permits are out, ${this.held} are held`)
    this.expect(waiting === 0 || inUse >= limit, 'S36', `${waiting} wait for a free permit`)
    this.expect(
      available === Math.max(0, limit - inUse) && acquired === this.acquired,
      'stats',
      `${acquired} acquired`,
    )
  }
  end(): void {
    this.quiet()
    this.expect(this.semaphore.inUse === 0 && this.semaphore.waiting === 0, 'S01', 'permits are still out')
  }
}

class ConditionBook extends Book {
  /** How many have still to hear a signal. */
  private readonly due = new Map<string, number>()
  /** Waits that ended without a signal: a wake-up may have gone with them. */
  private disturbed = 0

  constructor(
    name: string,
    desk: Desk,
    private readonly condition: Condition<string>,
    private readonly mutex?: MutexBook,
  ) {
    super(name, desk)
  }

  *wait(): Routine<string> {
    const depth = this.mutex?.gives() ?? 0
    const locks = this.mutex?.inner.stats().locked
    let isWoken = false
    try {
      const value = yield* this.desk.wait('op', this.condition.wait())
      isWoken = true
      const left = this.due.get(value) ?? 0
      this.expect(left > 0, 'S34', `${value} was heard once too often`)
      this.due.set(value, left - 1)
      return value
    } finally {
      if (!isWoken) this.disturbed++
      if (this.mutex?.inner.isHeld) this.mutex.takes(depth, this.mutex.inner.stats().locked !== locks)
      else if (this.mutex)
        this.expect(
          this.desk.reports().some(({ message }) => message.startsWith(`${Fiber.current.path} had to leave`)),
          'S36',
          `${Fiber.current.name} goes on without its lock`,
        )
    }
  }
  signal(value: string): boolean {
    const { waiting } = this.condition
    const isHeard = this.condition.signal(value)
    this.expect(isHeard === waiting > 0, 'S36', `a signal was ${isHeard ? '' : 'not '}heard by ${waiting}`)
    if (isHeard) this.due.set(value, 1)
    return isHeard
  }
  broadcast(value: string): number {
    const count = this.condition.broadcast(value)
    this.due.set(value, count)
    return count
  }

  quiet(): void {
    if (this.mutex) return // those who were woken may have to wait for it
    for (const [value, left] of this.due) this.expect(left === 0, 'S34', `${left} have not heard ${value}`)
    this.due.clear()
  }
  end(): void {
    let lost = 0
    for (const left of this.due.values()) lost += left
    this.expect(lost <= (this.mutex ? this.disturbed : 0), 'S34', `${lost} signals were lost`)
    this.expect(this.condition.waiting === 0, 'S01', 'somebody still waits')
  }
}

class EventBook extends Book {
  private readonly due = new Map<string, number>()
  private kept: string | undefined

  constructor(
    name: string,
    desk: Desk,
    private readonly event: Event<string>,
    private readonly isLatch: boolean,
  ) {
    super(name, desk)
  }

  *await(): Routine<string> {
    const value = yield* this.desk.wait('op', this.event.await())
    const left = this.due.get(value) ?? 0
    if (left > 0) this.due.set(value, left - 1)
    else {
      this.expect(value === this.kept, 'S34', `${value} was heard once too often`)
      if (!this.isLatch) this.kept = undefined
    }
    return value
  }
  signal(value: string): void {
    const { waiting } = this.event
    this.due.set(value, waiting)
    if (this.isLatch || waiting === 0) this.kept = value
    this.event.signal(value)
  }
  reset(): void {
    this.kept = undefined
    this.event.reset()
  }

  quiet(): void {
    const { isSignaled, waiting } = this.event.stats()
    this.expect(waiting === 0 || !isSignaled, 'S36', `${waiting} wait for what has happened`)
    this.expect(
      isSignaled === (this.kept !== undefined),
      'S34',
      `${this.kept} was ${isSignaled ? 'not ' : ''}taken`,
    )
    for (const [value, left] of this.due) this.expect(left === 0, 'S34', `${left} have not heard ${value}`)
    this.due.clear()
  }
  end(): void {
    this.quiet()
    this.expect(this.event.waiting === 0, 'S01', 'somebody still waits')
  }
}

class PoolBook extends Book {
  private readonly line: Line

  constructor(
    name: string,
    desk: Desk,
    private readonly pool: ResourcePool<Resource>,
    private readonly made: Resource[],
  ) {
    super(name, desk)
    this.line = new Line(name, desk, () => (pool as any).stock.line)
  }

  acquire(body: (resource: Resource) => Op<unknown>): Op<unknown> {
    const number = this.line.joins(this.made.some(({ user }) => user === Fiber.current))
    const book = this
    return this.pool.acquire(function* (resource) {
      const fiber = Fiber.current
      const { user } = resource
      book.expect(
        user === null || user === fiber,
        'S34',
        `${resource.id} went to ${fiber.name}, and ${user?.name} has it`,
      )
      book.expect(
        resource.state === 'alive',
        'S34',
        `${resource.id} was handed out, and is ${resource.state}`,
      )
      book.expect(
        user === fiber || !resource.isDiscarded,
        'S34',
        `${resource.id} was handed out, and was discarded`,
      )
      book.line.served(number)
      resource.user = fiber
      try {
        return yield* body(resource)
      } finally {
        book.expect(resource.state === 'alive', 'S34', `${resource.id} was destroyed while it was used`)
        resource.user = user
      }
    })
  }
  discard(resource: Resource): boolean {
    resource.isDiscarded = true
    return this.pool.discard(resource)
  }
  fill(): Op<void> {
    return this.pool.fill()
  }
  get isClosed(): boolean {
    return this.pool.isClosed
  }
  close(): Op<void> {
    return this.desk.wait('op', this.pool.close())
  }
  get isEmpty(): boolean {
    return this.pool.size === 0
  }

  quiet(): void {
    const { limit, size, inUse, idle, creating, destroying, waiting, created, destroyed } = this.pool.stats()
    const count = (is: (resource: Resource) => boolean) => this.made.filter(is).length
    const used = count(({ user, isChecked }) => user !== null || isChecked)
    const dying = count(({ state }) => state === 'dying')
    const left = count(({ state }) => state !== 'dead')
    this.expect(
      size <= limit && size === inUse + idle + creating + destroying,
      'stats',
      `${size} of ${limit} resources`,
    )
    this.expect(
      waiting === 0 || (size === limit && idle === 0 && !this.isClosed),
      'S36',
      `${waiting} wait, ${size} are there, ${idle} idle`,
    )
    this.expect(
      created - destroyed === left,
      'S34',
      `${created} created, ${destroyed} destroyed, ${left} left`,
    )
    this.expect(
      inUse === used && destroying === dying && idle === left - used - dying,
      'stats',
      `${inUse} in use, not ${used}; ${destroying} being destroyed, not ${dying}`,
    )
  }
  end(): void {
    this.quiet()
    const { size, waiting, created, destroyed } = this.pool.stats()
    this.expect(size === 0 && waiting === 0 && created === destroyed, 'S01', `${size} resources are left`)
  }
}

class ThrottlerBook extends Book {
  private readonly times: number[] = []
  private readonly line: Line

  constructor(
    name: string,
    desk: Desk,
    private readonly throttler: Throttler,
  ) {
    super(name, desk)
    this.line = new Line(name, desk, () => (throttler as any).line)
  }

  private passes(): void {
    const { times, throttler } = this
    const now = this.desk.now()
    const earlier = times.at(-throttler.burst)
    this.expect(
      earlier === undefined || now - earlier >= throttler.interval - 1e-9,
      'S52',
      `too fast: ${times}, ${now}`,
    )
    times.push(now)
  }
  *wait(): Routine<void> {
    const number = this.line.joins()
    try {
      yield* this.desk.wait('op', this.throttler.wait())
      this.passes()
      this.line.served(number)
    } finally {
      this.line.left()
    }
  }
  tryWait(): boolean {
    const isThrough = this.throttler.tryWait()
    if (isThrough) this.passes()
    return isThrough
  }

  quiet(): void {
    const { waiting, passed } = this.throttler.stats()
    const { alarm } = this.throttler as any
    this.expect(
      passed === this.times.length,
      'S34',
      `${passed} went through, ${this.times.length} know of it`,
    )
    this.expect(waiting === 0 || alarm.index >= 0, 'S36', `${waiting} wait, and nobody will call them`)
  }
  end(): void {
    this.quiet()
    this.expect(this.throttler.waiting === 0, 'S01', 'somebody still waits')
  }
}

/** Calls and their answers. */
class CallBook extends Book {
  /** Questions whose answer was accepted and has not arrived. */
  private readonly due = new Set<unknown>()
  private readonly answered = new Set<unknown>()

  private arrives(question: string): void {
    this.expect(this.due.delete(question), 'S39', `${question} has an answer that nobody gave`)
  }
  *ask(fiber: Fiber, question: string, options?: { timeout: number }): Routine<unknown> {
    try {
      const answer = yield* this.desk.wait('observe', ask(fiber, question, options))
      this.expect(answer === answerTo(question), 'S39', `${answer} is no answer to ${question}`)
      this.arrives(question)
      return answer
    } catch (thrown) {
      if (this.due.has(question) && !isStop(thrown)) this.arrives(question)
      throw thrown
    }
  }
  answers(question: Call, isAccepted: boolean): void {
    if (!isAccepted) return
    this.expect(!this.answered.has(question.message), 'S39', `${question.message} was answered twice`)
    this.answered.add(question.message)
    this.due.add(question.message)
  }
  /** The question with an ear for its answer. */
  overheard(question: Call): Call {
    const book = this
    return {
      message: question.message,
      reply(answer: unknown) {
        const isAccepted = question.reply(answer)
        book.answers(question, isAccepted)
        return isAccepted
      },
      fail(error: unknown) {
        const isAccepted = question.fail(error)
        book.answers(question, isAccepted)
        return isAccepted
      },
    } as unknown as Call
  }

  quiet(): void {
    for (const question of this.due) this.expect(false, 'S34', `the answer to ${question} was lost`)
    this.due.clear()
  }
  end(): void {
    this.quiet()
  }
}

interface Used {
  fiber: Fiber
  owner: unknown
  state: 'kept' | 'let go'
}

/** What was taken by `use`. */
class UseBook extends Book {
  private readonly used: Used[] = []

  constructor(
    desk: Desk,
    private readonly error: () => Error,
    private readonly cleanup: (body: () => Op<unknown>) => Op<void>,
  ) {
    super('use', desk)
  }

  take(name: string, ms: number, fails: boolean, sleep: (ms: number) => Op<unknown>): Op<string> {
    const book = this
    const fiber = Fiber.current
    const entry: Used = { fiber, owner: innermostOwner(fiber), state: 'kept' }
    this.used.push(entry)
    return this.desk.wait(
      'op',
      use(name, () =>
        this.cleanup(function* () {
          book.letsGo(entry, name)
          yield* sleep(ms)
          if (fails) throw book.error()
        }),
      ),
    )
  }
  private letsGo(entry: Used, name: string): void {
    this.expect(entry.state === 'kept', 'S60', `${name} was let go twice`)
    this.expect(Fiber.current === entry.fiber, 'S60', `${name} was let go by ${Fiber.current.name}`)
    entry.state = 'let go'
    const newer = this.used.slice(this.used.indexOf(entry) + 1)
    this.expect(
      !newer.some(({ owner, state }) => owner === entry.owner && state === 'kept'),
      'S60',
      `${name} was let go before a newer one`,
    )
    if (entry.owner === entry.fiber)
      this.expect(entry.fiber.children.length === 0, 'S60', `${name} was let go before the children`)
  }

  quiet(): void {}
  end(): void {
    for (const { fiber, state } of this.used) {
      this.expect(
        state === 'let go' || this.desk.watch.wasForced(fiber),
        'S60',
        `${fiber.name} has not let go`,
      )
    }
  }
}

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
