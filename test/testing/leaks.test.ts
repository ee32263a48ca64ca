// The leak sentinel.

import { assert, beforeAll, describe, leaks, run, sleep, spin, test, turns } from '../prelude.js'

describe('leaks', () => {
  beforeAll(() => turns(2)) // what the start of the process left is closed now

  test('counts fibers, timers, the run queue, ops that hold the process, and listeners', async () => {
    const before = leaks()
    const running = run(function* () {
      spin(() => sleep(60_000))
      yield* sleep()
    })
    assert.equal(leaks().runQueue, before.runQueue + 1)
    while (leaks().timers === before.timers) await turns()
    const listener = () => {}
    process.on('an event of ours' as never, listener)
    const { fibers, timers, pendingOps, listeners } = leaks()
    process.off('an event of ours' as never, listener)
    await running.stop()
    const expected = [before.fibers + 2, before.timers + 1, before.pendingOps + 1, 1]
    assert.deepEqual([fibers, timers, pendingOps, listeners['an event of ours']], expected)
    assert.deepEqual(leaks(), before)
  })

  test('names what keeps the event loop, but not what ends by itself', () => {
    const before = leaks().resources
    const { port1 } = new MessageChannel()
    port1.ref()
    const immediate = setImmediate(() => {})
    const during = leaks().resources
    port1.close()
    clearImmediate(immediate)
    assert.deepEqual(during.sort(), [...before, 'MessagePort'].sort())
  })

  test('names nothing on a platform that does not tell', () => {
    const { getActiveResourcesInfo } = process
    process.getActiveResourcesInfo = undefined as never
    const { listeners, resources } = leaks()
    process.getActiveResourcesInfo = getActiveResourcesInfo
    assert.deepEqual([listeners, resources], [{}, []])
  })
})
