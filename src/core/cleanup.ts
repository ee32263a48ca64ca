// Cleanups of `use` and `addCleanup`: they run when a scope or a fiber is over, after its children, newest first (S60).
//
// In a scope they are one more wait at the end. A fiber runs once more after its body, behind a barrier, before it dies:
//
//   body ends -> children end -> [ cleanups, one by one ] -> dead, with the outcome of the body and the errors of both

import { Block } from './block.js'
import { checkBody, drive } from './body.js'
import { BadState, Stop, tagError } from './errors.js'
import type { Fiber } from './fiber.js'
import { append, type Linked, listBackwards, remove } from './list.js'
import type { Routine, Switchpoint } from './op.js'
import { checkFiber } from './options.js'
import { Scope } from './scope.js'
import {
  type AnswerCode,
  BARS_ALL,
  type Barrier,
  DEAD,
  type EndCode,
  FORCED,
  NONE,
  UNWINDING,
  VALUE,
} from './state.js'
import { armDeadline, boundFor, deadlineOf, force, regionsOf } from './switchpoint.js'
import { foldError, innermostOwner, type Owner } from './tree.js'

/**
 * Adds a body that runs when the fiber's innermost `scope`, or else the fiber, is over, after its children. It runs to
 * completion, like the cleanup of `ensure` (S16b). Its argument is true if the scope or fiber ended without an error or a
 * stop. Returns a function that removes it. `use` does the same for a resource.
 *
 * With a `resource`, the cleanup follows it: if the scope or fiber returns the resource, alone or in an array, the cleanup passes
 * to the scope or fiber around it, which receives it. `connect` and `openFile` do that (S86).
 *
 * ```ts
 * yield* scope(function* () {
 *   addCleanup(Fiber.current, function* (isInOrder) {
 *     yield* sleep(10)
 *     console.log(isInOrder ? 'in order' : 'cut short') // in order
 *   })
 *   console.log('working') // working
 * })
 * ```
 */
export function addCleanup(
  fiber: Fiber<any, any>,
  run: (isInOrder: boolean) => unknown,
  resource?: object,
): () => void {
  checkFiber(fiber, 'addCleanup()')
  checkBody(run, 'addCleanup()')
  if (fiber._state === DEAD) throw new BadState(`addCleanup() came too late: ${fiber.path} is dead`)
  const node = new Cleanup(run, resource)
  node.moveTo(innermostOwner(fiber))
  return () => node.remove()
}

/** A result of a fiber that goes on: what it holds goes to the owner around. */
export function passOn(fiber: Fiber<any, any>, result: unknown): void {
  if (fiber.owner !== null) fiber.rare?.cleanups?.passOn(result, fiber.owner)
}

/**
 * Takes a resource off the cleanups of a fiber and its scopes: it belongs to other code now, such as a pool.
 *
 * ```ts
 * const resource = { name: 'a connection' }
 * yield* scope(function* () {
 *   addCleanup(Fiber.current, () => console.log('closed'), resource) // never printed
 *   disown(Fiber.current, resource)
 * })
 * ```
 */
export function disown(fiber: Fiber<any, any>, resource: unknown): void {
  if (typeof resource !== 'object' || resource === null) return
  for (const region of regionsOf(fiber)) {
    const cleanups = region === fiber ? fiber.rare?.cleanups : (region as Partial<Scope<any>>).cleanups
    for (const cleanup of cleanups?.all() ?? []) if (cleanup.resource === resource) cleanup.remove()
  }
}

/** A node in a list of cleanups. */
class Cleanup implements Linked<Cleanup> {
  before: Cleanup | null = null
  after: Cleanup | null = null
  owner!: Owner
  /** The list that it is in. If the generator of a scope is dropped, its cleanups move to the list of the fiber. */
  list!: CleanupList
  constructor(
    readonly run: (isInOrder: boolean) => unknown,
    readonly resource: object | undefined,
  ) {}

  moveTo(owner: Owner): void {
    const keeper = keeperOf(owner)
    keeper.cleanups ??= new CleanupList()
    this.owner = owner
    keeper.cleanups.add(this)
  }

  remove(): void {
    const { list } = this
    const keeper = keeperOf(this.owner)
    if (list.remove(this) && keeper.cleanups === list) keeper.cleanups = null // a long-lived fiber keeps no empty list
  }
}

/** Whether a result is a resource, or an array that has it, or its outcome, as an element. */
function hasResource(result: unknown, resource: object): boolean {
  if (!Array.isArray(result)) return result === resource
  return result.some((each) => each === resource || (each as { value?: unknown } | null)?.value === resource)
}

/** Whether the scope or fiber has ended without an error or a stop. */
function endedInOrder(owner: Owner): boolean {
  return owner.host === owner ? owner.rare?.cleanups?.how === VALUE : (owner as Scope<any>).isSound
}

function keeperOf(owner: Owner): { cleanups: CleanupList | null } {
  return owner.host === owner ? owner.rareState() : (owner as Scope<any>)
}

/** The cleanups of a fiber or a scope, before and while they run. */
export class CleanupList {
  private last: Cleanup | null = null
  /** When the cleanups of a fiber have to be over, if it was stopped after its body and before they began. */
  private bound: Stop | null = null
  /** While the cleanups of a fiber run: the outcome of its body, and the errors so far. */
  private running: {
    readonly how: AnswerCode | EndCode
    readonly value: unknown
    readonly errors: unknown[]
    readonly block: CleanupBlock
  } | null = null

