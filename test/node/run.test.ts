// Fibers started from async code: `run` from wherever callbacks come from, its promise, and the counts of the runtime.

import { EventEmitter } from 'node:events'
import {
  action,
  assert,
  describe,
  Fiber,
  FiberStopped,
  fiberTree,
  program,
  receive,
  run,
  runtimeStats,
  sleep,
  snooze,
  spin,
  test,
  turns,
  until,
  untilWaiting,
} from '../prelude.js'

function* square(n: number) {
  yield* snooze()
  return n * n
}

describe('run', () => {
  test('S31 stopped with a value it resolves; without one it rejects, which need not be handled', async () => {
    const valued = run(() => sleep())
    assert.deepEqual([await valued.stop('v'), await valued], [{ type: 'stopped', value: 'v' }, 'v'])
    const stopped = run(() => sleep(), { name: 'stopped' })
    assert.equal((await stopped.stop(undefined, { reason: 'why' })).type, 'stopped')
    await turns(2) // an unhandled rejection fails the test
    const isStopped = ({ message, cause }: Error) =>
      message === 'stopped was stopped without a value' && cause === 'why'
    await assert.rejects(stopped, (error: Error) => error instanceof FiberStopped && isStopped(error))
  })

  test('S30 works in every kind of callback, and may be stopped or raised in from there', async () => {
    const callbacks: ((call: () => void) => unknown)[] = [setImmediate, process.nextTick, queueMicrotask]
    for (const [n, later] of callbacks.entries()) {
      const inside = () => until(new Promise<number>((resolve) => later(() => resolve(run(() => square(n))))))
      assert.equal(await run(inside), n * n)
      const raised = run(() => sleep())
      later(() => raised.fiber.raise('from outside'))
      await assert.rejects(raised, /from outside/)
    }
    assert.equal(await run(() => action<number>((settle) => void setImmediate(settle, 1))), 1)
  })

  test('in a step of a fiber, or a listener that it calls, it makes a tree of its own and runs later', async () => {
    const emitter = new EventEmitter()
    const answers: Promise<number>[] = []
    emitter.on('n', (n) => answers.push(run(() => square(n))))
    let inner!: ReturnType<typeof run<string>>
    await run(
      function* () {
        inner = run(
          function* () {
            yield* receive()
            return Fiber.current.path
          },
          { name: 'inner' },
        ) as typeof inner
        for (const n of [1, 2, 3]) emitter.emit('n', n)
        assert.deepEqual(
          [Fiber.current.path, Fiber.current.children, inner.fiber.state],
          ['outer', [], 'runnable'],
        )
        yield* snooze()
      },
      { name: 'outer' },
    )
    inner.fiber.send('go on') // it has outlived the fiber that called run
    assert.deepEqual([await inner, await Promise.all(answers)], ['inner', [1, 4, 9]])
  })

  test('one that fails or is stopped does not touch the others', async () => {
    const before = fiberTree().length
    const good = run(() => receive())
    const stopped = run(() => sleep())
    await assert.rejects(
      run(() => assert.fail('only mine')),
      /only mine/,
    )
    await stopped.stop()
    assert.equal(fiberTree().length, before + 1)
    good.fiber.send('go on')
    assert.equal(await good, 'go on')
    assert.equal(await run(() => Fiber.outOfBand(() => 'a root of its own').await()), 'a root of its own')
  })
})

test('runtimeStats counts what is there and what has happened', async () => {
  const counts = () => {
    const { fibers, timers, pendingOps, runQueue } = runtimeStats()
    return [fibers, timers, pendingOps, runQueue]
  }
  const [before, idle] = [runtimeStats(), counts()]
  await run(function* () {
    const receiver = spin(() => receive())
    yield* untilWaiting(
      receiver,
      spin(() => sleep(60_000)),
      spin(() => sleep()),
    )
    assert.deepEqual(counts(), [4, 1, 1, 0])
    receiver.send('hello')
    assert.equal(runtimeStats().runQueue, 1)
    yield* receiver
    receiver.send('too late')
  })
  const after = runtimeStats()
  assert.deepEqual([counts(), after.deadLetters], [idle, before.deadLetters + 1])
  assert.ok(after.switches > before.switches && after.turns > before.turns)
})

test('S33 S64 an empty loop: suspend() returns, what beforeExit starts is waited for, a deadlock is told once', async () => {
  const { code, stderr } = await program(`
    import { Fiber, main, receive, run, suspend } from 'polyphony'
    let root
    let empty = 0
    process.on('beforeExit', () => {
      empty++
      if (empty === 3) setImmediate(() => root.send('from a listener'))
      if (empty === 4) process.nextTick(() => process.nextTick(() => setImmediate(() => {}))) // once more
    })
    main(function* () {
      root = Fiber.current
      for (const wait of [suspend, suspend, receive, receive]) console.error(wait.name, yield* wait())
    })
    run(() => receive()).catch(({ code, stack }) => console.error(code, stack.includes('    at ')))`)
  const told = stderr
    .split('\n')
    .filter((line) => /^suspend|^receive|can ever wake main|^DEADLOCK/.test(line))
  assert.deepEqual(told.slice(0, 3), ['suspend undefined', 'suspend undefined', 'receive from a listener'])
  assert.match(told[3] ?? '', /deadlock: nothing can ever wake main/)
  assert.deepEqual([told.slice(4), code === 0], [['DEADLOCK false'], false])
})
