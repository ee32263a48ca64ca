// Constructs as code. A watched program says the same as one that nobody watches, but for what only a callback hears.

import type { Statement } from '../program.js'
import type { Construct } from './language.js'

/** What the printer of programs gives. */
export interface Paper {
  readonly watched: boolean
  put(text: string): number
  inside(statements: Statement[], first?: string, last?: string): void
  around(head: string, body: Statement[], tail: string): number
  block(op: string): string
  readonly close: string
  f(of: number): string
  /** The number of the fiber that runs this statement as a member. */
  member(statement: Statement): number
}

/** Whether each statement of its body is run in a fiber of its own. */
export function isTeam(statement: { do: string }): boolean {
  return ['all', 'allSettled', 'race', 'any', 'supervise'].includes(statement.do)
}

const SIZES = { q: 3, m: 2, s: 2, c: 2, ev: 2, p: 3, t: 2 }

/** One of the shop: `q[1]`. */
function one(kind: keyof typeof SIZES, { which }: { which: number }): string {
  return `${kind}[${which % SIZES[kind]}]`
}

export function printConstruct(s: Construct, n: number, paper: Paper): number {
  const log = (what: string) => paper.put(`log(${n}, ${what})`)
  const waits = (op: string) => log(`yield* ${op}`)
  const byHand = (take: string, body: Statement[], giveBack: string) => {
    paper.put(take)
    paper.put('try {')
    paper.inside(body)
    return paper.put(`} finally { ${giveBack} }`)
  }
  const withBody = (head: string, body: Statement[], tail = '})') =>
    paper.around(`log(${n}, yield* ${paper.block(head)}`, body, `${tail}${paper.close})`)
  switch (s.do) {
    case 'push':
      return waits(`${one('q', s)}.push(item())`)
    case 'tryPush':
    case 'unshift':
      return log(`${one('q', s)}.${s.do}(item())`)
    case 'shift':
      return waits(`${one('q', s)}.shift()`)
    case 'next':
      return waits(`${one('q', s)}.iterate().next()`)
    case 'tryShift':
    case 'shiftAll':
    case 'clear':
      return log(`${one('q', s)}.${s.do}()`)
    case 'closeQueue':
      return log(`${one('q', s)}[Symbol.dispose]()`)
    case 'capacity':
      return paper.put(`${one('q', s)}.capacity = ${s.most}`)
    case 'lock':
      return byHand(`yield* ${one('m', s)}.lock()`, s.body, `${one('m', s)}.unlock()`)
    case 'tryLock':
      return byHand(`if (${one('m', s)}.tryLock())`, s.body, `${one('m', s)}.unlock()`)
    case 'forget':
      return waits(`${one('m', s)}.lock()`)
    case 'synchronize':
      return withBody(`${one('m', s)}.synchronize(function* () {`, s.body)
    case 'acquire':
      return byHand(`yield* ${one('s', s)}.acquire()`, s.body, `${one('s', s)}.release()`)
    case 'tryAcquire':
      return byHand(`if (${one('s', s)}.tryAcquire())`, s.body, `${one('s', s)}.release()`)
    case 'permit':
      return withBody(`${one('s', s)}.acquire(function* () {`, s.body)
    case 'limit':
      return paper.put(`${one('s', s)}.limit = ${s.most}`)
    case 'conditionWait': {
      const condition = one('c', s)
      if (condition !== 'c[1]') return waits(`${condition}.wait()`)
      return log(`yield* ${paper.block('m[0].synchronize(() => c[1].wait())')}${paper.close}`)
    }
    case 'signal':
    case 'broadcast':
      return log(`${one('c', s)}.${s.do}(item())`)
    case 'eventWait':
      return waits(`${one('ev', s)}.await()`)
    case 'happen':
      return paper.put(`${one('ev', s)}.signal(item())`)
    case 'reset':
      return paper.put(`${one('ev', s)}.reset()`)
    case 'lease': {
      const pool = one('p', s)
      paper.put(`log(${n}, yield* ${paper.block(`${pool}.acquire(function* (resource) {`)}`)
      paper.inside(s.body, `log(${n}, resource.id)`, s.discard ? `${pool}.discard(resource)` : undefined)
      return paper.put(`})${paper.close})`)
    }
    case 'fill':
      return log(`yield* ${paper.block(`${one('p', s)}.fill()`)}${paper.close}`)
    case 'closePool':
      return paper.put(`if (!${one('p', s)}.isClosed) yield* ${one('p', s)}.close()`)
    case 'tune': {
      const { create, validate, destroy } = s
      return paper.put(`tune(${s.which % SIZES.p}, ${JSON.stringify({ create, validate, destroy })})`)
    }
    case 'throttle':
      return waits(`${one('t', s)}.wait()`)
    case 'tryThrottle':
      return log(`${one('t', s)}.tryWait()`)
    case 'pushTo':
      return paper.put(`if (${paper.f(s.of)}) log(${n}, yield* pushTo(${paper.f(s.of)}, message()))`)
    case 'cap':
      return paper.put(`if (${paper.f(s.of)}) ${paper.f(s.of)}.mailbox.cap(${s.most})`)
    case 'pick':
      return waits(`pick(${s.odd ? 'isOdd' : 'isEven'})`)
    case 'serve':
      return log(`serve('${s.how}', yield* pick(isCall))`)
    case 'call': {
      const options = s.timeout === undefined ? '' : `, { timeout: ${s.timeout} }`
      return paper.put(`if (${paper.f(s.of)}) log(${n}, yield* ask(${paper.f(s.of)}, item()${options}))`)
    }
    case 'use':
      return log(`(yield* take('r${n}', ${s.ms}, ${s.fails}))`)
    case 'forEach': {
      const items = JSON.stringify(Array.from({ length: s.items }, (_, i) => i))
      paper.put(`log(${n}, yield* ${paper.block(`forEach(${items}, function* (i) {`)}`)
      paper.inside(s.body, paper.watched ? 'begins()' : undefined, 'return i')
      return paper.put(`}, { concurrency: ${s.concurrency} })${paper.close})`)
    }
    case 'retry': {
      const when = paper.watched ? ', when: hears' : ''
      return withBody(
        'retry(function* () {',
        s.body,
        `}, { times: ${s.times}, backoff: { delay: ${s.ms} }${when} })`,
      )
    }
    case 'supervise':
      return supervise(s, n, paper)
    default:
      return team(s, n, paper)
  }
}

function member(s: Statement, paper: Paper, head: (name: string) => string, tail: string): void {
  if (s.do === 'await') {
    paper.put(`  ${paper.f(s.of)},`)
    return
  }
  const k = paper.member(s)
  paper.put(head(`f${k}`))
  const begins = paper.watched ? '; begins()' : ''
  paper.inside(s.do === 'spin' ? s.body : [s], `f[${k}] = Fiber.current${begins}`, `return 'v${k}'`)
  paper.put(tail)
}

function team(s: Construct & { do: 'all' | 'allSettled' | 'race' | 'any' }, n: number, paper: Paper): number {
  const told = paper.watched && s.do === 'allSettled' ? 'settled(' : ''
  const tolerant = paper.watched && (s.do === 'any' || s.do === 'allSettled') ? 'tolerated(' : ''
  const list = tolerant === '' ? 'members' : 'candidates'
  paper.put(`log(${n}, ${told}yield* ${paper.block(`${s.do}(${list}([`)}`)
  for (const each of s.body) {
    member(each, paper, () => `  ${tolerant}function* () {`, `  }${tolerant && ')'},`)
  }
  return paper.put(`]))${paper.close}${told && ')'})`)
}

function supervise(s: Construct & { do: 'supervise' }, n: number, paper: Paper): number {
  paper.put(`log(${n}, yield* ${paper.block('supervise(family([')}`)
  for (const each of s.body)
    member(each, paper, (name) => `  { name: '${name}', body: function* () {`, '  } },')
  const hears = paper.watched ? ', onError: (error) => void hears(error)' : ''
  const options =
    `{ strategy: '${s.strategy}', restart: '${s.restart}', until: '${s.until}', ` +
    `backoff: { delay: ${s.ms} }, intensity: { restarts: 2, within: 20 }${hears} }`
  return paper.put(`]), ${options})${paper.close})`)
}
