// What must hold of every program, in whatever order its fibers run. Statements tell a watch what they do and see;
// the tap tells it of beginnings and ends. A rule that is broken is noted, with its number:
//
//   S01 a fiber ends once in each life, after its children, and does not run after that; nothing is left (`virtual` looks)
//   S05 one that was stopped before its start runs no line
//   S12 whoever waits for an end is told of one that was; S31 Fiber.await throws when all are over; S37 select gives one that has ended
//   S16, S16b cleanup that a stop has begun, and that of `ensure`, is not cut unless forced; S20 no stop strikes in a shield
//   S17 no new work is waited for while unwinding; S18 a stop is seen through within its grace; S19 nobody is abandoned
//   S21 a stop strikes once; S25 an error comes up into a fiber once; S22, S24 an error that left a body was seen by somebody else
//   S34 an answer that was given arrives: a message, a wake-up (S63); S38 messages arrive once and in order; S41 not after a restart
//   S68 a sleep takes as long as it says, and time never runs back; S70 nothing odd is thrown or reported

import {
  Call,
  DeadlockError,
  Fiber,
  FiberStopped,
  isStop,
  type Outcome,
  PolyphonyError,
  PoolClosed,
  QueueClosed,
  RestartIntensityError,
  suppressedErrors,
  TimedOut,
} from 'polyphony'
import { LIVE, makeOutcome } from '#core/state'

/** How a statement waits. 'op': for a construct, which may refuse it with an error of its own. */
export type Kind = 'sleep' | 'idle' | 'observe' | 'op'
const REFUSALS = [QueueClosed, PoolClosed, TimedOut, FiberStopped]
const isRefusal = (thrown: unknown) =>
  REFUSALS.some((refusal) => thrown instanceof refusal) ||
  (thrown instanceof PolyphonyError && EXPECTED.test(thrown.message))
/** What a program may well be told. */
const EXPECTED = /cannot be spun|supervising already|inside acquire\(\)/

/** Where in its body a fiber is, as far as the rules care. */
export interface Place {
  /** How many shields and cleanups of `ensure` are around it. */
  walls: number
  /**
   * What may not strike here, inner blocks aside. 'all': cleanup that a stop has begun (S16), or the cleanup of `ensure` (S16b).
   * 'stops': a shield (S20).
   */
  calm: Calm
  /** It was refused new work (S17): a limit inside may cut what that has begun. */
  wasRefused: boolean
}
export type Calm = 'none' | 'stops' | 'all'

interface Message {
  to: Fiber
  received: number
  /** Incarnation of the receiver when a restart cut it off; 0 if none did. */
  cut: number
  /** Its sender waits for room. */
  isPending: boolean
  /** That of the receiver when it was sent. */
  incarnation: number
}

/** What may well be reported: a lock that was forgotten, a `destroy` that fails. */
const REPORTED = /ended without unlocking|before it could lock|destroying a resource/

export class Watch {
  readonly broken: string[] = []
  private readonly places = new Map<Fiber, Place>()
  private readonly ends = new Map<Fiber, Outcome<unknown>[]>()
  private readonly resting = new Set<Fiber>()
  private readonly forced = new Set<Fiber>()
  private readonly restarted = new Set<Fiber>()
  private readonly due = new Map<Fiber, { incarnation: number; latest: number }>()
  /** Errors that have left a body, each with the fibers whose body it was. */
  private readonly left = new Map<unknown, Set<Fiber>>()
  /** Who has seen an error: a fiber, or 'root', or a 'report'. */
  private readonly seenBy = new Map<unknown, Set<unknown>>()
  private readonly strikes = new Map<unknown, Map<Fiber, { all: number; refusals: number }>>()
  private readonly messages = new Map<unknown, Message>()
  private readonly wakeUps = new Map<unknown, Fiber>()
  private readonly cleanups = new Map<object, Fiber>()
  private time = 0

  constructor(private readonly now: () => number) {}

  break(rule: string, what: string): void {
    this.broken.push(`${rule}: ${what}, at ${this.time}`)
  }

  // ---- what the tap tells

