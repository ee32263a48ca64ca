// Working with messages: a loop that receives, and calls, which are questions with an answer (S39).

import {
  BadArgument,
  BaseOp,
  checkBody,
  checkMs,
  checkOptions,
  DeadlockError,
  deliver,
  ERROR,
  enteredTwice,
  Fiber,
  FiberStopped,
  fail,
  markReceived,
  moveOnAfter,
  type Op,
  type Returned,
  type Routine,
  receive,
  repeatable,
  runBody,
  settle,
  show,
} from '../core/index.js'
import { TimedOut } from './errors.js'

/**
 * Runs a body for every message to this fiber, one after the other; ends when it returns false.
 *
 * ```ts
 * const adder = spin(function* () {
 *   let sum = 0
 *   yield* receiveLoop((n: number) => {
 *     sum += n
 *     return n > 0
 *   })
 *   return sum
 * })
 * for (const n of [1, 2, 3, 0]) adder.send(n)
 * console.log(yield* adder) // 6
 * ```
 */
export function receiveLoop<M = any, R = unknown>(body: (message: M) => Returned<R>): Op<void> {
  checkBody(body, 'receiveLoop()')
  return repeatable('receiveLoop()', () => receiving(body as (message: M) => Op<unknown>))
}

function* receiving<M>(body: (message: M) => Op<unknown>): Routine<void> {
  for (;;) {
    if ((yield* runBody(body, yield* receive<M>())) === false) return
  }
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
 * A question in a mailbox: what `call` sends. Whoever receives it answers with `reply` or `fail`, now or later.
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
  /** For a `switch` over messages: the `type` of the question if it has one, else `'call'`. */
  readonly type: CallType<Q>

  /** @internal */
  constructor(
    /** What was asked. */
    readonly message: Q,
    /** Who asked. */
    readonly caller: Fiber,
    private readonly wait: Answer<A>,
  ) {
    this.type = typeOf(message) as CallType<Q>
  }

  /** Gives the answer. False if nobody waits for it any more: then it is dropped (S39). */
  reply(answer: A): boolean {
    return this.wait.isFor(this) && settle(this.caller, this.wait.leave(), answer)
  }

  /** Gives an error instead, which is thrown where the caller waits. False if it does not wait any more. */
  fail(error: unknown): boolean {
    return this.wait.isFor(this) && fail(this.caller, this.wait.leave(), error)
  }
}

/** The wait of a caller. It watches the fiber that was asked, since one that ends never answers. */
class Answer<A> extends BaseOp<A> {
  private question: Call<unknown, A> | null = null
  /** The one that will read the question: with a restart under way, the next. */
  private incarnation = 0
  private readonly watch = (how: number, value: unknown) => this.targetEnded(how, value)

  constructor(
    private readonly target: Fiber<any, any>,
    private readonly message: unknown,
  ) {
    super()
  }

  enter(fiber: Fiber): void {
    const { target, message } = this
    if (this.question !== null) throw enteredTwice(this, this.question.caller)
    if (target === fiber) throw new DeadlockError(`${fiber.path} calls itself, which would never end`)
    const question = new Call<unknown, A>(message, fiber, this)
    this.question = question
    // A full mailbox lets it in: its sender waits already, so there is one from each caller at most.
    if (!deliver(target, question, false)) {
      this.question = null
      throw new FiberStopped(`${target.path} is over and cannot answer ${show(message)}`)
    }
    if (this.question === null) return // answered by whoever looked whether the question matches
    this.incarnation = target.incarnation + (target.cold?.restart == null ? 0 : 1)
    this.listen()
  }

  private listen(): void {
    const cold = this.target.coldRecord()
    if (cold.atEnd === null) cold.atEnd = new Set()
    cold.atEnd.add(this.watch)
  }

  private targetEnded(how: number, value: unknown): void {
    const { target, message } = this
    if (target.incarnation < this.incarnation && target.cold?.restart != null) {
      this.listen() // this was the one before
      return
    }
    const error = new FiberStopped(`${target.path} ended before it answered ${show(message)}`, {
      cause: how === ERROR ? value : target.stopReason,
    })
    const { caller } = this.question as Call
    fail(caller, this.leave(), error)
    if (how === ERROR) markReceived(value, caller) // S25: it has been told
  }

  /** Whether this question is the one that is waited for now. */
  isFor(question: Call<any, A>): boolean {
    return this.question === question
  }

  /** The wait is over. */
  leave(): this {
    this.question = null
    this.target.cold?.atEnd?.delete(this.watch)
    return this
  }

  abort(): void {
    this.leave()
  }

  describe(): string {
    return `${this.target.name} to answer`
  }
}

/** What a fiber that takes messages `M` can be asked. */
type Question<M> = unknown extends M ? any : M extends Call<infer Q, any> ? Q : never
/** What it answers. */
type AnswerTo<M, Q> = unknown extends M
  ? any
  : M extends Call<infer Asked, infer A>
    ? Q extends Asked
      ? A
      : never
    : never

/**
 * Asks a fiber and waits for the answer: it receives a `Call` with the message. Throws `FiberStopped` if it ends without
 * answering, and `TimedOut` if that takes longer than `timeout` milliseconds. A late answer is dropped (S39).
 *
 * ```ts
 * type Question = Call<'count', number>
 * const counter: Fiber<void, Question> = spin(function* () {
 *   for (let n = 1; ; n++) (yield* receive<Question>()).reply(n)
 * })
 * console.log(yield* call(counter, 'count')) // 1
 * console.log(yield* call(counter, 'count', { timeout: 1000 })) // 2
 * ```
 */
export function call<M, const Q extends Question<M>>(
  fiber: Fiber<any, M>,
  message: Q,
  options: { timeout?: number } = {},
): Op<AnswerTo<M, Q>> {
  if (!(fiber instanceof Fiber)) throw new BadArgument(`call() needs a fiber to ask, got ${show(fiber)}`)
  const { timeout } = checkOptions(options, ['timeout'], 'call()')
  if (timeout === undefined) return new Answer(fiber, message)
  checkMs(timeout, 'the timeout of call()')
  return repeatable('call()', () => bounded(fiber, message, timeout))
}

const TIMED_OUT = Symbol('timed out')

function* bounded(fiber: Fiber<any, any>, message: unknown, ms: number): Routine<any> {
  const answer = yield* moveOnAfter(ms, () => new Answer<unknown>(fiber, message), TIMED_OUT)
  if (answer !== TIMED_OUT) return answer
  throw new TimedOut(
    `${fiber.path} did not answer ${show(message)} within ${ms} ms; it is ${fiber.waitsFor ? `waiting for ${fiber.waitsFor}` : fiber.state}`,
  )
}
