// The constructs that a random program finds, and the words it uses with them. A new shop for every run.
//
//   q: queues (unbounded, one item, two)      m: mutexes      s: semaphores (one permit, two)
//   c: conditions (c[1] belongs to m[0])      ev: events (ev[1] is a latch)      t: throttlers
//   p: pools (one resource; two, checked; two that grow old, for the patient only)

import {
  Call,
  type ChildSpec,
  Condition,
  call,
  Event,
  Fiber,
  Mutex,
  type Op,
  type Outcome,
  Queue,
  ResourcePool,
  type Routine,
  receive,
  Semaphore,
  sleep,
  spin,
  Throttler,
  until,
  use,
} from 'polyphony'
import type { Recorder } from '../run.js'
import type { Upkeep } from './language.js'

/** What is in the pools. */
export interface Resource {
  id: string
  state: 'alive' | 'dying' | 'dead'
  isChecked: boolean
  /** Who has it. */
  user: Fiber | null
  isDiscarded: boolean
}

interface Tuning {
  create: Upkeep
  validate: Upkeep | 'refuse'
  destroy: Upkeep
}

/** Longer than the grace of a fiber: it never ends by itself. */
const LONG = 6
const TOO_LONG = 6000

export class Shop {
  private items = 0
  private readonly tunings: Tuning[] = []
  /** Everything that the pools have created. */
  readonly made: Resource[][] = [[], [], []]
  /** Errors that nobody has to hear of: a check that fails is a resource that is not good. */
  readonly unheard: unknown[] = []

  readonly q = [
    new Queue<string>({ name: 'q0' }),
    new Queue<string>({ name: 'q1', capacity: 1 }),
    new Queue<string>({ name: 'q2', capacity: 2 }),
  ]
  readonly m = [new Mutex({ name: 'm0' }), new Mutex({ name: 'm1' })]
  readonly s = [new Semaphore(1, { name: 's0' }), new Semaphore(2, { name: 's1' })]
  readonly c = [new Condition<string>(), new Condition<string>(this.m[0])]
  readonly ev = [new Event<string>(), new Event<string>({ latch: true })]
  readonly t = [new Throttler({ interval: 3 }), new Throttler({ interval: 5, burst: 2 })]
  readonly p = [
    this.pool({ limit: 1 }),
    this.pool({ limit: 2 }),
    this.pool({ limit: 2, acquireTimeout: 7, idleTimeout: 8, maxAge: 20 }),
  ]

  constructor(private readonly recorder: Recorder) {}

  private pool(options: { limit: number; acquireTimeout?: number; idleTimeout?: number; maxAge?: number }) {
    const index = this.tunings.length
    this.tunings.push({ create: 0, validate: 0, destroy: 0 })
    const made = this.made[index] as Resource[]
    const tuning = () => this.tunings[index] as Tuning
    const checks = index > 0
    return new ResourcePool<Resource>({
      ...options,
      name: `p${index}`,
      create: () =>
        this.upkeep(tuning().create, this.recorder.error, () => {
          const resource: Resource = {
            id: `p${index}r${made.length}`,
            state: 'alive',
            isChecked: false,
            user: null,
            isDiscarded: false,
          }
          made.push(resource)
          return resource
        }) as Op<Resource>,
      ...(checks && {
        validate: (resource: Resource) => {
          const how = tuning().validate
          const checks = (is: boolean) => () => {
            resource.isChecked = is
          }
          const ms = how === 'refuse' ? 1 : how
          return this.upkeep(ms, this.unheardError, () => how !== 'refuse', checks(false), checks(true))
        },
      }),
      destroy: (resource: Resource) => {
        if (resource.state !== 'alive') throw new Error(`${resource.id} is destroyed twice`)
        resource.state = 'dying'
        const over = () => {
          resource.state = 'dead'
        }
        return this.upkeep(tuning().destroy, this.recorder.error, () => {}, over)
      },
    })
  }

  private readonly unheardError = (): Error => {
    const error = this.recorder.error()
    this.unheard.push(error)
    return error
  }

  /** Takes its time, gives something or fails; `over` is called however it ends. What takes its time may never begin. */
  private upkeep(
    how: Upkeep,
    error: () => Error,
    give: () => unknown,
    over = () => {},
    begin = () => {},
  ): unknown {
    if (how === 0 || how === 'throw') {
      over()
      if (how === 'throw') throw error()
      return give()
    }
    return (function* (): Routine<unknown> {
      begin()
      try {
        yield* sleep(how === 'fail' ? 1 : how === LONG ? TOO_LONG : how)
        if (how === 'fail') throw error()
        return give()
      } finally {
        over()
      }
    })()
  }

  /** Closes the pools, and waits until they are empty. */
  *close(): Routine<Outcome<unknown>[]> {
    for (const pool of this.p) {
      if (!pool.isClosed) yield* pool.close()
      else yield* until(pool[Symbol.asyncDispose]())
    }
    return []
  }

  /** What a program that nobody watches calls. */
  words() {
    const { q, m, s, c, ev, p, t, recorder } = this
    return {
      q,
      m,
      s,
      c,
      ev,
      p,
      t,
      isOdd,
      isEven,
      isCall,
      item: () => `i${this.items++}`,
      tune: (index: number, tuning: Tuning) => {
        this.tunings[index] = tuning
      },
      pushTo: (fiber: Fiber, message: string) => fiber.mailbox.push(message),
      pick: (match: (message: unknown) => boolean) => receive(match),
      ask: (fiber: Fiber, question: string, options?: { timeout: number }) => call(fiber, question, options),
      serve: (how: string, question: Call) => serve(how, question, recorder.error),
      take: (name: string, ms: number, fails: boolean) =>
        use(name, function* () {
          yield* sleep(ms)
          if (fails) throw recorder.error()
        }),
      members,
      family,
    }
  }
}

const isNumbered = (message: unknown, rest: number) =>
  typeof message === 'string' && Number(message.slice(1)) % 2 === rest
export const isOdd = (message: unknown): boolean => isNumbered(message, 1)
export const isEven = (message: unknown): boolean => isNumbered(message, 0)
export const isCall = (message: unknown): boolean => message instanceof Call

export const answerTo = (question: unknown): string => `answer to ${question}`

/** Answers a call, or not. */
function serve(how: string, question: Call, error: () => Error): boolean | undefined {
  if (how === 'reply') return question.reply(answerTo(question.message))
  if (how === 'fail') return question.fail(error())
  if (how === 'later') {
    spin('later', function* () {
      yield* sleep(2)
      question.reply(answerTo(question.message))
    })
  }
  return undefined
}

type Item = Fiber | (() => Op<unknown>)

/** Fibers that have not been spun are left out; nobody can win an empty race. */
function members(items: (Item | undefined)[]): Item[] {
  const present = items.filter((item) => item !== undefined)
  return present.length > 0 ? present : [() => 'nobody' as unknown as Op<unknown>]
}

/** Those whom the current fiber can supervise. */
function family(children: (Fiber | ChildSpec | undefined)[]): (Fiber | ChildSpec)[] {
  const above = new Set<unknown>([undefined])
  for (let fiber: Fiber | null = Fiber.current; fiber !== null; fiber = fiber.parent) above.add(fiber)
  return [...new Set(children)].filter((child) => !above.has(child)) as (Fiber | ChildSpec)[]
}
