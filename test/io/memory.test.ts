// Streams in memory beyond the contract (stream.test.ts): what only they can show, under the virtual clock and without it.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  BadArgument,
  BadYield,
  END,
  Fiber,
  iterate,
  run,
  scope,
  sleep,
  snooze,
  spin,
  tap,
  toAsyncIterable,
  until,
  use,
} from 'polyphony'
import { IOError, pair, pipe, StreamClosed } from 'polyphony/io'
import { virtual } from 'polyphony/testing'
import { program, thrownBy } from '../prelude.js'

describe('streams in memory', () => {
  it('S33 S64 a main that reads from a pipe to which nobody writes is a deadlock: exit 13, and the tree says why', async () => {
    const { code, stdout, stderr } = await program(`
      import { main, spin } from 'polyphony'
      import { pair, pipe } from 'polyphony/io'
      const [, server] = pair()
      main(function* () {
        spin('other', () => server.readLoop(() => {}))
        spin('third', () => pipe('p').readExactly(4))
        spin('fourth', () => pipe('full').write('x'.repeat(100_000)))
        yield* pipe('nobody').gets()
      })`)
    assert.deepEqual([code, stdout], [13, ''])
    for (const wait of ['nobody.gets()', 'server.readLoop()', 'p.readExactly(4)', 'full.write()']) {
      assert.ok(stderr.includes(wait), `${wait} is missing in:\n${stderr}`)
    }
  })

  it('S34 bytes handed over, then a stop: the fiber gets them first', () =>
    virtual(function* () {
      const [client, server] = pair()
      for (const strike of ['stop', 'kill', 'raise'] as const) {
        const got: unknown[] = []
        const reader = spin({ link: false }, function* () {
          got.push(yield* server.gets())
        })
        yield* snooze()
        yield* client.write('line\n')
        reader[strike]()
        yield* reader.join()
        assert.deepEqual(got, ['line'], strike)
      }
    }))

  it('S17 reading is no idle op: cleanup may read the answer to its goodbye', () =>
    virtual(function* () {
      const [client, server] = pair()
      spin(function* () {
        if ((yield* server.gets()) === 'bye') yield* server.write('bye bye\n')
      })
      let answer: string | undefined
      const talker = spin(function* () {
        try {
          yield* client.gets()
        } finally {
          yield* client.write('bye\n')
          answer = yield* client.gets()
        }
      })
      yield* snooze()
      yield* talker.stop()
      assert.equal(answer, 'bye bye')
    }))

  it('S50 a fiber that finds bytes each time lets the others run', () =>
    virtual(function* () {
      const stream = pipe()
      let turns = 0
      spin(function* () {
        for (;;) {
          turns++
          yield* snooze()
        }
      })
      for (let n = 0; n < 1300; n++) {
        yield* stream.write('a\n')
        assert.equal(yield* stream.gets(), 'a')
      }
      assert.ok(turns >= 15, `${turns} turns`)
    }))

  it('S69 reading iterated by hand is a named error, and costs no byte', () =>
    virtual(function* () {
      const stream = pipe()
      assert.throws(() => [...(stream.gets() as any)], BadYield)
      assert.equal(stream.stats().readers, 0)
      yield* stream.write('line\n')
      assert.equal(yield* stream.gets(), 'line')
    }))

  it('one op may be waited for again, and by several', () =>
    virtual(function* () {
      const stream = pipe()
      const op = stream.readExactly(2)
      const readers = [spin(() => op), spin(() => op)]
      yield* snooze()
      const write = stream.write('ab')
      yield* write
      yield* write
      assert.deepEqual((yield* Fiber.await(...readers)).map(String), ['ab', 'ab'])
    }))

  it('S74 room is counted in bytes, not in characters', () =>
    virtual(function* () {
      const stream = pipe()
      const writer = spin(() => stream.write('é'.repeat(40_000)))
      yield* snooze()
      assert.equal(writer.state, 'waiting')
      assert.equal(`${yield* stream.readExactly(80_000)}`.length, 40_000)
      yield* writer
      yield* stream.end('é')
      assert.equal(`${yield* stream.readAll()}`, 'é')
      assert.equal(stream.isClosed, true)
    }))

  it('S75 a side that is destroyed is a reset for the other, after what it had received', () =>
    virtual(function* () {
      const [client, server] = pair()
      yield* client.write('one\n', 'two\n', 'thr')
      assert.equal(yield* server.gets(), 'one')
      client.destroy()
      assert.equal(yield* server.gets(), 'two')
      const error = yield* thrownBy(server.gets())
      assert.ok(error instanceof IOError)
      assert.deepEqual([error.code, error.syscall], ['ECONNRESET', 'read'])
      assert.equal(error.message, 'server.gets() failed: connection reset by peer (ECONNRESET)')
      assert.equal(`${yield* server.read()}`, 'thr')
      assert.equal(server.isClosed, true)
    }))

  it('S75 a side that was destroyed with bytes unread does not leave the writer waiting', () =>
    virtual(function* () {
      const [client, server] = pair()
      const writer = spin(() => thrownBy(client.write(...Array<Buffer>(5).fill(Buffer.alloc(100_000)))))
      yield* snooze()
      yield* server.readExactly(10)
      server.destroy()
      assert.equal((yield* writer).code, 'ECONNRESET')
      assert.equal(server.stats().unread, 0)
    }))

  it('S75 a pipe that is closed takes what is in it along: who writes and who reads hears of it', () =>
    virtual(function* () {
      const stream = pipe()
      const writer = spin(() => thrownBy(stream.write(Buffer.alloc(100_000))))
      yield* snooze()
      yield* stream.close()
      assert.ok((yield* writer) instanceof StreamClosed)
      assert.ok((yield* thrownBy(stream.read())) instanceof StreamClosed)
    }))

  it('S60 use() closes by fibers: in virtual time, newest first, after the children', () =>
    virtual(function* () {
      const [client, server] = pair()
      const log: string[] = []
      const reader = spin(function* () {
        yield* server.readLoop((chunk) => void log.push(`${chunk.length}`))
        log.push('end')
      })
      yield* scope(function* () {
        yield* use(client)
        yield* use({}, () => void log.push('newest'))
        spin(function* () {
          yield* sleep(3_600_000)
          yield* client.write('late')
        })
      })
      yield* reader
      assert.deepEqual(log, ['4', 'newest', 'end'])
      assert.equal(client.isClosed, true)
    }))

  it('S60 async code can dispose of a stream: await it, and it is closed', async () => {
    const stream = pipe()
    const disposal = stream[Symbol.asyncDispose]()
    assert.equal(stream.isClosed, false) // it begins when it is waited for
    await disposal
    assert.equal(stream.isClosed, true)
    await stream[Symbol.asyncDispose]()
    const [client, server] = pair()
    await run(() => client.write('hello'))
    const closing = client[Symbol.asyncDispose]()
    assert.equal(await closing.then(() => 'closed'), 'closed')
    assert.equal(`${await run(() => server.readAll())}`, 'hello')
  })

  it('S59 a stream is a source: iterate() gives chunks and END, and does not close it', () =>
    virtual(function* () {
      const stream = pipe()
      const chunks = iterate(stream)
      const next = spin(() => chunks.next())
      yield* snooze()
      assert.equal(next.waitsFor, 'pipe.read()')
      yield* stream.write('one')
      assert.equal(`${String(yield* next)}`, 'one')
      yield* chunks.close()
      yield* stream.write('two\nthree')
      const lines = stream.lines()
      assert.equal(yield* lines.next(), 'two')
      yield* stream.end()
      assert.equal(yield* lines.next(), 'three')
      assert.equal(yield* lines.next(), END)
      assert.equal(yield* iterate(stream).next(), END)
    }))

  it('S59 async code can loop over a stream, and leave the loop', async () => {
    const stream = pipe()
    await run(() => stream.write('one\ntwo\nthree\n'))
    const seen: string[] = []
    for await (const line of toAsyncIterable(stream.lines())) {
      seen.push(line)
      if (line === 'two') break
    }
    await run(() => stream.end())
    for await (const chunk of toAsyncIterable(stream)) seen.push(`${chunk}`)
    assert.deepEqual(seen, ['one', 'two', 'three\n'])
  })

  it('fibers of two worlds can talk over one stream', () =>
    virtual(function* () {
      const [client, server] = pair()
      const other = run(function* () {
        yield* server.write(`you said ${yield* server.gets()}\n`)
      })
      yield* client.write('hello\n')
      yield* until(other)
      assert.equal(yield* client.gets(), 'you said hello')
    }))

  it('S70 S71 a listener that writes while somebody is answered does not come before what is there', () =>
    virtual(function* () {
      const stream = pipe()
      const readers = [spin(() => stream.readExactly(2)), spin(() => stream.read())]
      yield* snooze()
      let isDone = false
      const untap = tap((event) => {
        if (event !== 'schedule' || isDone) return
        isDone = true
        stream.tryWrite('cc')
      })
      yield* stream.write('aabb')
      untap()
      assert.deepEqual((yield* Fiber.await(...readers)).map(String), ['aa', 'bb'])
      assert.equal(`${yield* stream.read()}`, 'cc')
    }))

  it('a name must be a name', () => {
    assert.throws(() => pipe(5 as never), BadArgument)
    assert.throws(() => pipe(''), BadArgument)
    assert.equal(pipe('mine').name, 'mine')
  })
})
