// Supervisors that are stopped, restarted, supervised themselves, and looked at.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Fiber, moveOnAfter, RestartIntensityError, type Routine, sleep, spin, supervise } from 'polyphony'
import { virtual } from 'polyphony/testing'
import { failAfter, thrownBy } from '../prelude.js'
import { flaky, now, reports, server } from './lives.js'

/** A child that needs so long to clean up. */
function slow(name: string, log: string[], ms: number, grace?: number) {
  return { name, body: server, args: [name, log, ms], grace }
}

describe('a supervisor that is stopped', () => {
  it('V8 S03 stops its children one after the other, newest first, and restarts none', () =>
    virtual(function* () {
      const log: string[] = []
      const supervisor = spin(() =>
        supervise([slow('a', log, 100), slow('b', log, 100), slow('c', log, 100)], { restart: 'always' }),
      )
      yield* sleep(10)
      assert.deepEqual(yield* supervisor.stop('bye'), { type: 'stopped', value: 'bye' })
      assert.deepEqual(log, ['+a', '+b', '+c', '-c', '-b', '-a'])
      assert.equal(now(), 310)
      assert.deepEqual(reports(), [])
    }))

  it('S18 when half its grace is used up, the rest are stopped at once, and nobody is forced', () =>
    virtual(function* () {
      const log: string[] = []
      const supervisor = spin({ grace: 1000 }, () =>
        supervise([slow('a', log, 300), slow('b', log, 300), slow('c', log, 300), slow('d', log, 300)]),
      )
      yield* sleep(10)
      yield* supervisor.stop()
      assert.deepEqual(log.slice(0, 6), ['+a', '+b', '+c', '+d', '-d', '-c'])
      assert.deepEqual(log.slice(6).sort(), ['-a', '-b']) // in one turn
      assert.equal(now(), 809) // d: 310, c: asked then, the rest at 509
      assert.deepEqual(reports(), [])
    }))

  it('S19 killed, it takes its children with it', () =>
    virtual(function* () {
      const log: string[] = []
      const supervisor = spin(() => supervise([slow('a', log, 0), slow('b', log, 100)]))
      yield* sleep(10)
      yield* supervisor.kill()
      assert.equal(now(), 10)
      assert.deepEqual(log, ['+a', '+b', '-a'])
    }))

  it('S65 a time limit around it stops the children, and they are gone afterwards', () =>
    virtual(function* () {
      const log: string[] = []
      yield* moveOnAfter(50, () => supervise([slow('a', log, 10), slow('b', log, 10)], { restart: 'always' }))
      assert.deepEqual(log, ['+a', '+b', '-b', '-a'])
      assert.equal(now(), 70)
      assert.deepEqual(Fiber.current.children, [])
    }))

  it('S65 a time limit whose grace is over leaves no child unasked, and no error is lost', () =>
    virtual(function* () {
      const error = new Error('late')
      const log: string[] = []
      const late = {
        *body() {
          try {
            yield* sleep()
          } finally {
            yield* sleep(30)
            // biome-ignore lint/correctness/noUnsafeFinally: the cleanup fails, that is the point
            throw error
          }
        },
      }
      yield* moveOnAfter(50, () => supervise([slow('a', log, 10), late]), { grace: 5 })
      assert.equal(now(), 55)
      assert.equal(yield* thrownBy(sleep(100)), error)
      assert.deepEqual(log, ['+a', '-a'])
    }))

  it('S41 restarted, it starts its specs anew', () =>
    virtual(function* () {
      const log: string[] = []
      const supervisor = spin('supervisor', () => supervise([slow('a', log, 5), slow('b', log, 5)]))
      yield* sleep(10)
      supervisor.restart()
      yield* sleep(50)
      assert.deepEqual(log, ['+a', '+b', '-b', '-a', '+a', '+b'])
      assert.equal(supervisor.children.length, 2)
      yield* supervisor.stop()
    }))

  it('S16b a raise that comes while it stops its children waits until they are gone', () =>
    virtual(function* () {
      const log: string[] = []
      const [fatal, raised] = [new Error('fatal'), new Error('raised')]
      const supervisor = spin({ link: false }, function* () {
        const error = yield* thrownBy(
          supervise([slow('a', log, 10), slow('b', log, 10), { body: failAfter, args: [5, fatal] }]),
        )
        log.push(error.message)
        yield* sleep(10)
      })
      yield* sleep(8)
      assert.deepEqual(yield* supervisor.raise(raised), { type: 'error', error: raised })
      assert.deepEqual(log, ['+a', '+b', '-b', '-a', 'fatal'])
    }))

  it('S44 a child that somebody restarts while it is being stopped for good is stopped again', () =>
    virtual(function* () {
      const log: string[] = []
      const child = spin('child', server, 'child', log, 10)
      const supervisor = spin(() => supervise([child]))
      yield* sleep(5)
      supervisor.raise(new Error('end it'))
      yield* sleep(5)
      child.restart()
      yield* thrownBy(sleep(1000))
      assert.equal(child.state, 'dead')
      assert.equal(supervisor.state, 'dead')
      assert.ok(now() < 100)
    }))
})

