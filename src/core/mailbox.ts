// Mailboxes: send, receive, caps. A mailbox is made at the first message. A message goes straight to a fiber that waits for
// it (S36), else it is kept in order (S38).
//
//   senders -> [ pushers ] -> ring of messages -> receive()
//              only while a capped mailbox is full
//
// The ring belongs to the fiber. The state for caps and selective receives is in `Mailbox`, made when it is needed.

import { checkBody, isGeneratorFunction } from './body.js'
import { current } from './current.js'
import { debugging } from './debug.js'
import { BadArgument, DeadlockError, notInFiber, show } from './errors.js'
import type { Fiber } from './fiber.js'
import { BaseOp, fail, IdleOp, type Op, settle } from './op.js'
import { checkLimit } from './options.js'
import { Ring } from './ring.js'
import { CLOSING, NONE, VALUE, WAITING } from './state.js'
import { emit, tapped } from './tap.js'
import { type Waiter, Waiters } from './waiters.js'

/** A mailbox that grows past this is counted in `runtimeStats().crowdedMailboxes` (S38). */
const CROWDED = 1000

/** The wait of a caller for the answer to its `Call`. */
export interface CallWait<A> {
  isFor(question: Call<any, A>): boolean
  /** Ends the wait, which is settled next. */
  leave(): BaseOp<A>
}

type CallType<Q> = unknown extends Q
  ? string
  : Q extends { readonly type: infer T extends string }
    ? T
    : 'call'

function typeOf(message: unknown): string {
  const type = (message as { type?: unknown } | null | undefined)?.type
  return typeof type === 'string' ? type : 'call'
}

/**
 * A question in a mailbox: what `call` sends. The receiver answers with `reply` or `fail`, now or later.
 *
 * ```ts
 * type Message = { type: 'add'; n: number } | Call<{ type: 'sum' }, number>
 * const adder: Fiber<void, Message> = spin(function* () {
 *   let sum = 0
 *   yield* receiveLoop((message: Message) => {
 *     switch (message.type) {
 *       case 'add':
 *         sum += message.n
 *         break
 *       case 'sum':
 *         message.reply(sum)
 *     }
 *   })
 * })
 * adder.send({ type: 'add', n: 2 })
 * adder.send({ type: 'add', n: 3 })
 * console.log(yield* call(adder, { type: 'sum' })) // 5
 * ```
 */
export class Call<Q = any, A = any> {
  /** @internal Whether it lies in a mailbox. */
  isUnread = false
  /** For a `switch` over messages: the `type` of the question if it has one, else `'call'`. */
  readonly type: CallType<Q>

  /** @internal */
  constructor(
    /** The question. */
    readonly message: Q,
    /** The fiber that called. */
    readonly caller: Fiber,
    private readonly wait: CallWait<A>,
  ) {
    this.type = typeOf(message) as CallType<Q>
  }

  /** Gives the answer. False if the caller no longer waits: then the answer is dropped (S39). */
  reply(answer: A): boolean {
    return this.isAwaited && settle(this.caller, this.wait.leave(), answer)
  }

  /** @internal Whether its sender waits for the answer. */
  get isAwaited(): boolean {
    return this.wait.isFor(this)
  }

  /** Throws an error where the caller waits. False if the caller no longer waits. */
  fail(error: unknown): boolean {
    return this.isAwaited && fail(this.caller, this.wait.leave(), error)
  }
}

/** A message that was taken out of a mailbox. */
function opened(message: unknown): unknown {
  if (message instanceof Call) message.isUnread = false
  return message
}

/** The predicate of a selective `receive`. */
type Match = (message: any) => boolean

class Receive extends IdleOp<any> {
  enter(fiber: Fiber): void {
    const ring = fiber._mailbox
    if (ring === null || ring.size === 0) return
    fiber.how = VALUE
    fiber.value = opened(ring.shift())
    fiber.rare?.mailbox?.taken(0)
  }
  abort(): void {}
  describe(): string {
    return 'receive()'
  }
  override get kind(): string {
    return 'receive'
  }
  /** A message has come while the fiber waits here. False if it does not match. */
  offer(fiber: Fiber, message: unknown): boolean {
    return settle(fiber, this, message)
  }
}
const RECEIVE = new Receive()

