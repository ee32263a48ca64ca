// leaks, sequence, tap, and the live tree as data and as text.

import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { Fiber, fiberTree, printTree, receive, run, runtimeStats, sleep, snooze, spin, tap } from 'polyphony'
import { leaks, sequence, virtual } from 'polyphony/testing'
import { eventually, turns, untilWaiting } from '../prelude.js'

describe('leaks', () => {
  before(() => new Promise((resolve) => setImmediate(resolve))) // what the start of the process left is closed now

  it('is the same before and after a run that cleans up', async () => {
    const before = leaks()
    await run(function* () {
      yield* untilWaiting(
        spin(() => sleep()),
        spin(() => receive()),
      )
    })
    assert.deepEqual(leaks(), before)
  })

  it('counts fibers, timers, ops that hold the process, and listeners', async () => {
    const before = leaks()
    const listener = () => {}
    const running = run(function* () {
      spin(() => sleep(60_000))
      yield* sleep()
    })
    while (leaks().pendingOps + leaks().timers < before.pendingOps + before.timers + 2) await turns()
    process.on('an event of ours' as never, listener)
    const during = leaks()
    process.off('an event of ours' as never, listener)
    await running.stop()
    assert.equal(during.fibers - before.fibers, 2)
    assert.equal(during.timers - before.timers, 1)
    assert.equal(during.pendingOps - before.pendingOps, 1)
    assert.equal(during.listeners['an event of ours'], 1)
    assert.deepEqual(leaks(), before)
  })

  it('names what keeps the event loop', async () => {
    const before = leaks().resources
    const timer = setInterval(() => {}, 60_000)
    const during = leaks().resources
    clearInterval(timer)
    assert.equal(during.length, before.length + 1)
    assert.ok(during.includes('Timeout'))
  })
})

describe('sequence', () => {
  it('makes an exact order, whichever fibers the points are in', () =>
    virtual(function* () {
      const at = sequence(4)
      const log: number[] = []
      const point = (n: number) =>
        function* () {
          yield* at(n)
          log.push(n)
        }
      const fibers = [3, 1, 0, 2].map((n) => spin(point(n)))
      assert.equal(at.isDone, false)
      yield* Fiber.await(...fibers)
      assert.deepEqual(log, [0, 1, 2, 3])
      assert.equal(at.isDone, true)
    }))

  it('one fiber may have several points', () =>
    virtual(function* () {
      const at = sequence(4)
      const log: string[] = []
      const ping = spin(function* () {
        yield* at(0)
        log.push('ping')
        yield* at(2)
        log.push('ping')
      })
      const pong = spin(function* () {
        yield* at(1)
        log.push('pong')
        yield* at(3)
        log.push('pong')
      })
      yield* Fiber.await(ping, pong)
      assert.deepEqual(log, ['ping', 'pong', 'ping', 'pong'])
    }))

  it('a point is passed once, and must exist', () =>
    virtual(function* () {
      const at = sequence(1)
      yield* at(0)
      for (const wrong of [0, 1, -1, 0.5]) {
        const fiber = spin({ link: false }, () => at(wrong))
        const outcome = yield* fiber.join()
        assert.equal(outcome.type, 'error', `point ${wrong}`)
      }
      assert.throws(() => sequence(0), { code: 'BAD_ARGUMENT' })
    }))

  it('a point that is never reached shows as a deadlock', async () => {
    const stuck = virtual(function* () {
      const at = sequence(2)
      yield* spin(() => at(1))
    })
    await assert.rejects(stuck, { code: 'DEADLOCK' })
  })
})

