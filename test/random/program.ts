// The language of the random programs: trees of plain data, so that fast-check can shrink them.
//
// Fibers are numbered in the order in which their `spin` stands in the program; 0 is main. Statements that act on another
// fiber name it by any number, modulo how many there are. One that has not been spun yet is skipped.

import fc from 'fast-check'
import { type Construct, constructs, type Group, groups } from './constructs/language.js'
import { isTeam, type Paper, printConstruct } from './constructs/print.js'

export type Statement =
  | { do: 'sleep'; ms: number }
  | { do: 'snooze' | 'receive' | 'suspend' | 'throw' }
  | { do: 'spin'; link: boolean; grace?: number; body: Statement[] }
  | { do: 'send' | 'schedule' | 'await' | 'join' | 'raise' | 'cancel' | 'restart'; of: number }
  | { do: 'stop'; of: number; how: 'stop' | 'value' | 'kill'; grace?: number; wait: boolean }
  | { do: 'moveOn' | 'cancelAfter'; ms: number; body: Statement[] }
  | { do: 'scope' | 'shield'; body: Statement[] }
  | { do: 'ensure'; body: Statement[]; cleanup: Statement[] }
  | { do: 'try'; body: Statement[]; catch: Catch; handler: Statement[]; finally: Statement[] | null }
  // What only the invariants are checked for:
  | { do: 'attach'; of: number; to: number }
  | { do: 'detach'; of: number }
  | { do: 'spinUnder'; of: number; body: Statement[] }
  | { do: 'awaitAll' | 'select'; of: number[] }
  | { do: 'joinChildren' | 'shutdownChildren' }
  | Construct

/** What a `try` catches: everything, errors but not the stop signal (the polite way), or nothing. */
export type Catch = 'all' | 'errors' | 'nothing'

export type Program = Statement[]

/** Main may run for so long before it is over; then everything is stopped. So no program waits for ever. */
export const MAIN_LIMIT = 1000
/** How long main sleeps at its end. */
const MAIN_STAYS = 100
/** Restarts of a program that are really done, so that none goes on for ever. */
export const RESTARTS = 5

/** What a program is made of. 'exact': only what the model knows; 'all': everything of the core; 'constructs': everything. */
export type Language = 'exact' | 'all' | 'constructs'

export function programs(language: Language): fc.Arbitrary<Program> {
  if (language !== 'constructs') return programsWith(language === 'exact')
  return groups.chain((chosen) => {
    const key = chosen.join()
    if (!made.has(key)) made.set(key, programsWith(false, chosen))
    return made.get(key) as fc.Arbitrary<Program>
  })
}
const made = new Map<string, fc.Arbitrary<Program>>()

