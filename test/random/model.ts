// The reference model: a small interpreter that says what a program must print, and when, if fibers run first come,
// first served. Written from docs/semantics.md, for reading: lists instead of heaps and rings, one function for a rule.
// It shares nothing with the core but the language it is written in.

import { MAIN_LIMIT, Numbers, type Program, RESTARTS, type Statement } from './program.js'

const [LIVE, REQUESTED, UNWINDING, FORCED, CLOSING, DEAD] = [0, 1, 2, 3, 4, 5]
const DEFAULT_GRACE = 5000
const SWALLOWS = 3

/** A stop on its way: `bound` if it came from a parent, whose deadline only limits the fiber's own grace (S18). */
interface Stop {
  stop: true
  value: string | undefined
  since: number
  deadline: number
  bound: boolean
  byRestart: boolean
}
/** An error, with what the rules keep beside it (S22, S25). */
class Failure {
  suppressed: Failure[] = []
  received = new Set<Fiber>()
  constructor(readonly name: string) {}
}
/**
 * How a forced region ends: no `catch` sees it (S19). Inside one body an error may take its place, and be caught; but `yield*`
 * remembers that it was told to return, so a body that ends then does not go on outside.
 */
class Return {
  constructor(readonly region: Region) {}
}
interface Timer {
  time: number
  fire: () => void
}
/** A fiber or a block (S65). */
class Region {
  phase = LIVE
  signal: Stop | null = null
  timer: Timer | null = null
  refused = 0
  children: Fiber[] = [] // oldest first
  failures: Failure[] = []
  stage: 'body' | 'gathering' | 'ending' | 'left' = 'body'
  wait: Wait | null = null
  fiber!: Fiber
  constructor(
    readonly kind: 'fiber' | 'moveOn' | 'cancelAfter' | 'scope' | 'shield' | 'ensure' | 'cleanup',
  ) {}
  get wasStruck() {
    return this.phase >= UNWINDING && this.signal !== null
  }
}
type Answer = { value?: unknown; error?: Failure; signal?: true }
interface Wait {
  idle?: boolean
  what?: string
  target?: Fiber
  ready?: () => Answer | null
  leave?: () => void
}
class Fiber extends Region {
  blocks: Region[] = []
  generator: Generator<void, void> | null = null
  waitsIn: Wait | null = null
  answer: Answer | null = null
  isAlarmed = false // something is pending: the next op that is ready lets the others run (S09, S50)
  waits = 0
  calmedAt = -1
  errors: { error: Failure; fromChild: boolean }[] = []
  returning: Return | null = null
  tight = Infinity
  forceAt = Infinity
  mailbox: unknown[] = []
  restart: { mailbox: unknown[] } | null = null
  observers: { watcher: Fiber; told: (from: Fiber) => void }[] = []
  how: 'value' | 'stopped' | 'error' = 'value'
  result: any = undefined
  constructor(
    readonly name: string,
    readonly body: (fiber: Fiber) => Generator<void, void>,
    readonly value: string | undefined,
    readonly owner: Region | null,
    readonly grace: number,
    readonly link: boolean,
  ) {
    super('fiber')
    this.fiber = this
  }
}

