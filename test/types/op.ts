// The types of polyphony/op, and the mistakes that must not compile.

import { type Fiber, type Op, sleep, spin } from 'polyphony'
import {
  type Attempt,
  addCleanup,
  BaseOp,
  check,
  fail,
  hold,
  IdleOp,
  LATER,
  OutsideOp,
  onEnd,
  op,
  type Result,
  type Returned,
  Ring,
  type Runtime,
  runBody,
  runningFiber,
  settle,
  type Waiter,
  Waiters,
} from 'polyphony/op'
import { expectType } from './equal.js'

class Answer extends BaseOp<number> {
  enter(fiber: Fiber): void {
    expectType<boolean>()(settle(fiber, this, 42))
    expectType<boolean>()(fail(fiber, this, new Error('no')))
    // @ts-expect-error: not what this op gives
    settle(fiber, this, 'forty-two')
  }
  abort(fiber: Fiber): typeof LATER | undefined {
    return this.isInterrupted(fiber) ? LATER : undefined
  }
  describe(): string {
    return 'an answer'
  }
  override get waitsOn(): Fiber | null {
    return null
  }
}

// @ts-expect-error: an op says how it is taken back
export class Endless extends BaseOp<void> {
  enter(): void {}
  describe(): string {
    return 'endless'
  }
}

class Item extends IdleOp<string> {
  enter(): void {}
  abort(): void {}
  describe(): string {
    return 'an item'
  }
}

class Request extends OutsideOp<Buffer> {
  protected start(attempt: Attempt<Buffer>): void {
    expectType<Fiber>()(attempt.fiber)
    attempt.settle(Buffer.alloc(1))
    // @ts-expect-error: not a Buffer
    attempt.settle('text')
  }
  protected cancel(): void {}
  override discard(late: Buffer): void {
    late.fill(0)
  }
  describe(): string {
    return 'a request'
  }
}

spin(function* () {
  expectType<number>()(yield* new Answer())
  expectType<number>()(yield* new Answer().droppable().handOut())
  expectType<string>()(yield* new Item())
  expectType<Buffer>()(yield* new Request())
  // @ts-expect-error: only the library makes attempts
  new Request().attempt

  const twice = op('twice()', function* () {
    yield* sleep(1)
    return 2
  })
  expectType<Op<number>>()(twice)
  // @ts-expect-error: an async function
  op('late()', async () => 1)
  // @ts-expect-error: a star is missing
  op('raw()', function* () {
    yield sleep(1)
  })

  const line = new Waiters<{ weight: number }>()
  const fiber = runningFiber('here()')
  expectType<Fiber>()(fiber)
  expectType<Fiber | null>()(runningFiber())
  expectType<Waiter<{ weight: number }>>()(line.join(fiber, { weight: 1 }))
  expectType<{ weight: number }>()(line.leave(fiber))
  // @ts-expect-error: it brings a weight
  line.join(fiber, undefined)
  expectType<number>()(new Ring<number>().shift())

  const what = { where: 'key()', taking: new Answer() as BaseOp<any>, giveBack() {} }
  expectType<number>()(yield* hold(what, () => 1))
  expectType<string>()(
    yield* hold(what, function* () {
      yield* sleep(1)
      return 'done'
    }),
  )
  // Bodies that return a string or an array, which have an iterator of their own.
  expectType<string>()(yield* hold(what, () => 'text'))
  expectType<number[]>()(yield* hold(what, () => [1]))
  expectType<string>()(yield* runBody(() => 'text'))
  expectType<number[]>()(yield* runBody((n: number) => [n], 1))
  const wrapped = <R>(body: () => Returned<R>): Op<Result<R>> => hold(what, body)
  expectType<string>()(yield* wrapped(() => 'text'))
  const rerun = <R>(body: () => Returned<R>): Op<Result<R>> => runBody(body)
  expectType<number>()(yield* rerun(() => 1))
  // @ts-expect-error: a body must not be async
  wrapped(async () => 1)
  class Stubborn extends OutsideOp<string> {
    protected start() {}
    protected cancel() {
      return LATER
    }
    describe() {
      return 'stubborn'
    }
  }
  expectType<string>()(yield* new Stubborn())
  // @ts-expect-error: how is it given back?
  hold({ where: 'key()', taking: new Answer() as BaseOp<any> }, () => 1)

  expectType<() => void>()(onEnd(fiber, () => {}, 'died'))
  // @ts-expect-error: no such moment
  onEnd(fiber, () => {}, 'over')
  expectType<() => void>()(addCleanup(fiber, (isInOrder) => expectType<boolean>()(isInOrder)))

  const { runtime } = fiber
  expectType<Runtime>()(runtime)
  expectType<number>()(runtime.now())
  runtime.external++
  // @ts-expect-error: the run queue is not for ops
  runtime.queue
  // @ts-expect-error: nor are turns
  runtime.turn()
  // @ts-expect-error: nor is the inside of a fiber
  fiber.budget

  expectType<{ name?: string }>()(check.options({} as { name?: string }, { name: check.name }, 'here()'))
  // @ts-expect-error: which call?
  check.name('a name')
  expectType<number>()(yield* runBody((n: number) => n, 1))
})
