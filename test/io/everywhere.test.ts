// Conversations in every order of their fibers, disturbed at every switchpoint, and at random, in memory and over real sockets.
// Whatever strikes, every byte that was handed over arrives once and in order, or is still there to be read; all fibers
// come to an end, and nothing stays open.

import { copy, gunzip, gzip, IOError, pair, pipe, type Stream, StreamClosed } from 'polyphony/io'
import { everyOrder } from '../explore/orders.js'
import {
  all,
  assert,
  describe,
  ensure,
  type Fiber,
  failEverywhere,
  type Routine,
  raiseEverywhere,
  random,
  scope,
  sleep,
  snooze,
  spin,
  stopEverywhere,
  test,
} from '../prelude.js'
import { killers } from '../shared/killers.js'
import { disturb } from '../shared/outside.js'
import { freshPath } from './folder.js'
import { connected, isGone, listening } from './real.js'

/** More than there is room for. */
const LARGE = Buffer.alloc(70_000, 'x')

function assertIdle(...streams: Stream[]): void {
  for (const { readers, writers } of streams.map((stream) => stream.stats())) {
    assert.deepEqual([readers, writers], [0, 0])
  }
}

describe('in every order', () => {
  const killLater = (kill: (fibers: Fiber<any>[]) => unknown, fibers: Fiber<any>[]) =>
    spin(function* () {
      yield* snooze()
      kill(fibers)
    })

  for (const [how, kill] of killers) {
    test(`two fibers that read lines, one that writes them and ${how}: each line comes once`, (t) => {
      everyOrder(t, function* () {
        const [client, server] = pair()
        const got: string[] = []
        const reader = function* () {
          const line = yield* server.gets()
          if (line !== undefined) got.push(line)
        }
        const writer = spin({ link: false }, function* () {
          yield* client.write('1\n')
          yield* client.write('2', '\n')
        })
        const fibers = [spin({ link: false }, reader), spin({ link: false }, reader), writer]
        killLater(kill, fibers)
        yield* writer.join()
        yield* client.end('3\n')
        for (const fiber of fibers) yield* fiber.join()
        got.push(...`${yield* server.readAll()}`.split('\n').slice(0, -1))
        assertIdle(client, server)
        const expected = ['1', '2', '3'].filter((line) => got.includes(line))
        assert.deepEqual([...got].sort(), expected)
        assert.ok(got.includes('3'))
        if (writer.outcome?.type === 'value') assert.equal(got.length, 3)
      })
    })

    test(`a writer that waits for room, a reader, an end and ${how}: all come to an end`, (t) => {
      everyOrder(t, function* () {
        const [client, server] = pair()
        let taken = 0
        const reader = spin({ link: false }, function* () {
          taken = (yield* server.readExactly(LARGE.length)).length
        })
        const fibers = [spin({ link: false }, () => client.write(LARGE)), reader]
        killLater(kill, fibers)
        yield* snooze()
        const ending = spin(() => client.end('z'))
        const left = yield* server.readAll()
        yield* ending
        for (const fiber of fibers) yield* fiber.join()
        assertIdle(client, server)
        assert.equal(taken + left.length, client.stats().written)
        assert.equal(`${left.subarray(-1)}`, 'z')
      })
    })
  }
})

/** The peer of a fiber that was cut may get to hear of it. */
function forgiving(body: () => Routine<unknown>): () => Routine<void> {
  return function* () {
    try {
      yield* body()
    } catch (error) {
      if (!(error instanceof IOError || error instanceof StreamClosed)) throw error
    }
  }
}

/** A scenario in virtual time, stopped, struck and failing at each of its switchpoints. */
function everywhere(scenario: () => Routine<unknown>, check: () => void): void {
  const { switchpoints } = stopEverywhere(scenario, { check })
  assert.ok(switchpoints > 5, `${switchpoints} switchpoints`)
  raiseEverywhere(scenario, { check })
  failEverywhere(scenario, { check })
}

/** Serves lines with echoes, up to the end or to 'bye'. */
function* echo(stream: Stream): Routine<void> {
  for (let line: string | undefined; (line = yield* stream.gets()) !== undefined; ) {
    if (line === 'bye') return
    yield* stream.write(`${line}`, '\n')
  }
  yield* stream.end('end\n')
}

