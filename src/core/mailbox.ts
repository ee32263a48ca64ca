// Messages: each fiber has a mailbox, made at the first message. A message goes straight to a fiber that waits for it
// (S36), else it is kept in order (S38).
//
//   senders -> [ pushers ] -> ring of messages -> receive()
//              only while a capped mailbox is full
//
// The ring belongs to the fiber; what a cap or a choosy receiver needs besides is in `Mailbox`, which most never get.

import { checkBody, isGeneratorFunction } from './body.js'
import { debugging } from './debug.js'
import { BadArgument, DeadlockError, show } from './errors.js'
import type { Fiber } from './fiber.js'
import { notInFiber } from './gate.js'
import { BaseOp, fail, type Op, settle } from './op.js'
import { CLOSING, NONE, VALUE, WAITING } from './phase.js'
import { Ring } from './ring.js'
import { baton } from './runqueue.js'
import { emit, tapped } from './tap.js'
import { type Place, Waiters } from './waiters.js'

/** A mailbox that grows past this is counted in `runtimeStats().crowdedMailboxes` (S38). */
const CROWDED = 1000

/** Which messages a `receive` is for. */
type Match = (message: any) => boolean

class Receive extends BaseOp<any> {
  enter(fiber: Fiber): void {
    const ring = fiber._mailbox
    if (ring === null || ring.size === 0) return
    fiber.how = VALUE
    fiber.value = ring.shift()
    fiber.cold?.mailbox?.taken(0)
  }
  abort(): void {}
  describe(): string {
    return 'receive()'
  }
  /** A message has come while the fiber waits here. False if it is not for this wait. */
  offer(fiber: Fiber, message: unknown): boolean {
    return settle(fiber, this, message)
  }
}
;(Receive.prototype as { idle: boolean }).idle = true
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

/** Asks a match, in nobody's name: whoever runs may be the sender, and what is looked through must not be received from. */
function matches(match: Match, message: unknown): boolean {
  const { fiber } = baton
  baton.fiber = null
  try {
    return match(message)
  } finally {
    baton.fiber = fiber
  }
}

/** No message: anything may be sent, even undefined. */
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
}

/**
 * The messages that wait for a fiber: `fiber.mailbox`. Unbounded, until it is given a cap (S38).
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
  /** @internal Those who wait for room. */
  readonly pushers = new Waiters<M>()
  private limit = Infinity
  /** The last match that was looked for, and how many messages from the first on are known not to match it (S40). */
  private match: Match | null = null
  private seen = 0

  /** @internal */
  constructor(/** @internal */ readonly fiber: Fiber<any, any>) {}

  /** How many messages wait. */
  get size(): number {
    const { _mailbox, cold } = this.fiber
    return (cold?.restart?.mailbox ?? _mailbox)?.size ?? 0
  }

  /** How many messages fit in. */
  get capacity(): number {
    return this.limit
  }

  /** Bounds it: from now on `send` says false when so many messages wait, and `push` waits. `Infinity` lifts the bound. */
  cap(capacity: number): void {
    if (!(capacity === Infinity || (Number.isSafeInteger(capacity) && capacity > 0))) {
      throw new BadArgument(`cap() needs a whole number above 0, or Infinity, got ${show(capacity)}`)
    }
    this.limit = capacity
    this.admit()
  }

  /** Puts a message in, and waits while the mailbox is full. Gives false if the fiber is dead, or dies meanwhile (S39). */
  push(message: M): Op<boolean> {
    return new Push(this, message)
  }

  /** What is there now. */
  stats(): { readonly size: number; readonly capacity: number; readonly pushing: number } {
    return { size: this.size, capacity: this.limit, pushing: this.pushers.size }
  }

  /** @internal Whether another message would be too many. */
  get isFull(): boolean {
    return inboxOf(this.fiber).size >= this.limit
  }

  /** @internal A message that did not match the waiting `receive` was put at the end. */
  passedBy(): void {
    if (this.seen === this.size - 1) this.seen++
  }

  /** @internal The message at `index` is gone: whoever waits for room may come in. */
  taken(index: number): void {
    if (index < this.seen) this.seen--
    if (this.pushers.size > 0) this.admit()
  }

  /** @internal The ring was emptied or changed. */
  changed(): void {
    this.seen = 0
    this.admit()
  }

  /** Lets pushers in while there is room, the first in line first. */
  private admit(): void {
    for (let place = this.pushers.first; place !== null && !this.isFull; place = this.pushers.first) {
      keep(this.fiber, place.item)
      this.pushers.handOver(true)
    }
  }

  /** @internal The fiber is dead: nobody will ever make room. */
  close(): void {
    for (let place = this.pushers.first; place !== null; place = this.pushers.first) {
      countDeadLetter(this.fiber, place.item)
      this.pushers.handOver(false)
    }
  }

  /** @internal Takes out the first message that matches. Looks at each message once, as long as the match is the same (S40). */
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
        return message
      }
      this.seen++
    }
    return this.fiber.cold?.restart == null ? this.findAmongPushers(match) : NOT_FOUND
  }

  /** A full mailbox must not keep out the very message that its fiber waits for. */
  private findAmongPushers(match: Match): M | typeof NOT_FOUND {
    for (let place: Place<M> | null = this.pushers.first; place !== null; ) {
      const isMatch = matches(match, place.item)
      if (place.fiber?.value !== place)
        place = this.pushers.first // the match has made it leave: once more
      else if (isMatch) {
        this.pushers.give(place, true)
        return place.item
      } else place = place.after
    }
    return NOT_FOUND
  }
}

