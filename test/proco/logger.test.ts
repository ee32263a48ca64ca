// What a logger is told, in which words, and what happens if it fails.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Fiber, sleep } from 'polyphony'
import { type Executor, Killed, type Logger, Proco } from 'polyphony/proco'
import { virtual } from 'polyphony/testing'
import { thrownBy } from '../prelude.js'

function listening(): { logger: Logger; lines: string[] } {
  const lines: string[] = []
  const say = (level: string) => (message: string) => lines.push(`${level} ${message}`)
  return {
    logger: { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') },
    lines,
  }
}

describe('the logger of an executor', () => {
  it('info: start, exit and end with counts; debug: each dispatch', () =>
    virtual(function* () {
      const { logger, lines } = listening()
      const proco = Proco.logger(logger).batch(true).threads(2).queues(2).new<number, void>({ name: 'mill' })
      proco.start(() => sleep(1))
      for (const n of [1, 2, 3]) proco.trySubmit(n)
      yield* proco.exit()
      assert.deepEqual(lines, [
        'info mill: started: 2 threads, 2 queues of 1000, in batches',
        'info mill: exiting: 3 items to go',
        'debug mill: dispatched 2 items of queue 0',
        'debug mill: dispatched 1 item of queue 1',
        'info mill: exited: 3 accepted, 3 done, 0 failed, 0 cancelled',
      ])
    }))

  it('info: kill, with counts', () =>
    virtual(function* () {
      const { logger, lines } = listening()
      const proco = Proco.logger(logger)
        .new<number, void>()
        .start(() => sleep(10))
      for (const n of [1, 2]) proco.trySubmit(n)
      yield* sleep(1)
      proco.kill()
      assert.deepEqual(lines, [
        'info proco: started: 1 thread, 1 queue of 1000',
        'debug proco: dispatched 1 item of queue 0',
        'info proco: killed: 2 accepted, 0 done, 0 failed, 2 cancelled',
      ])
    }))

  it('B8 error: a handler that failed, with what; warn: one that returned too few results, or too many', () =>
    virtual(function* () {
      const { logger, lines } = listening()
      let answer: () => any = () => []
      const proco = Proco.logger(logger).batch(true).results('each').new<number, any>()
      proco.start(() => answer())
      const both = () => [proco.trySubmit(1)!, proco.trySubmit(2)!]
      for (const make of [
        () => [1],
        () => [1, 2, 3],
        () => undefined,
        () => {
          throw new RangeError('too much')
        },
        () => Promise.reject('a string'),
        () => [new Error('each'), 1],
      ]) {
        answer = make
        for (const future of both()) {
          try {
            yield* future.get()
          } catch {}
        }
      }
      yield* proco.exit()
      assert.deepEqual(
        lines.filter((line) => /^(warn|error)/.test(line)),
        [
          'warn proco: the handler returned 1 result for 2 items',
          'warn proco: the handler returned 3 results for 2 items',
          'warn proco: the handler returned 0 results for 2 items',
          'error proco: the handler failed with 2 items: RangeError: too much',
          'error proco: the handler failed with 2 items: "a string"',
        ],
      )
      assert.match(lines.at(-1)!, /exited: 12 accepted, 4 done, 8 failed, 0 cancelled$/)
    }))

  it('a cancelled item, or one that timed out, is no failure of the handler', () =>
    virtual(function* () {
      const { logger, lines } = listening()
      const proco = Proco.logger(logger)
        .new<number, void>()
        .start(() => sleep(100))
      const future = yield* proco.submitAsync(1)
      yield* sleep(1)
      future.cancel()
      yield* thrownBy(proco.submit(2, { timeout: 5 }))
      yield* proco.exit()
      assert.deepEqual(
        lines.filter((line) => /^(warn|error)/.test(line)),
        [],
      )
    }))

  it('S70 a logger that throws is reported, and harms nobody', () =>
    virtual(function* () {
      const fail = () => {
        throw new Error('no space left')
      }
      const proco = Proco.logger({ debug: fail, info: fail, warn: fail, error: fail })
        .new<number, number>()
        .start((n) => {
          if (n < 0) throw new Error('below')
          return n
        })
      assert.equal(yield* proco.submit(1), 1)
      assert.equal((yield* thrownBy(proco.submit(-1))).message, 'below')
      yield* proco.exit()
      proco.start((n) => n)
      const future = proco.trySubmit(1)!
      proco.kill()
      assert.equal(future.state, 'cancelled')
      const { reports } = (Fiber.current as any).runtime.backend
      const messages = reports.map(({ message }: { message: string }) => message)
      assert.equal(messages.length, 8)
      assert.ok(
        messages.every((message: string) => /^the logger of proco failed: .*no space left/.test(message)),
      )
    }))

  it('a logger may use the executor: submit at a dispatch, kill at a failure, start at the end', () =>
    virtual(function* () {
      let more = 3
      const proco: Executor<number, number> = new Proco({
        logger: {
          debug: () => void (more-- > 0 && proco.trySubmit(more)),
          info: (message) => void (/killed/.test(message) && restart()),
          warn() {},
          error: () => proco.kill(),
        },
      })
      let restart = () => {}
      const handler = (n: number): number => {
        if (n < 0) throw new Error('below')
        return n
      }
      proco.start(handler)
      yield* proco.submit(9)
      yield* sleep(1)
      assert.equal(proco.stats().done, 4)
      const futures = [-1, 1].map((n) => proco.trySubmit(n)!)
      assert.ok((yield* thrownBy(futures[0]!.get())) instanceof Killed)
      assert.equal(futures[1]!.state, 'cancelled')
      proco.start(handler)
      restart = () => proco.start(handler)
      proco.kill()
      assert.equal(proco.state, 'running')
      assert.equal(yield* proco.submit(7), 7)
      restart = () => {}
      proco.kill()
    }))

  it('S82 may cancel or kill what is being dispatched: the handler does not get it', () =>
    virtual(function* () {
      const handled: number[] = []
      const handler = (n: number) => void handled.push(n)
      let dispatched = () => {}
      const logger = { debug: () => dispatched(), info() {}, warn() {}, error() {} }
      const proco = Proco.logger(logger).new<number>().start(handler)
      const futures = [1, 2, 3].map((n) => proco.trySubmit(n)!)
      dispatched = () => void futures[0]!.cancel()
      yield* futures[2]!.get()
      assert.deepEqual([handled, futures[0]!.state, proco.stats().running], [[2, 3], 'cancelled', 0])
      dispatched = () => proco.kill()
      const [killed, behind] = [proco.trySubmit(4)!, proco.trySubmit(5)!]
      yield* sleep(1)
      assert.deepEqual([killed.state, behind.state, proco.state], ['cancelled', 'cancelled', 'idle'])
      assert.deepEqual([handled, proco.stats().running], [[2, 3], 0])
    }))

  it('console is a logger; the methods are called on it', () => {
    class Own {
      lines: string[] = []
      debug(message: string) {
        this.lines.push(message)
      }
      info(message: string) {
        this.lines.push(message)
      }
      warn() {}
      error() {}
    }
    const own = new Own()
    assert.ok(Proco.logger(console).new())
    const proco = Proco.logger(own)
      .new()
      .start(() => {})
    proco.kill()
    assert.equal(own.lines.length, 2)
  })
})