describe('tap', () => {
  it('tells what happens to each fiber, in order', () =>
    virtual(function* () {
      const seen: [Fiber, string][] = []
      const untap = tap((event, fiber) => seen.push([fiber, event]))
      const child = spin(() => sleep(1))
      yield* child
      untap()
      const unseen = spin(() => sleep(1))
      yield* unseen

      const of = (fiber: Fiber<any>) => seen.filter(([who]) => who === fiber).map(([, event]) => event)
      const main = Fiber.current
      assert.deepEqual(of(child), ['spin', 'schedule', 'unblock', 'block', 'schedule', 'unblock', 'end'])
      assert.deepEqual(of(main), ['block', 'schedule', 'unblock'])
      assert.deepEqual(of(unseen), [])
      const place = (fiber: Fiber<any>, event: string) =>
        seen.findLastIndex(([who, what]) => who === fiber && what === event)
      assert.ok(place(child, 'end') < place(main, 'unblock'))
    }))

  it('knows the name of a fiber from its first event', () =>
    virtual(function* () {
      const seen: string[] = []
      const untap = tap((event, fiber) => {
        if (event === 'spin' || event === 'schedule') seen.push(`${event} ${fiber.name}`)
      })
      spin('plainly', () => 1)
      spin({ name: 'in options' }, () => 1)
      untap()
      assert.deepEqual(seen, ['spin plainly', 'schedule plainly', 'spin in options', 'schedule in options'])
      yield* snooze()
    }))

  it('says what a fiber untilWaiting for', () =>
    virtual(function* () {
      const untilWaiting: string[] = []
      const untap = tap((event, fiber, detail) => {
        if (event === 'block')
          untilWaiting.push(`${fiber.name}: ${(detail as { describe(): string }).describe()}`)
      })
      yield* spin('child', () => sleep(5))
      untap()
      assert.deepEqual(untilWaiting, ['main: child to end', 'child: sleep(5)'])
    }))

  it('notes stops, raises and dead letters', () =>
    virtual(function* () {
      const seen: string[] = []
      const untap = tap((event, fiber) => seen.push(`${event} ${fiber.name}`))
      const stopped = spin('stopped', () => sleep())
      yield* snooze()
      yield* stopped.stop()
      stopped.send('too late')
      const raised = spin({ name: 'raised', link: false }, () => sleep())
      yield* raised.raise('oh')
      untap()
      for (const note of [
        'stop stopped',
        'end stopped',
        'deadLetter stopped',
        'raise raised',
        'end raised',
      ]) {
        assert.ok(seen.includes(note), `${note} is missing in ${seen}`)
      }
    }))

  it('S70 a listener that throws harms nobody, and the others still hear', () =>
    virtual(function* () {
      let heard = 0
      const untapBad = tap(() => {
        throw new Error('bad listener')
      })
      const untapGood = tap(() => heard++)
      assert.equal(yield* spin(() => 42), 42)
      untapBad()
      untapGood()
      assert.ok(heard > 0)
    }))
})

/** Waits until every other fiber of this tree untilWaiting. */
const allWait = () => {
  const all = (fiber: Fiber): Fiber[] => fiber.children.flatMap((child) => [child, ...all(child)])
  const root = Fiber.current
  return eventually(() => root.children.length > 0 && all(root).every(({ state }) => state === 'waiting'))
}

describe('the live tree', () => {
  it('is given as data', async () => {
    await run(
      function* () {
        spin('server', function* () {
          spin('connection', () => receive())
          yield* sleep(60_000)
        })
        yield* allWait()
        const [root, ...others] = fiberTree()
        assert.deepEqual(others, [])
        assert.equal(root?.name, 'app')
        assert.equal(root?.state, 'running')
        const server = root?.children[0]
        assert.deepEqual(
          [server?.name, server?.state, server?.phase, server?.waitsFor],
          ['server', 'waiting', 'live', 'sleep(60000)'],
        )
        const connection = server?.children[0]
        assert.deepEqual([connection?.name, connection?.waitsFor], ['connection', 'receive()'])
        assert.deepEqual(connection?.children, [])
      },
      { name: 'app' },
    )
    assert.deepEqual(fiberTree(), [])
  })

  it('is printed with what each fiber untilWaiting for', async () => {
    let text = ''
    await run(
      function* () {
        spin('server', function* () {
          spin('connection', () => receive())
          yield* sleep(60_000)
        })
        spin('stopping', function* () {
          try {
            yield* sleep()
          } finally {
            yield* sleep(60_000)
          }
        })
        yield* allWait()
        Fiber.current.children[1]?.stop()
        yield* eventually(() => Fiber.current.children[1]?.waitsFor === 'sleep(60000)')
        printTree((printed) => {
          text = printed
        })
        Fiber.current.children[1]?.kill()
      },
      { name: 'app' },
    )
    assert.equal(
      text,
      [
        'app  running',
        '├─ server  waiting for sleep(60000)',
        '│  └─ connection  waiting for receive()',
        '└─ stopping  waiting for sleep(60000) [unwinding]',
      ].join('\n'),
    )
  })
})

describe('runtimeStats', () => {
  it('counts what is there and what has happened', async () => {
    const before = runtimeStats()
    assert.equal(before.fibers, 0)
    await run(function* () {
      const receiver = spin(() => receive())
      spin(() => sleep(60_000))
      spin(() => sleep())
      yield* allWait()
      const during = runtimeStats()
      assert.equal(during.fibers, 4)
      assert.equal(during.timers, 1)
      assert.equal(during.pendingOps, 1)
      assert.equal(during.runQueue, 0)
      receiver.send('hello')
      assert.equal(runtimeStats().runQueue, 1)
      yield* receiver
      receiver.send('too late')
    })
    const after = runtimeStats()
    assert.deepEqual(
      [after.fibers, after.timers, after.pendingOps, after.runQueue],
      [before.fibers, before.timers, before.pendingOps, before.runQueue],
    )
    assert.equal(after.deadLetters - before.deadLetters, 1)
    assert.ok(after.switches > before.switches)
    assert.ok(after.turns > before.turns)
  })
})
