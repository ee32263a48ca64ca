// A stopped fiber really ends what it waits for: the other side sees the abort, and nothing is left behind.
// Real servers, files, processes and streams.

import assert from 'node:assert/strict'
import { type ExecException, exec } from 'node:child_process'
import { EventEmitter, once as eventOnce, getEventListeners } from 'node:events'
import { open, readFile, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { after, before, describe, it } from 'node:test'
import { setImmediate as immediate, setTimeout as timer } from 'node:timers/promises'
import { Fiber, FiberStopped, isStop, moveOnAfter, run, spin, until } from 'polyphony'
import { leaks } from 'polyphony/testing'
import { comesTrue, turn, turns } from '../prelude.js'
import { expiring } from '../shared/limits.js'

/** What the server saw of one request. */
interface Seen {
  /** It was closed before the answer was whole. */
  aborted: Promise<boolean>
}

let server: Server
let url = ''
let arrived: (seen: Seen) => void = () => {}
/** The next request that reaches the server. */
const request = () =>
  new Promise<Seen>((resolve) => {
    arrived = resolve
  })

before(async () => {
  server = createServer((req, res) => {
    const aborted = new Promise<boolean>((resolve) => {
      res.on('close', () => resolve(!res.writableFinished))
    })
    if (req.url === '/half') res.write('half of it, ') // and never the rest
    if (req.url === '/whole') res.end('all of it')
    arrived({ aborted })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
after(() => server.close())

/** A fetch that remembers its signal. */
function fetching(path = '/never') {
  const signals: AbortSignal[] = []
  const op = () =>
    until((signal) => {
      signals.push(signal)
      return fetch(url + path, { signal })
    })
  return { op, signals }
}

const listeners = (signal: AbortSignal | undefined) =>
  signal === undefined ? -1 : getEventListeners(signal, 'abort').length

/** No server that never answers was left waiting, no listener on the signal stays. */
async function assertAborted(seen: Seen, signal: AbortSignal | undefined): Promise<void> {
  assert.equal(await seen.aborted, true, 'the server did not see the abort')
  assert.equal(signal?.aborted, true)
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(listeners(signal), 0, 'a listener stays on the signal')
}

describe('S57 a fetch to a server that never answers', () => {
  it('is aborted when its fiber is stopped', async () => {
    const { op, signals } = fetching()
    const coming = request()
    const outcome = await run(function* () {
      const fiber = spin(op)
      yield* until(coming)
      return yield* fiber.stop(undefined, { reason: 'enough' })
    })
    assert.equal(outcome.type, 'stopped')
    await assertAborted(await coming, signals[0])
    assert.equal(signals[0]?.reason, 'enough')
  })

  it('is aborted when a limit expires', async () => {
    const { op, signals } = fetching()
    const coming = request()
    let hasCome = false
    coming.then(() => (hasCome = true))
    assert.equal(await run(() => expiring(moveOnAfter, op, 'moved on', () => hasCome)), 'moved on')
    await assertAborted(await coming, signals[0])
  })

  it('is aborted when the run around it is stopped, and when its signal is aborted', async () => {
    const first = fetching()
    let coming = request()
    const running = run(first.op)
    await coming
    assert.equal((await running.stop()).type, 'stopped')
    await assertAborted(await coming, first.signals[0])

    const second = fetching()
    const controller = new AbortController()
    coming = request()
    const other = run(second.op, { signal: controller.signal })
    await coming
    controller.abort()
    await assert.rejects(other, FiberStopped)
    await assertAborted(await coming, second.signals[0])
    assert.equal(listeners(controller.signal), 0)
  })

  it('is aborted when it loses against another fiber that its parent selected', async () => {
    const { op, signals } = fetching()
    const coming = request()
    await run(function* () {
      const loser = spin(op)
      const winner = spin(() => until(coming))
      assert.equal((yield* Fiber.select(loser, winner))[0], winner)
    }) // the end of the parent stops the loser
    await assertAborted(await coming, signals[0])
  })

  it('is aborted through fiber.signal too', async () => {
    const coming = request()
    let signal!: AbortSignal
    const running = run(function* () {
      signal = Fiber.current.signal
      yield* until(fetch(url, { signal }))
    })
    await coming
    await running.stop()
    await assertAborted(await coming, signal)
  })

  it('a body that is half read is aborted as well', async () => {
    const { op, signals } = fetching('/half')
    const coming = request()
    let text = ''
    const running = run(function* () {
      const response = yield* until((signal) => {
        signals.push(signal)
        return fetch(`${url}/half`, { signal })
      })
      const reader = response.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>
      try {
        for (;;) {
          const { value, done } = yield* until(reader.read())
          if (done) return
          text += Buffer.from(value).toString()
          Fiber.current.stop()
        }
      } finally {
        yield* until(reader.cancel())
      }
    })
    await assert.rejects(running, FiberStopped)
    assert.equal(text, 'half of it, ')
    assert.equal(await (await coming).aborted, true)
    assert.equal(typeof op, 'function')
  })

  it('one that is answered is not aborted, and its body can be read', async () => {
    const { op, signals } = fetching('/whole')
    const coming = request()
    const text = await run(function* () {
      const response = yield* op()
      return yield* until(response.text())
    })
    assert.equal(text, 'all of it')
    assert.equal(await (await coming).aborted, false)
    assert.equal(signals[0]?.aborted, false)
  })
})

describe('S57 what takes a signal is ended by it', () => {
  /** Waits in `op` until `begun`, then is stopped; gives what nobody may see: what is left. */
  async function stopped(op: (signal: AbortSignal) => Promise<unknown>): Promise<AbortSignal> {
    let signal!: AbortSignal
    const before = leaks().resources.length
    const running = run(() =>
      until((given) => {
        signal = given
        return op(given)
      }),
    )
    while (running.fiber.state !== 'waiting') await new Promise((resolve) => setImmediate(resolve))
    const { type } = await running.stop()
    assert.equal(type, 'stopped')
    assert.ok(await comesTrue(() => leaks().resources.length <= before), `left: ${leaks().resources}`)
    assert.equal(listeners(signal), 0)
    return signal
  }

  it('a timer', async () => void (await stopped((signal) => timer(60_000, undefined, { signal }))))

  it('events.once', async () => {
    const emitter = new EventEmitter()
    await stopped((signal) => eventOnce(emitter, 'never', { signal }))
    assert.deepEqual(emitter.eventNames(), [])
  })

  it('a child process', async () => {
    let ended: Promise<ExecException | null> | undefined
    await stopped(
      (signal) =>
        new Promise(() => {
          ended = new Promise((resolve) => {
            exec(`"${process.execPath}" -e "setTimeout(() => {}, 60000)"`, { signal }, (error) =>
              resolve(error),
            )
          })
        }),
    )
    assert.equal((await ended)?.name, 'AbortError')
  })

  it('reading a file', async () => {
    const path = join(tmpdir(), `polyphony-${process.pid}`)
    const file = await open(path, 'w')
    await file.truncate(200_000_000)
    await file.close()
    let error: unknown
    await stopped((signal) =>
      readFile(path, { signal }).catch((reason) => {
        error = reason
      }),
    )
    while (error === undefined) await turns()
    assert.equal((error as Error).name, 'AbortError')
    await rm(path)
  })
})

describe('S57 a signal that lives long', () => {
  it('has one listener while ten thousand fibers share it, and none after', async () => {
    const { signal } = new AbortController()
    await run(function* () {
      for (let i = 0; i < 10; i++) {
        const fibers = Array.from({ length: 1000 }, () => spin({ signal }, () => turn()))
        assert.equal(listeners(signal), 1)
        yield* Fiber.await(...fibers)
        assert.equal(listeners(signal), 0)
      }
    })
    for (let i = 0; i < 100; i++) await run(() => turn(), { signal })
    assert.equal(listeners(signal), 0)
  })

  it('of a fiber, looked at ten thousand times, has the listeners of those who wait and no more', async () => {
    await run(function* () {
      const { signal } = Fiber.current
      for (let i = 0; i < 100; i++) {
        yield* moveOnAfter(0, () =>
          until((own) => timer(60_000, undefined, { signal: AbortSignal.any([own]) })),
        )
        yield* until(immediate(undefined, { signal }))
        assert.equal(listeners(signal), 0)
      }
    })
  })
})

describe('S58 streams, read with until', () => {
  it('a Node stream by its async iterator, left early: the stream is destroyed', async () => {
    const stream = Readable.from(['a', 'b', 'c'])
    const first = await run(function* () {
      const iterator = stream[Symbol.asyncIterator]()
      try {
        return (yield* until(iterator.next())).value
      } finally {
        yield* until(iterator.return?.() as Promise<unknown>)
      }
    })
    assert.equal(first, 'a')
    assert.equal(stream.destroyed, true)
  })

  it('a web stream by its reader: a fiber that is stopped releases it', async () => {
    const stream = new ReadableStream<string>({
      start(controller) {
        controller.enqueue('one')
      },
    })
    let cleanedUp = false
    let isLast = false
    const running = run(function* () {
      const reader = stream.getReader()
      try {
        assert.equal((yield* until(reader.read())).value, 'one')
        isLast = true
        yield* until(reader.read()) // never comes
      } catch (error) {
        assert.ok(isStop(error))
        throw error
      } finally {
        yield* until(reader.cancel())
        cleanedUp = true
      }
    })
    while (!isLast || running.fiber.state !== 'waiting') await turns()
    await running.stop()
    assert.ok(cleanedUp)
  })

  it('a stream that fails throws in the fiber', async () => {
    const stream = new PassThrough()
    const running = run(() => until(stream[Symbol.asyncIterator]().next()))
    setImmediate(() => stream.destroy(new Error('broken')))
    await assert.rejects(running, /broken/)
  })
})