/** Where a message that is sent now belongs: with a restart under way, to the new incarnation (S41). */
function inboxOf(fiber: Fiber<any, any>): Ring<unknown> {
  const restart = fiber.cold?.restart
  return restart != null ? restart.mailbox : (fiber._mailbox ??= new Ring())
}

function keep(fiber: Fiber<any, any>, message: unknown): void {
  const ring = inboxOf(fiber)
  ring.push(message)
  if (ring.size === CROWDED + 1) fiber.runtime.counts.crowdedMailboxes++
}

/** Whether nobody will read what is sent (S39). */
function isClosed(fiber: Fiber<any, any>): boolean {
  return fiber._phase >= CLOSING && fiber.cold?.restart == null
}

function countDeadLetter(fiber: Fiber<any, any>, message: unknown): void {
  fiber.runtime.counts.deadLetters++
  if (tapped) emit('deadLetter', fiber, message)
}

/** `fiber.send`: handed over directly if the fiber waits for it (S36), else kept in order. False if it is dead, or full. */
export function deliver(fiber: Fiber<any, any>, message: unknown, mustFit = true): boolean {
  if (isClosed(fiber)) {
    countDeadLetter(fiber, message)
    return false
  }
  const { op, cold } = fiber
  // The common case: it waits for just any message.
  if (op === RECEIVE && cold === null && fiber._state === WAITING && fiber.how === NONE) {
    return settle(fiber, RECEIVE, message)
  }
  const isAwaited =
    op instanceof Receive && fiber._state === WAITING && fiber.how === NONE && cold?.restart == null
  if (isAwaited && op.offer(fiber, message)) return true
  const mailbox = cold?.mailbox
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
 * Waits for a message to this fiber. Messages of one sender arrive in the order they were sent (S38). With a predicate or a
 * type guard it waits for a message that matches, and leaves the others where they are (S40).
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
 * The next message, or the next that matches, if there is one; else undefined. Never waits.
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
  const message = ring.shift()
  fiber.cold?.mailbox?.taken(0)
  return message
}

/**
 * All messages that are there. Never waits.
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
    found.push(ring.shift() as M)
    fiber.cold?.mailbox?.taken(0)
  }
  return found
}

function receiver(where: string): Fiber {
  if (baton.fiber === null) throw notInFiber(where)
  return baton.fiber
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
