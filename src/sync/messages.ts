// receiveLoop, and call: a message that waits for a reply (S39). Mailboxes and the `Call` itself are in core/mailbox.ts.

import {
  BadArgument,
  BaseOp,
  Call,
  type CallWait,
  check,
  DeadlockError,
  deliver,
  ENDED,
  type EndCode,
  type EndListener,
  ERROR,
  Fiber,
  FiberStopped,
  fail,
  isRestarting,
  listen,
  markReceived,
  moveOnAfter,
  type Op,
  op,
  type Returned,
  type Routine,
  receive,
  runBody,
  show,
  unlisten,
} from '../core/index.js'
import { TimedOut } from './errors.js'

/**
 * Runs a body for every message to this fiber, one after the other, until the body returns false.
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
  check.body(body, 'receiveLoop()')
  return op('receiveLoop()', () => receiving(body as (message: M) => Op<unknown>))
}

function* receiving<M>(body: (message: M) => Op<unknown>): Routine<void> {
  for (;;) {
    if ((yield* runBody(body, yield* receive<M>())) === false) return
  }
}

/** The wait of a caller. It listens to the end of the target, which then fails the call. */
class Answer<A> extends BaseOp<A> implements EndListener, CallWait<A> {
  private question: Call<unknown, A> | null = null
  // As a listener to the end of the target:
  before: EndListener | null = null
  after: EndListener | null = null

  constructor(
    private readonly target: Fiber<any, any>,
    private readonly message: unknown,
  ) {
    super()
  }

  get moment(): typeof ENDED {
    return ENDED
  }
  get watcher(): null {
    return null
  }
  override get kind(): string {
    return 'call'
  }
  override get waitsOn(): Fiber<any, any> {
    return this.target
  }
  /** True while the question is unread: once read, the target may pass it to another fiber to answer. */
  override get isCertain(): boolean {
    return this.question?.isUnread === true
  }

  enter(fiber: Fiber): void {
    const { target, message } = this
    if (this.question !== null) this.refuseSecond(this.question.caller)
    if (target === fiber) throw new DeadlockError(`${fiber.path} calls itself, which would never end`)
    const question = new Call<unknown, A>(message, fiber, this)
    this.question = question
    // A full mailbox takes it too: the caller waits already, and takes an unread question back when it leaves.
    if (!deliver(target, question, false)) {
      this.question = null
      throw new FiberStopped(`${target.path} is over and cannot answer ${show(message)}`)
    }
    if (this.question === null) return // answered by the predicate of a selective receive
    listen(target, this)
    this.refuseUnread(fiber)
  }

  /** An unread question to a fiber that waits for this one would never be answered (S32). */
  private refuseUnread(fiber: Fiber): void {
    try {
      this.refuseCircle(fiber)
    } catch (error) {
      this.leave()
      throw error
    }
  }

  told(how: EndCode, value: unknown): void {
    const { target, message } = this
    const { caller, isUnread } = this.question as Call
    if (isUnread && isRestarting(target)) {
      listen(target, this) // the next incarnation will read the question (S41)
      return
    }
    const error = new FiberStopped(`${target.path} ended before it answered ${show(message)}`, {
      cause: how === ERROR ? value : target.stopReason,
    })
    fail(caller, this.leave(), error)
    // S25: the parent has received the error here. Another caller has not, should it come up through the tree.
    if (how === ERROR && target.parent === caller) markReceived(value, caller)
  }

  /** Whether this wait is for the answer to `question`. */
  isFor(question: Call<any, A>): boolean {
    return this.question === question
  }

  /** The wait is over. */
  leave(): this {
    this.question = null
    unlisten(this.target, this)
    return this
  }

  abort(): void {
    if (this.question?.isUnread) this.target.mailbox.delete(this.question)
    this.leave()
  }

  describe(): string {
    return `${this.target.name} to answer`
  }
}

/** The questions that a fiber with messages `M` can be asked. */
type QuestionTo<M> = unknown extends M ? any : M extends Call<infer Q, any> ? Q : never
/** The answer to `Q` by a fiber with messages `M`. */
type AnswerTo<M, Q> = unknown extends M
  ? any
  : M extends Call<infer Asked, infer A>
    ? Q extends Asked
      ? A
      : never
    : never

/**
 * Sends a fiber a `Call` with the message, and waits for the answer. Throws `FiberStopped` if the fiber ends without
 * answering, and `TimedOut` if there is no answer within `timeout` milliseconds. A late answer is dropped (S39).
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
export function call<M, const Q extends QuestionTo<M>>(
  fiber: Fiber<any, M>,
  message: Q,
  options: { timeout?: number } = NO_OPTIONS,
): Op<AnswerTo<M, Q>> {
  if (!(fiber instanceof Fiber)) throw new BadArgument(`call() needs a fiber to ask, got ${show(fiber)}`)
  const { timeout = Infinity } =
    options === NO_OPTIONS ? options : check.options(options, CALL_OPTIONS, 'call()')
  if (timeout === Infinity) return new Answer(fiber, message)
  return op('call()', () => bounded(fiber, message, timeout))
}

const CALL_OPTIONS = { timeout: check.timeLimit }
const NO_OPTIONS: { timeout?: number } = {}

const TIMED_OUT = Symbol('timed out')

function* bounded(fiber: Fiber<any, any>, message: unknown, ms: number): Routine<any> {
  const answer = yield* moveOnAfter(ms, () => new Answer<unknown>(fiber, message), TIMED_OUT)
  if (answer !== TIMED_OUT) return answer
  throw new TimedOut(
    `${fiber.path} did not answer ${show(message)} within ${ms} ms; it is ${fiber.waitsFor ? `waiting for ${fiber.waitsFor}` : fiber.state}`,
  )
}
