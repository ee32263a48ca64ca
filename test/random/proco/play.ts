// Plays a random life of an executor, in virtual time and in any order of its fibers, and looks whether what was promised
// held: S78 to S80, S82 to S84, and the right outcome for each item.

import assert from 'node:assert/strict'
import { type Fiber, isStop, moveOnAfter, type Routine, scope, sleep, snooze, spin, until } from 'polyphony'
import type { Future, SubmitOptions } from 'polyphony/proco'
import { virtual } from 'polyphony/testing'
import { aside, type Item, Witness } from '../../proco/witness.js'
import type { Action, Kind, Plan } from './plan.js'

interface Wanted {
  kind: Kind
  key?: number | undefined
  timeout?: number | undefined
  signal?: number | undefined
}

interface Job extends Item {
  readonly kind: Kind
  /** What it was handed in with. */
  readonly options?: SubmitOptions
}

/** What may come out of items and submissions, by the code of the error. */
const REASONS: Record<string, (play: Play, job: Job) => boolean> = {
  TIMED_OUT: (_, job) => job.options?.timeout !== undefined,
  MISSING_RESULT: (play) => play.plan.options.results === 'each',
  CANCEL: () => true,
  KILLED: (play) => play.isEnded,
  NOT_RUNNING: (play) => play.isEnded,
  FIBER_STOPPED: () => false,
}

class Play {
  witness: Witness
  readonly witnesses: Witness[] = []
  readonly futures: { future: Future<any>; job: Job }[] = []
  readonly fibers: Fiber<any>[] = []
  readonly faults: string[] = []
  private readonly promises: Promise<unknown>[] = []
  /** Whether it was killed or told to exit, ever. */
  isEnded = false
  private jobs = 0
  private batches = 0

  constructor(readonly plan: Plan) {
    this.witness = new Witness(plan.options, (given) => this.handle(given))
    this.witnesses.push(this.witness)
  }

  *run(): Routine<void> {
    const { proco } = this.witness
    yield* scope(() => this.live())
    yield* until(Promise.all(this.promises))
    for (let n = 0; n < 1000 && proco.stats().running > 0; n++) yield* snooze() // killed, and on their way
    for (const witness of this.witnesses) witness.check()
    for (const { future, job } of this.futures) yield* this.look(future, job)
    assert.deepEqual(this.faults, [])
    yield* this.witness.again()
  }

  private *live(): Routine<void> {
    const { witness, plan } = this
    const { proco } = witness
    witness.start(plan.form)
    if (plan.end === 'scope') this.isEnded = true
    for (const { isAsync, actions } of plan.people) {
      this.fibers.push(aside(() => (isAsync ? until(this.keep(this.actAsync(actions))) : this.act(actions))))
    }
    for (const fiber of this.fibers) {
      const outcome = yield* fiber.join()
      if (outcome.type === 'error') throw outcome.error
    }
    if (proco.state === 'idle' || plan.end === 'scope') return
    if (plan.end === 'exit') yield* this.exit()
    else {
      this.isEnded = true
      proco.kill()
    }
  }

  /** Async code goes on when nobody waits for it any more. */
  private keep<T>(promise: Promise<T>): Promise<T> {
    this.promises.push(promise.catch(() => {}))
    return promise
  }

  // ---- the handlers

  private handle(given: Job | Job[]): unknown {
    const { form, options } = this.plan
    const jobs = Array.isArray(given) ? given : [given]
    const batch = this.batches++
    const reply = (): unknown => {
      if (jobs.some(({ kind }) => kind === 'throw')) throw new Error(`thrown ${batch}`)
      if (!options.batch) return jobs[0]?.kind === 'error' ? new Error('a value') : jobs[0]?.id
      if (options.results === 'shared') return batch
      const results = jobs.map(({ id, kind }) => (kind === 'error' ? new Error(`of ${id}`) : id))
      return jobs.some(({ kind }) => kind === 'missing') ? results.slice(0, -1) : results
    }
    if (form === 'plain') {
      for (const { kind } of jobs) if (kind === 'try') this.tryOne()
      return reply()
    }
    return form === 'async' ? this.keep(this.handleAsync(jobs, reply)) : this.handleJobs(jobs, reply)
  }