/** Waits for a message that matches; the others stay where they are (S40). */
class SelectiveReceive extends Receive {
  constructor(private readonly match: Match) {
    super()
  }
  override enter(fiber: Fiber): void {
    const found = fiber.mailbox.find(this.match)
    if (found === NOT_FOUND) return
    fiber.how = VALUE
    fiber.value = found
  }
  override offer(fiber: Fiber, message: unknown): boolean {
    try {
      return matches(this.match, message) && settle(fiber, this, message)
    } catch (error) {
      fail(fiber, this, error)
      return false
    }
  }
  override describe(): string {
    return `receive(${this.match.name || 'match'})`
  }
}

/** Runs the predicate with no current fiber: it may be called from the sender, and must not receive from the mailbox. */
function matches(match: Match, message: unknown): boolean {
  const { fiber } = current
  current.fiber = null
  try {
    return match(message)
  } finally {
    current.fiber = fiber
  }
}

/** A symbol, since any value may be a message, even undefined. */
const NOT_FOUND = Symbol('not found')

/** Waits until a full mailbox has room. */
class Push extends BaseOp<boolean> {
  constructor(
    private readonly mailbox: Mailbox<any>,
    private readonly message: unknown,
  ) {
    super()
  }
  enter(fiber: Fiber): void {
    const { fiber: target, pushers } = this.mailbox
    if (deliver(target, this.message)) settle(fiber, this, true)
    else if (isClosed(target)) settle(fiber, this, false)
    else if (target === fiber) {
      throw new DeadlockError(`${fiber.path} waits for room in its own full mailbox, which would never end`)
    } else pushers.join(fiber, this.message)
  }
  abort(fiber: Fiber): void {
    this.mailbox.pushers.leave(fiber)
  }
  describe(): string {
    return `room in the mailbox of ${this.mailbox.fiber.name}`
  }
  override get kind(): string {
    return 'mailbox'
  }
  override get resource(): object {
    return this.mailbox
  }
  override get waitsOn(): Fiber {
    return this.mailbox.fiber
  }
  /** Any code can raise the cap. */
  override get isCertain(): boolean {
    return false
  }
}

/**
 * The messages that wait for a fiber: `fiber.mailbox`. Unbounded unless it has a cap (S38).
 *
 * ```ts
 * const slow = spin(() => receiveLoop(() => sleep(100)))
 * slow.mailbox.cap(2)
 * for (let n = 1; n <= 4; n++) {
 *   yield* slow.mailbox.push(n) // waits while it is full
 * }
 * console.log(slow.mailbox.size) // 2
 * ```
 */
export class Mailbox<M = any> {
  /** @internal Fibers that wait for room. */
  readonly pushers = new Waiters<M>()
  private limit = Infinity
  /** The last predicate, and how many messages from the first on are known not to match it (S40). */
  private match: Match | null = null
  private seen = 0

  /** @internal */
  constructor(/** @internal */ readonly fiber: Fiber<any, any>) {}

  /** How many messages wait. */
  get size(): number {
    return this.fiber.mailboxSize
  }

  /** How many messages the mailbox holds. */
  get capacity(): number {
    return this.limit
  }

  /** Sets the capacity: when it is reached, `send` returns false and `push` waits. `Infinity` means no limit. */
  cap(capacity: number): void {
    this.limit = checkLimit(capacity, 'cap()')
    this.admit()
  }

  /** Sends a message, and waits while the mailbox is full. Returns false if the fiber is dead, or dies meanwhile (S39). */
  push(message: M): Op<boolean> {
    return new Push(this, message)
  }

  /** Whether a message is there, unread. */
  has(message: M): boolean {
    return indexOf(inboxOf(this.fiber), message) >= 0
  }