  heard(event: string, fiber: Fiber, detail?: unknown): void {
    this.tick()
    const place = this.places.get(fiber)
    if (event === 'block' && fiber.phase === 'unwinding' && (detail as { idle?: boolean } | null)?.idle) {
      if (place?.walls === 0) this.break('S17', `${fiber.name} waits for work while it unwinds`)
    }
    if (event === 'refused' && place) place.wasRefused = true
    if (event === 'forced') this.forced.add(fiber)
    else if (event === 'restart') this.resting.delete(fiber)
    else if (event === 'unblock' && this.resting.has(fiber))
      this.break('S01', `${fiber.name} runs after its end`)
    else if (event === 'end') this.ended(fiber)
  }

  private ended(fiber: Fiber): void {
    const { how, value } = fiber as any
    const outcome = makeOutcome(how, value)
    const before = this.ends.get(fiber) ?? []
    this.ends.set(fiber, [...before, outcome])
    if (before.length + 1 !== fiber.incarnation) {
      this.break('S01', `${fiber.name} ended ${before.length + 1} times in ${fiber.incarnation} lives`)
    }
    if (fiber.children.length > 0) this.break('S01', `${fiber.name} ended before ${fiber.children[0]?.name}`)
    const due = this.due.get(fiber)
    if (due?.incarnation === fiber.incarnation && this.time > due.latest) {
      this.break('S18', `${fiber.name} was due at ${due.latest} and ended later`)
    }
    if (outcome.type === 'abandoned') this.break('S19', `${fiber.name} was abandoned`)
    if (outcome.type === 'error') add(this.left, outcome.error, fiber)
    this.resting.add(fiber)
  }

  private tick(): void {
    const now = this.now()
    if (now < this.time) this.break('S68', `time ran back to ${now}`)
    this.time = now
  }

  // ---- what statements tell

  private place(): Place {
    return this.places.get(Fiber.current) as Place
  }

  /** A stretch of a body begins; gives the call for its end. */
  enters(calm: Calm, walls: number): () => void {
    const place = this.place()
    const before = place.calm
    place.calm = calm
    place.walls += walls
    return () => {
      place.calm = before
      place.walls -= walls
    }
  }

  begins(fiber: Fiber): void {
    this.places.set(fiber, { walls: 0, calm: 'none', wasRefused: false })
    if (fiber.phase !== 'live') this.break('S05', `${fiber.name} began although it was ${fiber.phase}`)
  }

  /** A wait gave a value. */
  passed(fiber: Fiber, kind: Kind, phaseBefore: string, since: number, ms = 0): void {
    this.tick()
    if (kind === 'idle' && phaseBefore === 'forced')
      this.break('S19', `${fiber.name} waited although it was forced`)
    if (kind === 'sleep' && this.time !== since + ms) {
      this.break('S68', `sleep(${ms}) of ${fiber.name} took ${this.time - since}`)
    }
  }

  /** A wait threw. */
  struck(fiber: Fiber, kind: Kind, thrown: unknown): void {
    this.tick()
    this.sees(fiber, thrown)
    const { calm } = this.place()
    // What an op itself refuses is no signal that cuts it.
    if ((isRefusal(thrown) || thrown instanceof DeadlockError) && kind !== 'sleep') return
    if ((kind === 'sleep' || kind === 'op') && calm === 'all') {
      this.break('S16', `${show(thrown)} cut the cleanup of ${fiber.name}`)
    }
    if (isStop(thrown) && calm === 'stops') this.break('S20', `a stop struck ${fiber.name} in its shield`)
    if (kind === 'observe' && !isStop(thrown)) return // S25: awaiting tells as often as one asks
    const strikes = { ...(this.strikes.get(thrown)?.get(fiber) ?? { all: 0, refusals: 0 }) }
    strikes.all++
    if (kind === 'idle') strikes.refusals++
    if (!this.strikes.has(thrown)) this.strikes.set(thrown, new Map())
    this.strikes.get(thrown)?.set(fiber, strikes)
    if (!isStop(thrown)) {
      if (strikes.all > 1) this.break('S25', `${show(thrown)} struck ${fiber.name} ${strikes.all} times`)
    } else if (strikes.all - strikes.refusals > 1 || strikes.all > 3) {
      this.break('S21', `a stop struck ${fiber.name} ${strikes.all} times`) // S17: it may be refused work twice more
    }
  }