describe('at every switchpoint', () => {
  test('of a copy: what arrived is the beginning of what was sent', () => {
    let received = ''
    function* copying(): Routine<void> {
      received = ''
      const [here, there] = pair()
      const source = pipe('source')
      yield* source.end('one ', 'two ', 'three ')
      spin({ link: false }, () => there.readLoop((chunk) => void (received += chunk)))
      yield* ensure(
        () => copy(source, here, { chunk: 3 }),
        () => here.close(),
      )
      yield* snooze()
    }
    everywhere(forgiving(copying), () => assert.ok('one two three '.startsWith(received), received))
  })

  test('of compressing and decompressing: nothing stays behind', async () => {
    const data = Buffer.from(Array.from({ length: 3000 }, (_, i) => (i * i) % 251))
    const runs = await disturb(function* () {
      const [here, there] = pair()
      function* packing() {
        yield* gzip(data, here)
        yield* here.end()
      }
      const [, bytes] = yield* all([packing, () => gunzip(there)])
      assert.deepEqual(bytes, data)
    })
    assert.ok(runs > 30, `${runs} runs`)
  })

  for (const [kind, options] of [
    ['TCP', () => ({})],
    ['a Unix socket with room for one', () => ({ path: freshPath(), maxConnections: 1 })],
  ] as const) {
    test(`of clients and a server over ${kind}: all come to an end, and nothing stays open`, async () => {
      const runs = await disturb(function* () {
        const server = yield* listening(options())
        const serve = ensure(
          () => server.acceptLoop(echo, { onError() {} }),
          () => server.destroy(),
        )
        const serving = spin({ link: false }, () => serve)
        function* client(lines: string): Routine<void> {
          try {
            const socket = yield* connected(server)
            yield* socket.write(lines)
            yield* socket.gets()
            yield* socket.end('bye\n')
            yield* socket.readAll()
            yield* socket.close()
          } catch (error) {
            if (!isGone(error)) throw error
          }
        }
        const clients = function* () {
          spin(client, 'one\n')
          spin(client, `${'x'.repeat(50_000)}\n`)
        }
        yield* ensure(
          () => scope(clients),
          function* () {
            yield* server.close()
            yield* serving.join()
          },
        )
      })
      assert.ok(runs > 40, `${runs} runs`)
    })
  }
})

describe('at random', () => {
  /** A message tells who wrote it, its number and its length. */
  function message(writer: number, sequence: number, length: number): Buffer {
    const bytes = Buffer.alloc(6 + length, writer * 16 + (sequence % 16))
    bytes.writeUInt16BE(writer * 256 + sequence)
    bytes.writeUInt32BE(length, 2)
    return bytes
  }

  /** Messages of three writers, each cut at any time, then the end. Gives the numbers of those whose write has settled. */
  function* talk(stream: Stream, chance: () => number): Routine<Set<number>> {
    const settled = new Set<number>()
    yield* scope(function* () {
      for (const writer of [0, 1, 2]) {
        spin(function* () {
          for (let sequence = 0; sequence < 25; sequence++) {
            const bytes = message(writer, sequence, Math.floor(chance() ** 4 * 60_000))
            const cut = Math.floor(chance() * bytes.length)
            const sending = spin(() => stream.write(bytes.subarray(0, cut), bytes.subarray(cut)))
            if (chance() < 0.3) {
              yield* sleep(Math.floor(chance() * 3))
              yield* sending.stop()
            }
            if ((yield* sending.join()).type === 'value') settled.add(writer * 256 + sequence)
          }
        })
      }
    })
    yield* stream.end()
    return settled
  }

  /** All bytes up to the end, read in any way, each wait cut at any time. */
  function* readAnyhow(stream: Stream, chance: () => number): Routine<Buffer> {
    const parts: Buffer[] = []
    let isOver = false
    const keep = (bytes: Buffer | undefined) => {
      if (bytes === undefined) isOver = true
      else parts.push(Buffer.from(bytes))
    }
    const ways: (() => Routine<void>)[] = [
      function* () {
        keep(yield* stream.read(chance() < 0.5 ? undefined : 1 + Math.floor(chance() * 5000)))
      },
      function* () {
        keep(yield* stream.readExactly(1 + Math.floor(chance() ** 3 * 90_000)))
      },
      function* () {
        keep(yield* stream.readUntil(Buffer.of(0x11, 0x11), { limit: Infinity }))
      },
      function* () {
        let left = Math.floor(chance() * 5)
        const body = function* (chunk: Buffer) {
          keep(chunk)
          if (chance() < 0.5) yield* sleep(Math.floor(chance() * 3))
          return left-- > 0
        }
        yield* stream.readLoop(body, { max: 1 + Math.floor(chance() * 20_000) })
      },
    ]
    while (!isOver) {
      const reading = spin({ link: false }, ways[Math.floor(chance() * ways.length)] as () => Routine<void>)
      if (chance() < 0.4) {
        yield* sleep(Math.floor(chance() * 4))
        yield* chance() < 0.5 ? reading.stop() : reading.kill()
      }
      yield* reading.join() // which may fail at the end: other ways read on
    }
    return Buffer.concat(parts)
  }

  for (let seed = 1; seed <= 5; seed++) {
    test(`every message arrives whole, once and in order, however fibers are cut (seed ${seed})`, function* () {
      const chance = random(seed * 7919)
      const [a, b] = pair()
      const fibers = [a, b].map((end) => [spin(readAnyhow, end, chance), spin(talk, end, chance)] as const)
      for (const way of [0, 1] as const) {
        const bytes = yield* fibers[1 - way]?.[0] as Fiber<Buffer>
        const missing = yield* fibers[way]?.[1] as Fiber<Set<number>>
        const last = [-1, -1, -1]
        for (let at = 0; at < bytes.length; ) {
          const [writer, sequence] = [bytes[at] as number, bytes[at + 1] as number]
          const expected = message(writer, sequence, bytes.readUInt32BE(at + 2))
          assert.ok(bytes.subarray(at, at + expected.length).equals(expected), 'a message is not whole')
          assert.ok(sequence > (last[writer] as number), `message ${sequence} comes again, or too late`)
          last[writer] = sequence
          missing.delete(writer * 256 + sequence)
          at += expected.length
        }
        assert.deepEqual([...missing], [])
        assert.ok(Math.min(...last) > 10, `${last}`)
      }
      assert.deepEqual([a.isClosed, b.isClosed], [true, true])
      assertIdle(a, b)
    })
  }
})