function programsWith(isExact: boolean, chosen: readonly Group[] = []): fc.Arbitrary<Program> {
  const target = fc.oneof(
    { weight: 1, arbitrary: fc.constant(0) },
    { weight: 9, arbitrary: fc.integer({ min: 1, max: 7 }) },
  )
  const ms = fc.nat({ max: 9 })
  const grace = fc.option(fc.nat({ max: 12 }), { nil: undefined, freq: 3 })
  const { statement, spin, block } = fc.letrec<{ statement: Statement; spin: Statement; block: Statement[] }>(
    (tie) => {
      const inner = tie('block')
      const just = (...names: string[]) => fc.record({ do: fc.constantFrom(...names) })
      const common = [
        { weight: 5, arbitrary: fc.record({ do: fc.constant('sleep'), ms }) },
        { weight: 2, arbitrary: just('snooze') },
        { weight: 3, arbitrary: just('receive', 'receive', 'suspend') },
        { weight: 1, arbitrary: just('throw') },
        { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('send', 'send', 'schedule'), of: target }) },
        { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('await', 'join'), of: target }) },
        {
          weight: 3,
          arbitrary: fc.record({ do: fc.constantFrom('raise', 'cancel', 'restart', 'restart'), of: target }),
        },
        {
          weight: 3,
          arbitrary: fc.record({
            do: fc.constant('stop'),
            of: target,
            how: fc.constantFrom('stop', 'stop', 'value', 'kill'),
            grace,
            wait: fc.boolean(),
          }),
        },
        { weight: 6, arbitrary: tie('spin') },
        {
          weight: 2,
          arbitrary: fc.record({ do: fc.constantFrom('moveOn', 'cancelAfter'), ms, body: inner }),
        },
        { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('scope', 'scope', 'shield'), body: inner }) },
        { weight: 1, arbitrary: fc.record({ do: fc.constant('ensure'), body: inner, cleanup: inner }) },
        {
          weight: 4,
          arbitrary: fc.record({
            do: fc.constant('try'),
            body: inner,
            catch: fc.constantFrom('all', 'errors', 'nothing'),
            handler: fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: inner }),
            finally: fc.option(inner, { nil: null, freq: 3 }),
          }),
        },
      ]
      const others = [
        { weight: 1, arbitrary: fc.record({ do: fc.constant('attach'), of: target, to: target }) },
        { weight: 1, arbitrary: fc.record({ do: fc.constant('detach'), of: target }) },
        { weight: 1, arbitrary: fc.record({ do: fc.constant('spinUnder'), of: target, body: inner }) },
        {
          weight: 3,
          arbitrary: fc.record({
            do: fc.constantFrom('awaitAll', 'select'),
            of: fc.array(target, { minLength: 1, maxLength: 3 }),
          }),
        },
        { weight: 1, arbitrary: just('joinChildren', 'shutdownChildren') },
      ]
      const core = (isExact ? common : [...common, ...others]) as fc.WeightedArbitrary<Statement>[]
      const all = chosen.length > 0 ? [...core, ...constructs(chosen, inner, target)] : core
      return {
        statement: fc.oneof({ depthSize: 'small', withCrossShrink: true, maxDepth: 5 }, ...all),
        spin: fc.record({
          do: fc.constant('spin'),
          link: fc.constantFrom(true, true, true, false),
          grace,
          body: inner,
        }),
        block: fc.array(tie('statement'), { maxLength: 4 }),
      } as any
    },
  )
  // Main makes fibers, survives most of what comes, and stays for a while: otherwise programs would be over too soon.
  const guarded: fc.Arbitrary<Statement> = fc.record({
    do: fc.constant('try'),
    body: block,
    catch: fc.constant('errors'),
    handler: fc.constant([] as Statement[]),
    finally: fc.constant(null),
  })
  const statements = fc.array(
    fc.oneof(
      { weight: 3, arbitrary: spin },
      { weight: 1, arbitrary: statement },
      { weight: 3, arbitrary: guarded },
    ),
    { minLength: 1, maxLength: 7, size: 'max' },
  )
  return statements.map((program) => [...program, { do: 'sleep', ms: MAIN_STAYS }])
}

/** The blocks of a statement, in the order in which they stand. */
function blocksOf(statement: Statement): Statement[][] {
  const { body, handler, cleanup, finally: last } = statement as any
  return [body, handler, cleanup, last].filter((block) => block != null)
}

/** Numbers for statements and fibers, in the order in which they stand. */
export class Numbers {
  private readonly statements = new Map<Statement, number>()
  private readonly fibers = new Map<Statement, number>()

  constructor(program: Program) {
    const visit = (statement: Statement) => {
      this.statements.set(statement, this.statements.size + 1)
      if (statement.do === 'spin' || statement.do === 'spinUnder') this.join(statement)
      if (isTeam(statement)) for (const member of (statement as { body: Statement[] }).body) this.join(member)
      for (const block of blocksOf(statement)) block.forEach(visit)
    }
    program.forEach(visit)
  }

  /** It makes a fiber, or is run in one of its own. */
  private join(statement: Statement): void {
    if (!this.fibers.has(statement)) this.fibers.set(statement, this.fibers.size + 1)
  }

  of(statement: Statement): number {
    return this.statements.get(statement) as number
  }
  /** Of the fiber that a `spin` makes, or that runs a statement as one of several. */
  spun(statement: Statement): number {
    return this.fibers.get(statement) as number
  }
  /** Of the fiber that a statement names. */
  target(of: number): number {
    return of === 0 || this.fibers.size === 0 ? 0 : 1 + ((of - 1) % this.fibers.size)
  }
}