  /** Takes an unread message out. False if it is not there. `call` does this when the caller leaves (S39). */
  delete(message: M): boolean {
    const { fiber } = this
    for (const ring of [fiber._mailbox, fiber.rare?.restart?.mailbox]) {
      const index = ring == null ? -1 : indexOf(ring, message)
      if (index < 0) continue
      ring?.remove(index)
      opened(message)
      if (ring === fiber._mailbox) this.taken(index)
      else this.admit()
      return true
    }
    return false
  }

  /** Current numbers. */
  stats(): { readonly size: number; readonly capacity: number; readonly pushing: number } {
    return { size: this.size, capacity: this.limit, pushing: this.pushers.size }
  }

  /** @internal Whether the capacity is reached. */
  get isFull(): boolean {
    return inboxOf(this.fiber).size >= this.limit
  }

  /** @internal A message that did not match the waiting `receive` was put at the end. */
  passedBy(): void {
    if (this.seen === this.size - 1) this.seen++
  }

  /** @internal The message at `index` is gone: a pusher may be admitted. */
  taken(index: number): void {
    if (index < this.seen) this.seen--
    if (this.pushers.size > 0) this.admit()
  }

  /** @internal The ring was emptied or changed. */
  changed(): void {
    this.seen = 0
    this.admit()
  }

  /** Admits pushers while there is room, in order. */
  private admit(): void {
    for (let waiter = this.pushers.first; waiter !== null && !this.isFull; waiter = this.pushers.first) {
      keep(this.fiber, waiter.item)
      this.pushers.handOver(true)
    }
  }

  /** @internal The fiber is dead: there will be no room. */
  close(): void {
    for (let waiter = this.pushers.first; waiter !== null; waiter = this.pushers.first) {
      countDeadLetter(this.fiber, waiter.item)
      this.pushers.handOver(false)
    }
  }

  /** @internal Takes out the first message that matches. Checks each message once for the same predicate (S40). */
  find(match: Match): M | typeof NOT_FOUND {
    if (this.match !== match) {
      this.match = match
      this.seen = 0
    }
    const ring = this.fiber._mailbox
    while (ring !== null && this.seen < ring.size) {
      const message = ring.at(this.seen) as M
      if (matches(match, message)) {
        ring.remove(this.seen)
        this.taken(this.seen)
        return opened(message) as M
      }
      this.seen++
    }
    return this.fiber.rare?.restart == null ? this.findAmongPushers(match) : NOT_FOUND
  }

  /** A full mailbox must not keep out the message that its fiber waits for. */
  private findAmongPushers(match: Match): M | typeof NOT_FOUND {
    for (let waiter: Waiter<M> | null = this.pushers.first; waiter !== null; ) {
      const isMatch = matches(match, waiter.item)
      if (waiter.fiber?.value !== waiter)
        waiter = this.pushers.first // the predicate made it leave: start again
      else if (isMatch) {
        this.pushers.give(waiter, true)
        return waiter.item
      } else waiter = waiter.after
    }
    return NOT_FOUND
  }
}

/** The ring for a new message: during a restart, that of the next incarnation (S41). */
function inboxOf(fiber: Fiber<any, any>): Ring<unknown> {
  const restart = fiber.rare?.restart
  return restart != null ? restart.mailbox : (fiber._mailbox ??= new Ring())
}

function keep(fiber: Fiber<any, any>, message: unknown): void {
  const ring = inboxOf(fiber)
  ring.push(message)
  if (message instanceof Call) message.isUnread = true
  if (ring.size === CROWDED + 1) fiber.runtime.counts.crowdedMailboxes++
}

/** Whether new messages will never be read (S39). */
function isClosed(fiber: Fiber<any, any>): boolean {
  return fiber._phase >= CLOSING && fiber.rare?.restart == null
}

function countDeadLetter(fiber: Fiber<any, any>, message: unknown): void {
  fiber.runtime.counts.deadLetters++
  if (tapped) emit('deadLetter', fiber, message)
}