  private *handleJobs(jobs: Job[], reply: () => unknown): Routine<unknown> {
    for (const { kind } of jobs) {
      if (kind === 'snooze') yield* snooze()
      if (kind === 'wait') yield* sleep(5)
      if (kind === 'waitLong') yield* sleep(40)
      if (kind === 'cleanUp') yield* cleansUp()
      if (kind === 'holdOut') yield* holdsOut()
      if (kind === 'child') spin(() => sleep(7))
      if (kind === 'failingChild') spin(failsInTheEnd)
      if (kind === 'try') this.tryOne()
      if (kind === 'nested') yield* this.nest()
    }
    return reply()
  }

  private async handleAsync(jobs: Job[], reply: () => unknown): Promise<unknown> {
    for (const { kind } of jobs) {
      if (kind === 'snooze' || kind === 'wait') await null
      if (kind === 'waitLong') await new Promise<void>((resolve) => setImmediate(resolve))
      if (kind === 'try') this.tryOne()
    }
    return reply()
  }

  private tryOne(): void {
    if (this.witness.proco.state !== 'running') return
    const job = this.job({ kind: 'return' })
    const future = this.witness.trySubmit(job)
    if (future !== undefined) this.futures.push({ future, job })
  }

  /** With a time-out: handlers that wait for each other in a circle are found only if all of them do (S85). */
  private *nest(): Routine<void> {
    const job = this.job({ kind: 'return', timeout: 20 })
    try {
      yield* this.witness.submit(job, job.options)
    } catch (error) {
      if (isStop(error)) throw error
      if ((error as any).code !== 'BAD_STATE') this.judgeError(job, error)
    }
  }

  // ---- those outside

  private job({ kind, key, timeout, signal }: Wanted, isAsync = false): Job {
    const options: SubmitOptions = {}
    if (timeout !== undefined) options.timeout = timeout
    if (signal !== undefined) options.signal = abortedAfter(signal, isAsync)
    return { id: this.jobs++, key, kind, options }
  }

  private *act(actions: readonly Action[]): Routine<void> {
    for (const action of actions) {
      const { witness } = this
      if (action.do === 'sleep') yield* sleep(action.ms)
      else if (action.do === 'snooze') yield* snooze()
      else if (action.do === 'get') yield* attempt(this.futures[action.of]?.future.get())
      else if (action.do === 'exit') yield* this.exit()
      else if ('kind' in action && action.do !== 'trySubmit') {
        const job = this.job(action)
        try {
          if (action.do === 'submit') this.judge(job, 'done', yield* witness.submit(job, job.options))
          else if (action.do === 'submitFor') yield* moveOnAfter(action.ms, () => witness.submit(job))
          else this.futures.push({ future: yield* witness.submitAsync(job, job.options), job })
        } catch (error) {
          if (isStop(error)) throw error
          this.judgeError(job, error)
        }
      } else this.actAtOnce(action, false)
    }
  }

  /** The same in async code, which has no clock here. */
  private async actAsync(actions: readonly Action[]): Promise<void> {
    for (const action of actions) {
      const { witness } = this
      if (action.do === 'sleep' || action.do === 'snooze') await null
      else if (action.do === 'get') await this.futures[action.of]?.future.get().catch(() => {})
      else if (action.do === 'exit') await this.exitAsync()
      else if ('kind' in action && action.do !== 'trySubmit') {
        const job = this.job(action, true)
        try {
          if (action.do === 'submitAsync')
            this.futures.push({ future: await witness.awaitSubmitAsync(job, job.options), job })
          else this.judge(job, 'done', await witness.awaitSubmit(job, job.options))
        } catch (error) {
          this.judgeError(job, error)
        }
      } else this.actAtOnce(action, true)
    }
  }

  private actAtOnce(action: Action, isAsync: boolean): void {
    const { witness } = this
    const { proco } = witness
    if (action.do === 'trySubmit') {
      const job = this.job(action, isAsync)
      try {
        const future = witness.trySubmit(job, job.options)
        if (future !== undefined) this.futures.push({ future, job })
      } catch (error) {
        this.judgeError(job, error)
      }
    } else if (action.do === 'cancel') this.cancel(action.of)
    else if (action.do === 'stop') this.fibers[action.of]?.stop()
    else if (action.do === 'kill' && proco.state !== 'idle') {
      this.isEnded = true
      proco.kill()
    } else if (action.do === 'start' && proco.state === 'idle' && !isAsync) this.startAgain()
  }