/**
 * The program as code, to be read, to be pasted into a test, and to be run. `f[0]` is main.
 * With `watched`, what happens is told to a watch as well.
 */
export function print(program: Program, watched = false): string {
  return new Printer(program, watched).lines.join('\n')
}

class Printer implements Paper {
  readonly lines: string[] = []
  private readonly numbers: Numbers
  private depth = 0

  constructor(
    program: Program,
    readonly watched: boolean,
  ) {
    this.numbers = new Numbers(program)
    if (watched) this.put('begins()')
    this.around(
      `yield* ${this.block(`moveOnAfter(${MAIN_LIMIT}, function* () {`)}`,
      program,
      `})${this.close}`,
    )
  }

  /** Gives how many lines there are now, as do the others that print. */
  put(text: string): number {
    return this.lines.push('  '.repeat(this.depth) + text)
  }
  inside(statements: Statement[], first?: string, last?: string): void {
    this.depth++
    if (first) this.put(first)
    for (const statement of statements) this.statement(statement)
    if (last) this.put(last)
    this.depth--
  }
  around(head: string, body: Statement[], tail: string): number {
    this.put(head)
    this.inside(body)
    return this.put(tail)
  }

  // What a watch wants to know; nothing, if nobody watches.
  private wait(kind: string, op: string, ms?: number): string {
    if (!this.watched) return `yield* ${op}`
    return `yield* wait('${kind}', ${op}${ms === undefined ? '' : `, ${ms}`})`
  }
  private tell(hook: string, value: string): string {
    return this.watched ? `${hook}(${value})` : value
  }
  block(op: string): string {
    return this.watched ? `block(${op}` : op
  }
  get close(): string {
    return this.watched ? ')' : ''
  }

  member(statement: Statement): number {
    return this.numbers.spun(statement)
  }
  f(of: number): string {
    return `f[${this.numbers.target(of)}]`
  }

  private statement(s: Statement): number {
    const n = this.numbers.of(s)
    const log = (what: string) => this.put(`log(${n}, ${what})`)
    switch (s.do) {
      case 'sleep':
        return log(this.wait('sleep', `sleep(${s.ms})`, s.ms))
      case 'snooze':
        return log(this.wait('sleep', 'snooze()'))
      case 'receive':
        return log(this.tell('receives', this.wait('idle', 'receive()')))
      case 'suspend':
        return log(this.tell('woken', this.wait('idle', 'suspend()')))
      case 'throw':
        return this.put('throw error()')
      case 'spin':
      case 'spinUnder':
        return this.spin(s)
      case 'moveOn':
      case 'cancelAfter': {
        const [name, last] = s.do === 'moveOn' ? ['moveOnAfter', "'moved on'"] : [s.do, 'error()']
        const head = `log(${n}, yield* ${this.block(`${name}(${s.ms}, function* () {`)}`
        return this.around(head, s.body, `}, ${last})${this.close})`)
      }
      case 'scope':
      case 'shield': {
        const walls = this.watched && s.do === 'shield' ? ', 1' : ''
        const head = `log(${n}, yield* ${this.block(`${s.do}(function* () {`)}`
        return this.around(head, s.body, `})${walls}${this.close})`)
      }
      case 'ensure':
        this.put(`log(${n}, yield* ${this.block('ensure(function* () {')}`)
        this.inside(s.body)
        this.put(`}, ${this.watched ? '() => cleanup(' : ''}function* () {`)
        this.inside(s.cleanup, `log(${n}, 'cleanup')`, `log(${n}, 'cleanup over')`)
        return this.put(`}${this.close})${this.close})`)
      case 'try':
        return this.try(s)
      case 'awaitAll':
      case 'select':
        return this.many(s)
      case 'joinChildren':
      case 'shutdownChildren':
        return log(this.watched ? `yield* children('${s.do}')` : `yield* Fiber.current.${s.do}()`)
      case 'attach': {
        const call = `log(${n}, allowed(() => ${this.f(s.of)}.attachTo(${this.f(s.to)})))`
        return this.put(`if (${this.f(s.of)} && ${this.f(s.to)}) ${call}`)
      }
      case 'send':
      case 'schedule':
      case 'await':
      case 'join':
      case 'raise':
      case 'cancel':
      case 'restart':
      case 'detach':
      case 'stop':
        return this.put(`if (${this.f(s.of)}) ${this.act(s, n)}`)
      default:
        return printConstruct(s, n, this)
    }
  }

  /** Something done to another fiber. */
  private act(s: Statement & { of: number }, n: number): string {
    const f = this.f(s.of)
    switch (s.do) {
      case 'send':
      case 'schedule':
        return `log(${n}, ${this.watched ? `${s.do}(${f}, message())` : `${f}.${s.do}(message())`})`
      case 'await':
        return `log(${n}, ${this.wait('observe', `${f}.await()`)})`
      case 'join':
        return `log(${n}, ${this.tell('told', `${this.watched ? `${f}, ` : ''}${this.wait('observe', `${f}.join()`)}`)})`
      case 'raise':
      case 'cancel':
        return `${f}.${s.do}(error())`
      case 'restart':
        return `log(${n}, restart(${f}))`
      case 'detach':
        return `log(${n}, allowed(() => ${f}.detach()))`
      case 'stop': {
        const grace = s.grace === undefined ? '' : `{ grace: ${s.grace} }`
        const verb = s.how === 'kill' ? 'kill()' : s.how === 'stop' ? `terminate(${grace})` : ''
        const call = `${this.watched ? `stops(${f}, ${s.how === 'kill' ? 0 : s.grace})` : f}.${verb || `stop('s${n}'${grace && `, ${grace}`})`}`
        if (!s.wait) return call
        return `log(${n}, ${this.tell('told', `${this.watched ? `${f}, ` : ''}${this.wait('observe', call)}`)})`
      }
      default:
        throw new Error(`no such statement: ${s.do}`)
    }
  }

  private spin(s: Statement & { do: 'spin' | 'spinUnder' }): number {
    const n = this.numbers.of(s)
    const k = this.numbers.spun(s)
    const options = [`name: 'f${k}'`]
    if (s.do === 'spin' && !s.link) options.push('link: false')
    if (s.do === 'spin' && s.grace !== undefined) options.push(`grace: ${s.grace}`)
    const spin = `spin({ ${options.join(', ')} }, function* () {`
    this.put(s.do === 'spin' ? `f[${k}] = ${spin}` : `if (${this.f(s.of)}) f[${k}] = ${this.f(s.of)}.${spin}`)
    this.inside(s.body, `${this.watched ? 'begins(); ' : ''}log(${n}, 'begins')`, `return 'v${k}'`)
    return this.put('})')
  }

  private try(s: Statement & { do: 'try' }): number {
    const n = this.numbers.of(s)
    const reason = this.watched ? `why${n} = ` : ''
    if (this.watched) this.put(`let why${n}`)
    this.put('try {')
    this.inside(s.body)
    if (s.catch !== 'nothing' || this.watched) {
      this.put('} catch (e) {')
      const [when] = { nothing: ['throw e'], errors: ['if (isStop(e)) throw e'], all: [''] }[s.catch] as [
        string,
      ]
      this.depth++
      if (this.watched) this.put(`${reason}e`)
      if (when) this.put(when)
      this.depth--
      if (s.catch !== 'nothing') {
        this.inside(s.handler, `${this.watched ? `${reason}undefined; ` : ''}log(${n}, e)`)
      }
    }
    if (s.finally !== null || s.catch === 'nothing') {
      this.put('} finally {')
      if (this.watched) this.put(`const calm${n} = calm(isStop(why${n})); try {`)
      this.inside(s.finally ?? [], `log(${n}, 'finally')`, `log(${n}, 'finally over')`)
      if (this.watched) this.put(`} finally { calm${n}() }`)
    }
    return this.put('}')
  }

  private many(s: Statement & { do: 'awaitAll' | 'select' }): number {
    const n = this.numbers.of(s)
    const list = `[${s.of.map((of) => this.f(of)).join(', ')}].filter(Boolean)`
    const call = this.watched
      ? `yield* ${s.do}(${list})`
      : `yield* Fiber.${s.do === 'select' ? 'select' : 'await'}(...${list})`
    return this.put(`if (${s.of.map((of) => this.f(of)).join(' || ')}) log(${n}, ${call})`)
  }
}