/** The index of a message, -1 if it is not there. Looks from both ends: callers that leave are the first or the last. */
function indexOf(ring: Ring<unknown>, message: unknown): number {
  for (let i = 0, j = ring.size - 1; i <= j; i++, j--) {
    if (ring.at(i) === message) return i
    if (ring.at(j) === message) return j
  }
  return -1
}

/** `fiber.send`: hands the message over if the fiber waits for it (S36), else keeps it. False if the fiber is dead, or its mailbox full. */
export function deliver(fiber: Fiber<any, any>, message: unknown, mustFit = true): boolean {
  if (isClosed(fiber)) {
    countDeadLetter(fiber, message)
    return false
  }
  const { op, rare } = fiber
  // The common case: the fiber waits for any message.
  if (op === RECEIVE && rare === null && fiber._state === WAITING && fiber.how === NONE) {
    return settle(fiber, RECEIVE, message)
  }
  const isAwaited =
    op instanceof Receive && fiber._state === WAITING && fiber.how === NONE && rare?.restart == null
  if (isAwaited && op.offer(fiber, message)) return true
  const mailbox = rare?.mailbox
  if (mailbox == null) {
    keep(fiber, message)
    return true
  }
  if (mustFit && mailbox.isFull) return false
  keep(fiber, message)
  if (isAwaited && fiber.how === NONE) mailbox.passedBy()
  return true
}

/**
 * Waits for a message to this fiber. Messages of one sender arrive in the order in which they were sent (S38). With a
 * predicate or a type guard it waits for a message that matches; the others stay in the mailbox (S40).
 *
 * ```ts
 * const greeter = spin(function* () {
 *   const urgent = yield* receive((message) => message.startsWith('now'))
 *   const first = yield* receive<string>()
 *   console.log(urgent, 'before', first) // now this before then that
 * })
 * greeter.send('then that')
 * greeter.send('now this')
 * yield* greeter
 * ```
 */
export function receive<S = any, M extends S = S>(match: (message: S) => message is M): Op<M>
export function receive<M = any>(match?: (message: M) => boolean): Op<M>
export function receive(match?: Match): Op<unknown> {
  if (match !== undefined) return new SelectiveReceive(checkMatch(match, 'receive()'))
  return debugging ? new Receive() : RECEIVE
}

/**
 * Takes the next message, or the next that matches; undefined if there is none. Never waits.
 *
 * ```ts
 * Fiber.current.send('a letter')
 * console.log(tryReceive()) // a letter
 * console.log(tryReceive()) // undefined
 * ```
 */
export function tryReceive<S = any, M extends S = S>(match: (message: S) => message is M): M | undefined
export function tryReceive<M = any>(match?: (message: M) => boolean): M | undefined
export function tryReceive(match?: Match): unknown {
  const fiber = receiver('tryReceive()')
  if (match !== undefined) {
    const found = fiber.mailbox.find(checkMatch(match, 'tryReceive()'))
    return found === NOT_FOUND ? undefined : found
  }
  const ring = fiber._mailbox
  if (ring === null || ring.size === 0) return undefined
  const message = opened(ring.shift())
  fiber.rare?.mailbox?.taken(0)
  return message
}

/**
 * Takes all messages. Never waits.
 *
 * ```ts
 * for (const n of [1, 2, 3]) Fiber.current.send(n)
 * console.log(receiveAllPending()) // [ 1, 2, 3 ]
 * console.log(receiveAllPending()) // []
 * ```
 */
export function receiveAllPending<M = any>(): M[] {
  const fiber = receiver('receiveAllPending()')
  const found: M[] = []
  const ring = fiber._mailbox
  while (ring !== null && ring.size > 0) {
    found.push(opened(ring.shift()) as M)
    fiber.rare?.mailbox?.taken(0)
  }
  return found
}

function receiver(where: string): Fiber {
  if (current.fiber === null) throw notInFiber(where)
  return current.fiber
}

function checkMatch(match: unknown, where: string): Match {
  if (typeof match !== 'function' || isGeneratorFunction(match)) {
    throw new BadArgument(
      `${where} needs a function that says true or false of a message, got ${show(match)}`,
    )
  }
  checkBody(match, where)
  return match as Match
}