/** Everything that the program prints. */
export function predict(program: Program): string[] {
  const numbers = new Numbers(program)
  const lines: string[] = []
  const reports: string[] = []
  const errors: Failure[] = []
  const queue: Fiber[] = []
  let timers: Timer[] = []
  const fibers: (Fiber | undefined)[] = []
  let now = 0
  let messages = 0
  let restarts = 0

  const log = (fiber: Fiber, n: number, what?: unknown) =>
    lines.push(`${now} ${fiber.name} ${n} ${show(what)}`)
  const newError = () => errors[errors.push(new Failure(`E${errors.length}`)) - 1] as Failure
  const at = (time: number, fire: () => void): Timer => timers[timers.push({ time, fire }) - 1] as Timer
  const cancel = (timer: Timer | null) => (timers = timers.filter((t) => t !== timer))
  const regions = (f: Fiber) => [...f.blocks].reverse().concat(f) // innermost first

  // ---- switchpoints (S09, S17, S34, S50, S65)

  /** Which region strikes here: the outermost that is asked to end, with no wall and nothing unwinding between. */
  function target(f: Fiber): Region | null {
    let found = null
    for (const region of regions(f)) {
      if (region.phase === REQUESTED) found = region
      else if (region.phase !== LIVE || ['shield', 'cleanup'].includes(region.kind)) break
    }
    return found
  }
  const isCalm = (f: Fiber) =>
    f.errors.length === 0 && regions(f).every((r) => r.phase === LIVE || r.phase === CLOSING)
  /** S50: what was pending is over, and the budget is a fresh one. */
  function calmDown(f: Fiber): void {
    f.isAlarmed = true
    if (!isCalm(f) || f.calmedAt === f.waits) return
    f.calmedAt = f.waits // once for each turn
    f.isAlarmed = false
  }
  const canRaise = (f: Fiber) => regions(f).every((r) => r.phase < UNWINDING && r.kind !== 'cleanup')
  function strike(f: Fiber): void {
    if (f.errors.length > 0 && canRaise(f)) {
      const { error } = f.errors.shift()! // S26: errors first
      calmDown(f)
      throw error
    }
    const region = target(f)
    if (region === null) return
    region.phase = UNWINDING
    for (const inner of regions(f).slice(0, regions(f).indexOf(region))) {
      inner.phase = UNWINDING // S65: has nothing more to say
      inner.signal = null
      cancel(inner.timer)
    }
    throw region.signal
  }
  /** From the first wait on, the deadline counts (S18). */
  function arm(f: Fiber): void {
    for (const region of regions(f)) {
      if (region.phase === LIVE) continue
      if (region.kind === 'fiber') armFiber(f)
      else if (region.timer === null && region.signal !== null) {
        region.timer = at(region.signal.deadline, () => overdue(region))
      }
    }
  }
  function armFiber(f: Fiber): void {
    const hasChildren = regions(f).some((region) => region.children.length > 0)
    const time = hasChildren ? now + Math.max(0, deadline(f) - now) / 2 : deadline(f)
    if (time >= f.forceAt) return
    f.forceAt = time
    cancel(f.timer)
    f.timer = at(time, () => {
      // The children that the other half was for are gone: it has the rest.
      const isAlone = regions(f).every((region) => region.children.length === 0)
      if (time >= deadline(f) || !isAlone || f.phase === FORCED) return overdue(f)
      f.forceAt = deadline(f)
      f.timer = at(f.forceAt, () => overdue(f))
    })
  }
  function gate(f: Fiber, idle: boolean): boolean {
    const forced = regions(f).filter((region) => region.phase === FORCED)
    if (forced.length > 0) throw returnTo(f.phase === FORCED ? f : forced[0]!)
    strike(f)
    for (const region of idle ? regions(f) : []) {
      if (['shield', 'cleanup'].includes(region.kind)) break
      if (region.phase !== UNWINDING || region.signal === null) continue
      if (++region.refused < SWALLOWS) throw region.signal // S17
      reports.push('forced')
      force(region)
      throw returnTo(region)
    }
    if (!isCalm(f)) return false
    const turn = f.isAlarmed
    f.isAlarmed = false
    return turn
  }
  const returnTo = (region: Region): Return => (region.fiber.returning = new Return(region))
  function* wait(f: Fiber, wait: Wait): Generator<void, any> {
    const turn = gate(f, wait.idle === true)
    const ready = wait.ready?.()
    if (ready && !turn && wait.what !== 'snooze') return take(ready)
    f.waitsIn = wait
    f.waits++
    if (ready) answer(f, ready)
    else arm(f)
    yield
    const given = f.answer!
    f.waitsIn = f.answer = null
    if (given.signal !== true) return take(given)
    const forced = regions(f).filter((region) => region.phase === FORCED)
    if (forced.length > 0) throw returnTo(forced.at(-1)!)
    strike(f)
  }
  function take(given: Answer): unknown {
    if (given.error) throw given.error
    return given.value
  }
  function answer(f: Fiber, given: Answer): boolean {
    if (f.answer !== null) return false
    f.answer = given
    queue.push(f)
    return true
  }
  /** S10: a block begins at once. If a turn was due and its body does not wait, the turn is given at its end (S50). */
  function* entering<T>(f: Fiber, block: () => Generator<void, T>): Generator<void, T> {
    const turn = gate(f, false)
    const { waits } = f
    let given: Answer
    try {
      given = { value: yield* block() }
    } catch (thrown) {
      if (!turn || f.waits !== waits) throw thrown
      given = { error: thrown as Failure }
    }
    if (turn && f.waits === waits) {
      f.waitsIn = { what: 'turn' }
      answer(f, given)
      yield
      f.waitsIn = f.answer = null
    }
    return take(given) as T
  }

  // ---- stopping (S11 to S21)

  function bounded(stop: Stop, f: Fiber): number {
    return stop.bound ? Math.min(stop.deadline, stop.since + f.grace) : stop.deadline
  }
  const deadline = (f: Fiber) => (f.signal === null ? now + f.grace : Math.min(bounded(f.signal, f), f.tight))
  function newStop(value: string | undefined, latest: number, bound = false, byRestart = false): Stop {
    return { stop: true, value, since: now, deadline: latest, bound, byRestart }
  }
  /** Something is pending: a fiber that waits where it can be reached leaves its wait. */
  function interrupt(f: Fiber): void {
    f.isAlarmed = true
    if (f.waitsIn === null || f.answer !== null) return // S34: completion wins
    if (target(f) !== null || (f.errors.length > 0 && canRaise(f))) withdraw(f)
    else arm(f)
  }
  function withdraw(f: Fiber): void {
    f.waitsIn?.leave?.()
    answer(f, { signal: true })
  }
  function force(region: Region): void {
    if (region.phase >= FORCED) return
    region.phase = FORCED
    const f = region.fiber
    f.isAlarmed = true
    if (f.waitsIn !== null && f.answer === null) withdraw(f)
  }
  function overdue(region: Region): void {
    region.timer = null
    if (region.phase >= FORCED) return
    reports.push('forced')
    force(region)
  }
  function stop(f: Fiber, signal: Stop): void {
    if (f.restart !== null && !signal.byRestart) {
      f.restart = null // S41: the later verb wins
      if (f.signal?.byRestart) Object.assign(f.signal, { value: signal.value, byRestart: false })
    }
    if (f.phase === LIVE) {
      f.phase = REQUESTED
      f.signal = signal
      f.isAlarmed = true
      if (deadline(f) <= now) force(f)
      else interrupt(f)
    } else if (f.phase <= FORCED) {
      if (bounded(signal, f) >= deadline(f)) return // S21: it can only tighten
      f.tight = bounded(signal, f)
      if (f.phase === FORCED) return
      if (f.tight <= now) force(f)
      else if (f.forceAt < Infinity) armFiber(f)
    } else if (f.phase === CLOSING) for (const child of [...f.children].reverse()) stop(child, signal)
  }
  /** Newest first, with one deadline for all (S03). */
  function stopChildren(owner: Region): void {
    const f = owner.fiber
    const isCut = owner !== f && f.phase !== FORCED && regions(f).some((region) => region.phase === FORCED)
    const latest = owner === f ? deadline(f) : isCut ? now : Math.min(now + f.grace, deadline(f))
    for (const child of [...owner.children].reverse()) stop(child, newStop(undefined, latest, true))
  }
  function raise(f: Fiber, error: Failure, fromChild: boolean): void {
    f.errors.push({ error, fromChild })
    interrupt(f)
  }

  // ---- ends (S01, S02, S22 to S29, S41)

  function suppress(first: Failure, later: Failure): void {
    if (first !== later && !first.suppressed.includes(later)) first.suppressed.push(later)
  }
  function fold(f: Fiber, error: Failure): void {
    if (f.how === 'error') suppress(f.result, error)
    else [f.how, f.result] = ['error', error]
  }
  function bodyEnded(f: Fiber, how: Fiber['how'], result: any): void {
    if (how === 'error' && f.wasStruck && result === f.signal) how = 'stopped'
    if (how === 'value' && f.wasStruck) how = 'stopped' // S66
    f.how = how
    f.result = how === 'stopped' ? f.signal?.value : result
    for (const { error, fromChild } of f.errors) if (fromChild) fold(f, error) // S26
    f.errors = []
    cancel(f.timer)
    f.forceAt = Infinity
    f.phase = CLOSING
    if (f.children.length > 0) stopChildren(f)
    else die(f)
  }
  const isOpen = (owner: Region) =>
    owner.kind === 'fiber' ? owner.phase < CLOSING : owner.stage === 'body' || owner.stage === 'gathering'
  function die(f: Fiber): void {
    const { owner, observers } = f
    log(f, 0, `ended ${show(outcome(f))}`)
    if (f.restart !== null && f.how !== 'error' && owner !== null && isOpen(owner)) {
      begin(f)
      return
    }
    f.phase = DEAD
    f.restart = null
    f.observers = []
    if (owner !== null) owner.children = owner.children.filter((child) => child !== f)
    for (const { told } of observers) told(f)
    const isHeard = observers.some(({ watcher }) => watcher === owner?.fiber)
    if (f.how === 'error' && f.link && !isHeard) bubble(f.result, owner)
    if (f.how === 'error' && !f.link && observers.length === 0) reports.push(`unobserved ${f.result.name}`) // S29
    if (owner === null || owner.children.length > 0) return
    if (owner.kind === 'fiber' && owner.phase === CLOSING) die(owner.fiber)
    else if (owner.wait !== null && owner.fiber.waitsIn === owner.wait) answer(owner.fiber, {})
  }
  /** S24, S25 */
  function bubble(error: Failure, owner: Region | null): void {
    if (owner === null || error.received.has(owner.fiber)) return
    error.received.add(owner.fiber)
    if (owner.kind === 'fiber') {
      if (owner.phase === CLOSING) fold(owner.fiber, error)
      else raise(owner.fiber, error, true)
      return
    }
    owner.failures.push(error)
    if (owner.stage !== 'body') endChildren(owner)
    else if (owner.phase === LIVE) request(owner)
  }
  const outcome = (f: Fiber) => ({ type: f.how, is: f.result })
  /** The first life of a fiber, or the next one. */
  function begin(f: Fiber): void {
    if (f.restart !== null) f.mailbox = f.restart.mailbox
    f.restart = f.generator = f.signal = f.returning = null
    f.phase = LIVE
    f.tight = Infinity
    f.refused = 0
    f.isAlarmed = false
    f.calmedAt = -1
    queue.push(f)
  }
  function step(f: Fiber): void {
    if (f.generator === null && (f.errors.length > 0 || f.phase !== LIVE)) {
      const struck = f.errors.shift() // S05, S67: no line is run
      if (struck === undefined) bodyEnded(f, 'stopped', undefined)
      else bodyEnded(f, 'error', struck.error)
      return
    }
    f.generator ??= f.body(f)
    try {
      if (f.generator.next().done) bodyEnded(f, 'value', f.value)
    } catch (thrown) {
      if (thrown instanceof Return) bodyEnded(f, 'value', undefined)
      else bodyEnded(f, 'error', thrown)
    }
  }
  /** Whether a fiber of a circle may go on although its wait does not end (S32). */
  function mayGoOn(f: Fiber, circle: Fiber[]): boolean {
    const isTimed = (region: Region) => ['moveOn', 'cancelAfter'].includes(region.kind)
    if (
      regions(f).some((region) => isTimed(region) || region.children.some((child) => !circle.includes(child)))
    )
      return true
    if (!isCalm(f)) return true
    for (let { owner } = f; owner !== null; { owner } = owner.fiber) {
      const host = owner.fiber
      const around = owner === host ? [] : host.blocks.slice(0, host.blocks.indexOf(owner) + 1)
      if (around.some((region) => isTimed(region) || region.phase !== LIVE) || host.phase !== LIVE)
        return true
    }
    return false
  }
  /** Waiting for a fiber (S31, S32). */
  function observing(f: Fiber, target: Fiber, tell: (from: Fiber) => Answer): Generator<void, any> {
    const observer = { watcher: f, told: (from: Fiber) => void answer(f, tell(from)) }
    const ready = () => {
      if (target.phase === DEAD) return tell(target)
      const circle = [f]
      let next: Fiber | undefined = target
      for (; next !== f && next !== undefined && !circle.includes(next); next = next.waitsIn?.target) {
        if (next.answer !== null || next.waitsIn === null) break
        circle.push(next)
      }
      if (target === f || (next === f && circle.every((each) => !mayGoOn(each, circle)))) {
        throw new Failure('DeadlockError')
      }
      target.observers.push(observer)
      return null
    }
    const leave = () => (target.observers = target.observers.filter((o) => o !== observer))
    return wait(f, { what: 'observe', target, ready, leave })
  }
  function tellAwaiter(f: Fiber, from: Fiber): Answer {
    if (from.how !== 'error' && (from.how === 'value' || from.result !== undefined))
      return { value: from.result }
    const error: Failure = from.how === 'error' ? from.result : new Failure('FiberStopped')
    error.received.add(f)
    return { error }
  }
  function tellJoiner(f: Fiber, from: Fiber): Answer {
    if (from.how === 'error') from.result.received.add(f)
    return { value: outcome(from) }
  }

  // ---- blocks (S16b, S20, S23, S28, S65, S66)

  function open(f: Fiber, kind: Region['kind']): Region {
    const region = new Region(kind)
    region.fiber = f
    f.blocks.push(region)
    return region
  }
  function leave(region: Region): void {
    cancel(region.timer)
    region.stage = 'left'
    region.fiber.blocks.pop()
    if (region.fiber.returning?.region === region) region.fiber.returning = null
    if (region.phase !== LIVE) calmDown(region.fiber)
  }
  /** The body of a block. */
  function* inside(f: Fiber, region: Region, body: Generator<void, void>): Generator<void, void> {
    yield* body
    if (f.returning !== null && f.returning.region !== region) throw f.returning
  }
  function request(region: Region): void {
    region.phase = REQUESTED
    region.signal = newStop(undefined, now + region.fiber.grace)
    interrupt(region.fiber)
  }
  function* limit(
    f: Fiber,
    kind: 'moveOn' | 'cancelAfter',
    ms: number,
    body: Statement[],
  ): Generator<void, any> {
    const error = kind === 'cancelAfter' ? newError() : null
    return yield* entering(f, () => limited(f, kind, ms, body, error))
  }
  function* limited(
    f: Fiber,
    kind: 'moveOn' | 'cancelAfter',
    ms: number,
    body: Statement[],
    error: Failure | null,
  ): Generator<void, any> {
    const region = open(f, kind)
    const expire = () => {
      region.timer = null
      request(region)
    }
    if (ms > 0) region.timer = at(now + ms, expire)
    else expire()
    let isOwn = false
    try {
      yield* inside(f, region, run(f, body))
      isOwn = region.wasStruck
    } catch (thrown) {
      isOwn =
        thrown instanceof Return ? thrown.region === region : region.wasStruck && thrown === region.signal
      if (!isOwn) {
        if (region.wasStruck && error !== null && thrown instanceof Failure) suppress(thrown, error)
        throw thrown
      }
    } finally {
      leave(region)
    }
    if (isOwn && error !== null) throw error // S66: at the edge of the limit
    return isOwn ? 'moved on' : undefined
  }
  function endChildren(scope: Region): void {
    scope.stage = 'ending'
    stopChildren(scope)
  }
  const scope = (f: Fiber, body: Statement[]) => entering(f, () => scoped(f, body))
  function* scoped(f: Fiber, body: Statement[]): Generator<void, any> {
    const region = open(f, 'scope')
    let passing: unknown = null // a stop from further out
    let returning: Return | null = null
    const caught = (thrown: unknown) => {
      if (thrown instanceof Return) returning = thrown
      else if (thrown instanceof Failure) region.failures.push(thrown)
      else if (!region.wasStruck || thrown !== region.signal) passing = thrown
    }
    try {
      yield* inside(f, region, run(f, body))
      region.stage = 'gathering'
      if (region.failures.length > 0 || region.phase >= UNWINDING) endChildren(region)
    } catch (thrown) {
      caught(thrown)
      endChildren(region)
    }
    while (region.children.length > 0) {
      if (regions(f).some((r) => r.phase === FORCED)) {
        endChildren(region) // nothing can be waited for: the fiber itself takes the children
        for (const child of region.children.splice(0).reverse()) adopt(f, child)
        break
      }
      region.wait = { ready: () => (region.children.length === 0 ? {} : null) }
      try {
        yield* wait(f, region.wait)
      } catch (thrown) {
        caught(thrown)
        endChildren(region)
      }
    }
    leave(region)
    const [first, ...others] = region.failures
    for (const other of others) suppress(first!, other)
    if (first) throw first // S22: an error outweighs a stop
    if (passing !== null) throw passing
    if (returning !== null && (returning as Return).region !== region) throw returning
  }
  function adopt(f: Fiber, child: Fiber): void {
    ;(child as { owner: Region }).owner = f
    f.children.push(child)
  }
  function* shield(f: Fiber, kind: 'shield' | 'ensure' | 'cleanup', body: () => Generator<void, void>) {
    return yield* kind === 'cleanup' ? shielded(f, kind, body) : entering(f, () => shielded(f, kind, body))
  }
  function* shielded(f: Fiber, kind: 'shield' | 'ensure' | 'cleanup', body: () => Generator<void, void>) {
    const region = open(f, kind)
    try {
      yield* inside(f, region, body())
    } finally {
      leave(region)
    }
  }
  function* ensure(f: Fiber, body: () => Generator<void, void>, cleanup: () => Generator<void, void>) {
    let thrown: unknown = null
    try {
      yield* shield(f, 'ensure', body)
    } catch (error) {
      thrown = error
    }
    try {
      yield* shield(f, 'cleanup', cleanup)
    } catch (error) {
      if (!(thrown instanceof Failure)) throw error
      if (error instanceof Failure) suppress(thrown, error)
    }
    if (thrown !== null) throw thrown
  }

  // ---- statements

  function* run(f: Fiber, statements: Statement[]): Generator<void, void> {
    for (const statement of statements) yield* execute(f, statement)
  }
  function* execute(f: Fiber, s: Statement): Generator<void, void> {
    const n = numbers.of(s)
    const other = 'of' in s && typeof s.of === 'number' ? fibers[numbers.target(s.of)] : undefined
    if ('of' in s && other === undefined) return
    switch (s.do) {
      case 'sleep': {
        let timer: Timer | null = null
        const ready = () => {
          timer = at(now + s.ms, () => answer(f, {}))
          return null
        }
        return void log(f, n, yield* wait(f, { ready, leave: () => cancel(timer) }))
      }
      case 'snooze':
        return void log(f, n, yield* wait(f, { what: 'snooze', ready: () => ({}) }))
      case 'suspend':
        return void log(f, n, yield* wait(f, { what: 'suspend', idle: true }))
      case 'receive': {
        const ready = () => (f.mailbox.length > 0 ? { value: f.mailbox.shift() } : null)
        return void log(f, n, yield* wait(f, { what: 'receive', idle: true, ready }))
      }
      case 'schedule': {
        const value = `m${messages++}`
        return void log(f, n, other!.waitsIn?.what === 'suspend' && answer(other!, { value }))
      }
      case 'send': {
        const value = `m${messages++}`
        if (other!.restart !== null) other!.restart.mailbox.push(value)
        else if (other!.phase >= CLOSING)
          return void log(f, n, false) // S39
        else if (other!.waitsIn?.what !== 'receive' || !answer(other!, { value })) other!.mailbox.push(value)
        return void log(f, n, true)
      }
      case 'throw':
        throw newError()
      case 'spin': {
        if (f.phase === FORCED) throw new Failure('BadState') // S06
        const k = numbers.spun(s)
        const owner = [...f.blocks].reverse().find((region) => region.kind === 'scope') ?? f
        const body = function* (child: Fiber) {
          log(child, n, 'begins')
          yield* run(child, s.body)
        }
        const child = new Fiber(`f${k}`, body, `v${k}`, owner, s.grace ?? f.grace, s.link)
        fibers[k] = child
        owner.children.push(child)
        return begin(child)
      }
      case 'await':
        return void log(f, n, yield* observing(f, other!, (from) => tellAwaiter(f, from)))
      case 'join':
        return void log(f, n, yield* observing(f, other!, (from) => tellJoiner(f, from)))
      case 'raise':
      case 'cancel': {
        const error = newError()
        if (other!.phase === LIVE) raise(other!, error, false) // S67
        return
      }
      case 'stop': {
        const grace = s.how === 'kill' ? 0 : (s.grace ?? other!.grace)
        stop(other!, newStop(s.how === 'value' ? `s${n}` : undefined, now + grace))
        if (s.wait) log(f, n, yield* observing(f, other!, (from) => tellJoiner(f, from)))
        return
      }
      case 'restart': {
        if (restarts++ >= RESTARTS) return void log(f, n, 'enough')
        if (other!.owner === null || !isOpen(other!.owner)) return void log(f, n, 'refused')
        other!.mailbox = []
        other!.restart = { mailbox: [] } // S41: cut at the call
        if (other!.phase === DEAD) {
          other!.owner.children.push(other!)
          begin(other!)
        } else stop(other!, newStop(undefined, now + other!.grace, false, true))
        return void log(f, n, 'restarted')
      }
      case 'moveOn':
      case 'cancelAfter':
        return void log(f, n, yield* limit(f, s.do, s.ms, s.body))
      case 'scope':
        return void log(f, n, yield* scope(f, s.body))
      case 'shield':
        return void log(f, n, yield* shield(f, 'shield', () => run(f, s.body)))
      case 'ensure': {
        const cleanup = function* () {
          log(f, n, 'cleanup')
          yield* run(f, s.cleanup)
          log(f, n, 'cleanup over')
        }
        return void log(f, n, yield* ensure(f, () => run(f, s.body), cleanup))
      }
      case 'try':
        try {
          yield* run(f, s.body)
        } catch (thrown) {
          const isError = thrown instanceof Failure
          if (thrown instanceof Return || s.catch === 'nothing' || (s.catch === 'errors' && !isError))
            throw thrown
          log(f, n, thrown)
          yield* run(f, s.handler)
        } finally {
          if (s.finally !== null || s.catch === 'nothing') {
            log(f, n, 'finally')
            yield* run(f, s.finally ?? [])
            log(f, n, 'finally over')
          }
        }
    }
  }

  // ---- turns (S49, S68)

  const root = new Fiber('root', () => run(root, []), undefined, null, DEFAULT_GRACE, true)
  const main = new Fiber(
    'main',
    (f) => limit(f, 'moveOn', MAIN_LIMIT, program),
    undefined,
    root,
    DEFAULT_GRACE,
    false,
  )
  main.observers.push({ watcher: root, told: () => {} })
  root.children.push(main)
  fibers[0] = main
  begin(main)
  for (;;) {
    for (let f = queue.shift(); f !== undefined; f = queue.shift()) step(f)
    if (main.phase === DEAD) break
    now = Math.max(now, firstOf(timers).time)
    for (let timer = firstOf(timers); timer?.time <= now; timer = firstOf(timers)) {
      cancel(timer)
      timer.fire()
    }
  }
  for (const error of errors) lines.push(`${error.name} suppressed ${error.suppressed.map((e) => e.name)}`)
  return [...lines, ...reports.map((report) => `report ${report}`)]
}

/** The next timer: of equal ones the one that was set first. */
function firstOf(timers: Timer[]): Timer {
  return timers.reduce((first, timer) => (timer.time < first.time ? timer : first), timers[0]!)
}

/** A value as the log shows it; the same as in run.ts. */
function show(what: unknown): string {
  if (what instanceof Failure) return what.name
  if (typeof what !== 'object' || what === null) return String(what)
  const { type, is, stop } = what as { type?: string; is?: unknown; stop?: true }
  return stop ? 'Stop' : `${type}(${show(is)})`
}