  get isRunning(): boolean {
    return this.running !== null
  }
  /** While the cleanups of a fiber run: how its body ended. */
  get how(): AnswerCode | EndCode | undefined {
    return this.running?.how
  }

  add(cleanup: Cleanup): void {
    cleanup.list = this
    this.last = append(this.last, cleanup)
  }

  /** True if the list is empty now, and not running. */
  remove(cleanup: Cleanup): boolean {
    this.last = remove(this.last, cleanup)
    return this.last === null && !this.isRunning
  }

  /** Removes the newest one. */
  pop(): Cleanup | null {
    const { last } = this
    if (last !== null) this.remove(last)
    return last
  }

  /** All of them, the oldest first. */
  all(): Cleanup[] {
    return listBackwards(this.last).reverse()
  }

  /** The owner has returned a result: what it holds goes to the owner around. */
  passOn(result: unknown, around: Owner): void {
    if (typeof result !== 'object' || result === null) return
    for (const cleanup of this.all()) {
      if (cleanup.resource === undefined || !hasResource(result, cleanup.resource)) continue
      cleanup.remove()
      cleanup.moveTo(around)
    }
  }

  moveTo(fiber: Fiber): void {
    const rare = fiber.rareState()
    rare.cleanups ??= new CleanupList()
    for (const cleanup of this.all()) {
      this.remove(cleanup)
      rare.cleanups.add(cleanup)
    }
  }

  /** A block that runs all of them. */
  block(failed: (error: unknown) => void, stop: Stop | null = null): CleanupBlock {
    return new CleanupBlock(this, failed, stop)
  }

  /** Called when the last child of a fiber is gone: runs its cleanups. */
  start(fiber: Fiber): void {
    const { how, value, stopSignal } = fiber
    const errors: unknown[] = []
    const bound = stopSignal === null ? null : boundBy(stopSignal, deadlineOf(fiber, fiber))
    const block = this.block((error) => errors.push(error), bound)
    if (this.bound !== null) block.hurry(this.bound)
    this.running = { how, value, errors, block }
    fiber.how = NONE
    fiber.value = undefined
    fiber.generator = drive(block)
    fiber.runtime.push(fiber)
  }

  /** Keeps an error that arrives while they run. False if they do not run. */
  keep(error: unknown): boolean {
    this.running?.errors.push(error)
    return this.running !== null
  }

  /** The fiber was stopped after its body: the deadline of that stop holds for its cleanups too (S21). */
  hurry(fiber: Fiber, stop: Stop): void {
    const bound = boundBy(stop, boundFor(fiber, stop))
    if (this.running !== null) this.running.block.hurry(bound)
    else if (this.bound === null || bound.deadline < this.bound.deadline) this.bound = bound
  }

  /** They are over: the fiber gets back the outcome of its body, with their errors folded in. */
  ended(fiber: Fiber): void {
    const { how, value, errors } = this.running as NonNullable<typeof this.running>
    fiber.rareState().cleanups = null
    for (const late = fiber.errors; late !== null && late.size > 0; ) {
      const { error, fromChild } = late.shift()
      if (fromChild) errors.push(error)
    }
    fiber.errors = null
    fiber.how = how
    fiber.value = value
    for (const error of errors) foldError(fiber, tagError(error, fiber))
  }
}

function boundBy({ reason, since }: Stop, deadline: number): Stop {
  return new Stop(undefined, reason, since, deadline, false)
}

/** Runs all of them, each whatever the others do. Their errors go to `failed`. */
class CleanupBlock extends Block<void> {
  constructor(
    list: CleanupList,
    failed: (error: unknown) => void,
    /** The stop with their deadline, if there is one before they begin. */
    private stop: Stop | null,
  ) {
    super(() => runAll(list, failed), 'use()')
  }

  describe(): string {
    return 'use()'
  }
  override get barrier(): Barrier {
    return BARS_ALL
  }
  protected override enter(): IteratorResult<Switchpoint, void> {
    return this.enterAnyway()
  }
  protected override begin(): void {
    if (this.stop !== null) this.hurry(this.stop)
  }

  /** The fiber was stopped, perhaps again: its deadline holds for the cleanups. */
  hurry(stop: Stop): void {
    if (this.fiber === null) {
      if (stop.deadline < (this.stop?.deadline ?? Infinity)) this.stop = stop
      return
    }
    const { fiber } = this
    if (this._phase === FORCED || stop.deadline >= deadlineOf(this, fiber)) return
    this._phase = UNWINDING
    this.stopSignal = stop
    if (stop.deadline <= fiber.runtime.now()) force(this, fiber)
    else armDeadline(this, fiber)
  }
}

/** One cleanup. Its children and its own cleanups end with it. */
class CleanupScope extends Scope<unknown> {
  constructor(private readonly cleanup: Cleanup) {
    super(cleanup.run)
  }
  protected override begin(): boolean {
    super.begin()
    return endedInOrder(this.cleanup.owner)
  }
  /** It begins even if a signal is pending. */
  protected override enter(): IteratorResult<Switchpoint, unknown> {
    return this.enterAnyway()
  }
}

function* runAll(list: CleanupList, failed: (error: unknown) => void): Routine<void> {
  let cleanup = list.pop()
  while (cleanup !== null) {
    try {
      yield* new CleanupScope(cleanup)
    } catch (error) {
      failed(error)
    } finally {
      cleanup = list.pop()
      // biome-ignore lint/correctness/noUnsafeFinally: forced out of one, it goes on with the next
      if (cleanup !== null) continue
    }
  }
}