  sees(who: unknown, thrown: unknown): void {
    if (isStop(thrown)) return
    const isKnown =
      thrown instanceof Error &&
      (/^E\d+$/.test(thrown.message) ||
        thrown instanceof FiberStopped ||
        thrown instanceof DeadlockError ||
        thrown instanceof RestartIntensityError ||
        thrown instanceof AggregateError ||
        isRefusal(thrown))
    if (!isKnown)
      this.break('S70', `an odd error was thrown: ${thrown instanceof Error ? thrown.stack : String(thrown)}`)
    add(this.seenBy, thrown, who)
    if (thrown instanceof AggregateError) for (const error of thrown.errors) this.sees(who, error)
    const { cause } = thrown as Error
    if (cause instanceof Error) this.sees(who, cause)
  }

  /** What a wait for the end of `target` told. */
  told = (target: Fiber, outcome: Outcome<unknown>): Outcome<unknown> => {
    if (outcome.type === 'error') this.sees(Fiber.current, outcome.error)
    const { type, value, error } = outcome as any
    const same = (other: any) => other.type === type && other.value === value && other.error === error
    if (!this.ends.get(target)?.some(same)) this.break('S12', `${target.name} never ended like that: ${type}`)
    return outcome
  }

  wasForced(fiber: Fiber): boolean {
    return this.forced.has(fiber)
  }
  hasEnded(fiber: Fiber): boolean {
    return this.ends.has(fiber)
  }

  /**
   * `Fiber.await` threw: if it was by one that had to be waited for, all of them are over (S31).
   * Not so by a child: its error may have come up after something else had cut the wait, and strikes first (S26).
   * Nor if a stop has cut the wait: then the error outweighs the stop (S22).
   */
  failedAll(fibers: Fiber[], thrown: unknown): void {
    for (let region = (Fiber.current as any).innermost; region != null; region = region.outer) {
      if (region._phase !== LIVE) return
    }
    const owners = this.left.get(thrown)
    if (owners?.size !== 1) return
    if (!fibers.some((fiber) => owners.has(fiber) && fiber.parent !== Fiber.current)) return
    const running = fibers.find((fiber) => !this.ends.has(fiber))
    if (running) this.break('S31', `Fiber.await threw while ${running.name} was still there`)
  }

  stops(target: Fiber, grace: number | undefined): void {
    if (target.outcome !== undefined) return
    const latest = this.now() + (grace ?? target.grace)
    const due = this.due.get(target)
    if (due?.incarnation === target.incarnation) due.latest = Math.min(due.latest, latest)
    else this.due.set(target, { incarnation: target.incarnation, latest })
  }

  sent(to: Fiber, message: unknown, isPending = false): void {
    this.messages.set(message, { to, received: 0, cut: 0, isPending, incarnation: to.incarnation })
  }

  /** S41: the mailbox is cut at the call. */
  restarts(to: Fiber, incarnation: number, wasAlive: boolean): void {
    this.restarted.add(to)
    for (const message of this.messages.values()) {
      if (message.to === to && !message.isPending) message.cut ||= incarnation
    }
    if (wasAlive) this.stops(to, undefined)
  }

  /** A supervisor may restart it, and cuts its mailbox then. */
  isSupervised(fiber: Fiber): void {
    this.restarted.add(fiber)
  }

  /** Somebody has waited for room in a mailbox. */
  pushed(to: Fiber, content: unknown, isIn: boolean): void {
    const message = this.messages.get(content) as Message
    message.isPending = false
    if (isIn) return
    if (message.received > 0) this.break('S38', `${to.name} got ${content}, which was refused`)
    this.messages.delete(content)
  }

  /** Nobody can run: whoever waits for a message, or for room, waits for good reason. */
  looksAtMailbox(fiber: Fiber): void {
    const { op, cold, _mailbox } = fiber as any
    if (fiber.state === 'dead') return
    const { size, capacity, pushing } = fiber.mailbox.stats()
    if (pushing > 0 && size < capacity) this.break('S36', `${pushing} wait for room in ${fiber.name}`)
    if (op?.describe() === 'receive()' && cold?.restart == null && (_mailbox?.size ?? 0) + pushing > 0)
      this.break('S36', `${fiber.name} waits for a message that is there`)
  }

