// Promises that fibers wait for, leave and come back to; thenables; a real fetch.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  assert,
  describe,
  Fiber,
  moveOnAfter,
  run,
  sleep,
  spin,
  started,
  thrownBy,
  turns,
  until,
} from '../prelude.js'
import { deferred, listeners, settling, test } from './outside.js'

describe('until', () => {
  test('answers all fibers that wait at the end of the promise, also those that came back', function* () {
    const { promise, resolve } = deferred<number>()
    const faithful = yield* started(() => until(promise))
    const left = spin(() => moveOnAfter(5, () => until(promise), -1))
    const back = spin(function* () {
      yield* moveOnAfter(5, () => until(promise))
      return yield* until(promise)
    })
    yield* sleep(10)
    const newcomers = [yield* started(() => until(promise)), yield* started(() => until(promise))] as const
    yield* newcomers[1].stop()
    resolve(7)
    assert.deepEqual(yield* Fiber.await(faithful, left, back, newcomers[0]), [7, -1, 7, 7])
    assert.equal(yield* until(promise), 7)
  })

  test('fails all fibers that wait for a promise which others have left', function* () {
    const { promise, reject } = deferred<number>()
    let discarded = 0
    yield* moveOnAfter(1, () => until(promise, { discard: () => discarded++ }))
    const fibers = [yield* started(() => until(promise)), yield* started(() => until(promise))]
    const error = new Error('broken')
    reject(error)
    for (const fiber of fibers) assert.deepEqual(yield* fiber.join(), { type: 'error', error })
    assert.equal(discarded, 0)
  })

  test('a function gives a promise of its own for each wait: the late values of all others are discarded', function* () {
    const calls: ((value: string) => void)[] = []
    const discarded: string[] = []
    const op = until(() => new Promise<string>((resolve) => calls.push(resolve)), {
      discard: (value) => void discarded.push(value),
    })
    for (let i = 0; i < 2; i++) yield* moveOnAfter(1, () => op)
    const fiber = yield* started(() => op)
    for (const [i, resolve] of calls.entries()) resolve(`call ${i}`)
    assert.equal(yield* fiber, 'call 2')
    yield* settling()
    assert.deepEqual(discarded, ['call 0', 'call 1'])
  })

  // biome-ignore-start lint/suspicious/noThenProperty: thenables are what these tests are about
  test('thenables that answer at once, twice or by throwing are waits like any other', function* () {
    type Yes = (value: number) => void
    assert.equal(yield* until({ then: (yes: Yes) => yes(1) } as PromiseLike<number>), 1)
    assert.equal(yield* until({ then: (yes: Yes) => [yes(1), yes(2)] } as unknown as PromiseLike<number>), 1)
    const throwing = { then: () => assert.fail('thrown by then') } as unknown as PromiseLike<number>
    assert.equal((yield* thrownBy(until(throwing))).message, 'thrown by then')
  })

  test('a thenable that is no promise may start anew each time it is waited for', function* () {
    let looks = 0
    const lazy = { then: (yes: (value: number) => void) => ++looks > 1 && yes(looks) } as any
    assert.equal(yield* moveOnAfter(1, () => until(lazy), 'nothing yet'), 'nothing yet')
    assert.equal(yield* until(lazy), 2)
  })
  // biome-ignore-end lint/suspicious/noThenProperty: thenables are what these tests are about

  test('throws what its function throws, and can be waited for again', function* () {
    let calls = 0
    const op = until(async () => calls)
    const broken = until(() => {
      if (++calls === 1) throw new Error('broken')
      return Promise.resolve(calls)
    })
    assert.equal((yield* thrownBy(broken)).message, 'broken')
    assert.deepEqual([yield* broken, yield* op], [2, 2])
  })

  test('S57 a fetch is aborted when its fiber is stopped: the server sees it, no listener stays', async () => {
    const requests: Promise<boolean>[] = []
    const server = createServer((_, response) => {
      response.write('half of it') // and never the rest
      requests.push(new Promise((resolve) => response.on('close', () => resolve(!response.writableFinished))))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const signals: AbortSignal[] = []
    const running = run(() =>
      until((signal) => {
        signals.push(signal)
        return fetch(url, { signal }).then((response) => response.text())
      }),
    )
    while (requests.length === 0) await turns()
    await running.stop()
    assert.equal(await requests[0], true)
    await turns()
    assert.deepEqual([signals[0]?.aborted, listeners(signals[0] as AbortSignal)], [true, 0])
    server.close()
    server.closeAllConnections() // else the process waits for them
  })
})