  private cancel(of: number): void {
    const { future } = this.futures[of] ?? {}
    if (future === undefined) return
    const wasDone = future.done
    if (future.cancel('by the test') === wasDone) this.faults.push('cancel() says the wrong thing')
    if (!future.done) this.faults.push('a cancelled future is open')
  }

  /** By a fiber: async code would start it on the clock of the wall. It ends with that fiber. */
  private startAgain(): void {
    this.isEnded = true
    this.witness.close()
    const { plan, witness } = this
    this.witness = new Witness(plan.options, (given) => this.handle(given), witness.proco).start(plan.form)
    this.witnesses.push(this.witness)
  }

  private *exit(): Routine<void> {
    const { proco } = this.witness
    if (proco.state === 'idle') return
    this.isEnded = true
    try {
      yield* proco.exit()
    } catch (error) {
      if ((error as any).code !== 'KILLED') throw error
    }
  }
  private async exitAsync(): Promise<void> {
    const { proco } = this.witness
    if (proco.state === 'idle') return
    this.isEnded = true
    await proco.exit().catch((error) => assert.equal(error.code, 'KILLED'))
  }

  // ---- looking

  private *look(future: Future<any>, job: Job): Routine<void> {
    const { state } = future
    try {
      this.judge(job, state, yield* future.get())
    } catch (error) {
      this.judge(job, state, error)
    }
  }

  private judgeError(job: Job, error: unknown): void {
    this.judge(job, (error as any)?.code === 'CANCEL' ? 'cancelled' : 'failed', error)
  }

  /** Whether an item may have come to this. */
  private judge(job: Job, state: string, content: any): void {
    const { options } = this.plan
    if (state === 'done') {
      const isRight =
        options.batch && options.results === 'shared' ? content < this.batches : content === job.id
      if (!isRight && !(job.kind === 'error' && !options.batch)) this.fault(job, `has the result ${content}`)
      if (job.kind === 'throw') this.fault(job, 'has a result')
      return
    }
    const { code, message } = content as { code?: string; message: string }
    if (code !== undefined) {
      if (REASONS[code]?.(this, job)) return
    } else if (/^thrown/.test(message)) {
      if (options.batch || job.kind === 'throw') return
    } else if (message === `of ${job.id}`) {
      if (job.kind === 'error' && options.results === 'each') return
    } else if (/in the end/.test(message)) return
    this.fault(job, `failed: ${content?.stack ?? content}`)
  }

  private fault({ id, kind }: Job, what: string): void {
    this.faults.push(`item ${id}, to ${kind}, ${what}`)
  }
}

function* cleansUp(): Routine<void> {
  try {
    yield* sleep(8)
  } finally {
    yield* sleep(3)
  }
}
function* holdsOut(): Routine<void> {
  try {
    yield* sleep(8)
  } catch {
    yield* snooze()
  }
}
function* failsInTheEnd(): Routine<void> {
  try {
    yield* sleep(3)
  } catch (error) {
    if (!isStop(error)) throw error
  }
  throw new Error('in the end')
}

function* attempt(op: any): Routine<void> {
  try {
    if (op !== undefined) yield* op
  } catch (error) {
    if (isStop(error)) throw error
  }
}

/** Aborted by a fiber, in virtual time; in async code, soon; at once if it is 0. */
function abortedAfter(ms: number, isAsync: boolean): AbortSignal {
  const controller = new AbortController()
  const abort = () => controller.abort('by the test')
  if (ms === 0) abort()
  else if (isAsync) queueMicrotask(abort)
  else {
    spin(function* () {
      yield* sleep(ms)
      abort()
    })
  }
  return controller.signal
}

export async function play(plan: Plan, seed: number | undefined): Promise<void> {
  await virtual(() => new Play(plan).run(), seed === undefined ? {} : { seed })
}