  receives = (content: unknown, match: (message: unknown) => boolean = () => true): unknown => {
    const fiber = Fiber.current
    if (content instanceof Call) return content
    const message = this.messages.get(content)
    if (message === undefined || message.to !== fiber) {
      this.break('S38', `${fiber.name} got what was not sent to it`)
      return content
    }
    if (++message.received > 1) this.break('S38', `${fiber.name} got ${content} twice`)
    if (message.cut && fiber.incarnation > message.cut) this.break('S41', `${content} survived the restart`)
    for (const [other, { to, received, cut, incarnation }] of this.messages) {
      if (other === content) break
      if (this.restarted.has(to) && incarnation < fiber.incarnation) continue
      if (to === fiber && received === 0 && cut === 0 && match(other))
        this.break('S38', `${fiber.name} got ${content} before ${other}`)
    }
    return content
  }

  wakes(target: Fiber, value: unknown): void {
    this.wakeUps.set(value, target)
  }
  woken = (value: unknown): unknown => {
    const fiber = Fiber.current
    if (this.wakeUps.get(value) !== fiber) this.break('S63', `${fiber.name} was woken by nobody`)
    this.wakeUps.delete(value)
    return value
  }

  /** A `finally` begins, by a stop or for another reason; gives the call for its end. */
  finallyBegins(isStopped: boolean): () => void {
    return this.enters(isStopped && !this.place().wasRefused ? 'all' : 'none', 0)
  }

  cleanupBegins(): object {
    const cleanup = {}
    this.cleanups.set(cleanup, Fiber.current)
    return cleanup
  }
  cleanupEnds(cleanup: object): void {
    this.cleanups.delete(cleanup)
  }

  // ---- at the end

  finish(reports: { kind: string; message: string; error?: unknown }[]): void {
    for (const { kind, message, error } of reports) {
      if (error !== undefined) this.sees('report', error)
      if (kind !== 'forced' && kind !== 'unobserved' && !REPORTED.test(message)) this.break('S70', message)
    }
    for (const fiber of this.cleanups.values()) {
      if (!this.forced.has(fiber)) this.break('S16b', `a cleanup of ${fiber.name} was not whole`)
    }
    for (const [value, fiber] of this.wakeUps) {
      this.break('S34', `${fiber.name} was woken by ${value} and never got it`)
    }
    for (const [content, { to, received, cut }] of this.messages) {
      if (received > 0 || cut > 0 || this.restarted.has(to)) continue // a restart may have been called off, with its mailbox
      const { _mailbox } = to as any
      if ((_mailbox?.size ?? 0) === 0) this.break('S34', `${content} reached ${to.name} and was lost`)
    }
    this.checkErrors()
  }

  /** S22, S24: an error that left a body has been seen by somebody else, or hangs on one that was. */
  private checkErrors(): void {
    const pending = [...this.seenBy.keys()]
    for (let error = pending.pop(); error !== undefined; error = pending.pop()) {
      for (const later of suppressedErrors(error)) {
        const before = this.seenBy.get(later)?.size ?? 0
        for (const who of this.seenBy.get(error) ?? []) add(this.seenBy, later, who)
        if (this.seenBy.get(later)?.size !== before) pending.push(later)
      }
    }
    for (const [error, owners] of this.left) {
      const seers = this.seenBy.get(error) ?? new Set()
      for (const owner of owners) {
        const others = [...seers].filter((who) => who !== owner)
        if (others.length === 0) this.break('S22', `${show(error)} left ${owner.name} and was lost`)
      }
    }
  }
}

function add<K, V>(map: Map<K, Set<V>>, key: K, value: V): void {
  const set = map.get(key)
  if (set) set.add(value)
  else map.set(key, new Set([value]))
}

function show(thrown: unknown): string {
  return isStop(thrown) ? 'a stop' : thrown instanceof Error ? thrown.message : String(thrown)
}