describe('supervisors under supervisors', () => {
  it('S43 a supervisor that gives up is restarted by the one above, with all its children', () =>
    virtual(function* () {
      let broken = true
      const log: string[] = []
      function* worker(): Routine<void> {
        yield* sleep(10)
        if (broken) throw new Error('broken')
        log.push(`works at ${now()}`)
      }
      const below = () =>
        supervise(
          [
            { body: server, args: ['peer', log] },
            { name: 'worker', body: worker },
          ],
          {
            restart: 'onError',
            until: 'any',
          },
        )
      spin(function* () {
        yield* sleep(45)
        broken = false
      })
      const errors: string[] = []
      yield* supervise([{ name: 'below', body: below }], {
        restart: 'onError',
        onError: (error) => void errors.push((error as Error).name),
      })
      assert.deepEqual(errors, ['RestartIntensityError'])
      assert.deepEqual(log, ['+peer', '-peer', '+peer', 'works at 50', '-peer'])
    }))

  it('S43 escalation goes up to the top when nothing helps', () =>
    virtual(function* () {
      const cause = new Error('hopeless')
      let lives = 0
      const hopeless = function* () {
        lives++
        throw cause
      }
      const level = (body: () => unknown) => () => supervise([{ body: body as any }], { restart: 'onError' })
      const error = yield* thrownBy(level(level(hopeless))())
      assert.ok(error instanceof RestartIntensityError)
      assert.ok(error.cause instanceof RestartIntensityError)
      assert.equal(error.cause.cause, cause)
      assert.equal(lives, 16)
    }))

  it('S44 a child that supervises has as long as its own children need; others have their grace', () =>
    virtual(function* () {
      const log: string[] = []
      const below = () => supervise([slow('x', log, 4000), slow('y', log, 4000), slow('z', log, 4000)])
      const fatal = { body: failAfter, args: [10, new Error('fatal')] }
      yield* thrownBy(supervise([{ name: 'below', body: below }, fatal]))
      assert.deepEqual(log, ['+x', '+y', '+z', '-z', '-y', '-x'])
      assert.equal(now(), 12010)
      assert.deepEqual(reports(), [])
    }))

  it('S44 a grace given in its spec outweighs that', () =>
    virtual(function* () {
      const log: string[] = []
      const below = () => supervise([slow('x', log, 400), slow('y', log, 400), slow('z', log, 400)])
      const fatal = { body: failAfter, args: [10, new Error('fatal')] }
      yield* thrownBy(supervise([{ name: 'below', body: below, grace: 500 }, fatal]))
      assert.equal(now(), 510)
    }))

  it('S18 each child is stopped with its own grace', () =>
    virtual(function* () {
      const log: string[] = []
      const fatal = { body: failAfter, args: [10, new Error('fatal')] }
      yield* thrownBy(supervise([slow('quick', log, 100, 10), slow('slow', log, 100, 200), fatal]))
      assert.deepEqual(log, ['+quick', '+slow', '-slow'])
      assert.equal(now(), 120)
      assert.deepEqual(reports(), ['forced'])
    }))
})

describe('looking at it', () => {
  it('S42 the tree says whom a supervisor watches', () =>
    virtual(function* () {
      const log: string[] = []
      const supervisor = spin('supervisor', () =>
        supervise([slow('a', log, 0), slow('b', log, 10), { body: flaky(1, 5).body }], {
          restart: 'onError',
          backoff: 100,
        }),
      )
      yield* sleep(1)
      assert.equal(supervisor.waitsFor, 'supervise(3 children)')
      yield* sleep(10)
      assert.equal(supervisor.waitsFor, 'supervise(2 children, 1 to be restarted)')
      supervisor.stop()
      yield* sleep(1)
      assert.equal(supervisor.waitsFor, 'supervise: b to end')
      yield* supervisor.join()
      const one = spin(() => supervise([slow('a', log, 0)]))
      yield* sleep(1)
      assert.equal(one.waitsFor, 'supervise(1 child)')
      yield* one.stop()
    }))
})
