// Conversations in memory: in every order of their fibers, disturbed at every switchpoint, and at random. Whatever strikes, every
// byte that was handed over arrives once and in order, or is still there to be read, and nobody is left waiting.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ensure, Fiber, moveOnAfter, type Routine, scope, sleep, snooze, spin, use } from 'polyphony'
import { IOError, pair, pipe, type Stream, StreamClosed, UnexpectedEnd } from 'polyphony/io'
import { failEverywhere, raiseEverywhere, stopEverywhere, virtual } from 'polyphony/testing'
import { everyOrder } from '../explore/orders.js'
import { random } from '../prelude.js'
import { killers } from '../shared/killers.js'

/** More than there is room for. */
const LARGE = Buffer.alloc(70_000, 'x')

function assertIdle(...streams: Stream[]): void {
  for (const stream of streams) {
    const { readers, writers } = stream.stats()
    assert.deepEqual([readers, writers], [0, 0])
  }
}

/** What is left, up to the end. */
function* rest(stream: Stream): Routine<string> {
  return `${yield* stream.readAll()}`
}

describe('every order', () => {
  for (const [how, kill] of killers) {
    it(`S71 S72 two who read lines, one who writes them and ${how}: each line comes once and in order`, (t) => {
      everyOrder(t, function* () {
        const [client, server] = pair()
        const got: string[] = []
        const reader = () =>
          spin({ link: false }, function* () {
            const line = yield* server.gets()
            if (line !== undefined) got.push(line)
          })
        const writer = spin({ link: false }, function* () {
          yield* client.write('1\n')
          yield* client.write('2', '\n')
        })
        const fibers = [reader(), reader(), writer]
        spin(function* () {
          yield* snooze()
          kill(fibers)
        })
        yield* writer.join()
        yield* client.end('3\n')
        for (const fiber of fibers) yield* fiber.join()
        got.push(...(yield* rest(server)).split('\n').filter((line) => line !== ''))
        assertIdle(client, server)
        // Whatever was handed over: nothing twice, nothing lost, and a call is whole or not at all.
        assert.deepEqual(
          [...got].sort(),
          ['1', '2', '3'].filter((line) => got.includes(line)),
        )
        assert.ok(got.includes('3'))
        if (writer.outcome?.type === 'value') assert.equal(got.length, 3)
      })
    })

    it(`S72 S74 one who waits for room, one who reads, one who ends and ${how}: nobody is left waiting`, (t) => {
      everyOrder(t, function* () {
        const [client, server] = pair()
        let taken = 0
        const reader = spin({ link: false }, function* () {
          taken = (yield* server.readExactly(LARGE.length)).length
        })
        const fibers = [spin({ link: false }, () => client.write(LARGE)), reader]
        spin(function* () {
          yield* snooze()
          kill(fibers)
        })
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

    it(`S75 a client, a server, one who closes and ${how}: all come to their end`, (t) => {
      everyOrder(t, function* () {
        const [client, server] = pair()
        const fibers = [
          spin({ link: false }, function* () {
            try {
              yield* client.write('ping\n')
              assert.equal(yield* client.gets(), 'pong')
              yield* client.end()
            } catch (error) {
              if (!isOver(error)) throw error
            }
          }),
          spin({ link: false }, function* () {
            try {
              while ((yield* server.gets()) !== undefined) yield* server.write('pong\n')
            } catch (error) {
              if (!isOver(error)) throw error
            }
          }),
        ]
        spin(function* () {
          yield* snooze()
          kill(fibers)
        })
        yield* snooze()
        yield* server.close()
        yield* moveOnAfter(10, () => Fiber.current.joinChildren())
        client.destroy()
        for (const fiber of fibers) {
          const outcome = yield* fiber.join()
          if (outcome.type === 'error' && !/killed/.test(`${outcome.error}`)) {
            assert.ok(outcome.error instanceof assert.AssertionError, `${outcome.error}`) // the answer was the end
          }
        }
        assertIdle(client, server)
      })
    })
  }

  it('S75 three who close, and one of them is stopped: all go on, and it is closed', (t) => {
    everyOrder(t, function* () {
      const [client, server] = pair()
      yield* moveOnAfter(1, () => client.write(LARGE)) // there is no room
      const closers = [1, 2, 3].map(() => spin(() => client.close()))
      yield* snooze()
      closers[1]?.stop()
      yield* snooze()
      try {
        yield* server.readAll()
      } catch (error) {
        assert.ok(error instanceof IOError)
      }
      for (const closer of closers) yield* closer.join()
      assert.equal(client.isClosed, true)
      assertIdle(client, server)
    })
  })
})

/** What the other side gets to hear when a conversation is cut. */
function isOver(error: unknown): boolean {
  return error instanceof IOError || error instanceof StreamClosed || error instanceof UnexpectedEnd
}

describe('disturbed at every switchpoint', () => {
  let ends: Stream[] = []
  let answers: (string | undefined)[] = []

  /** Two requests by lines, then the end; an answer to each, then the end. */
  function* conversation(): Routine<void> {
    const [client, server] = pair()
    ends = [client, server]
    answers = []
    yield* scope(function* () {
      spin('server', function* () {
        yield* use(server)
        for (let line: string | undefined; (line = yield* server.gets()) !== undefined; ) {
          yield* server.write(`${line}!`, '\n')
        }
        yield* server.end('bye\n')
      })
      spin('client', function* () {
        yield* use(client)
        for (const line of ['one', 'two']) {
          yield* client.write(`${line}\n`)
          answers.push(yield* client.gets())
        }
        yield* client.end()
        answers.push(yield* client.gets(), yield* client.gets())
      })
    })
  }

  const check = () => {
    const whole = ['one!', 'two!', 'bye', undefined]
    for (const [index, answer] of answers.entries()) {
      // A server that was cut has closed: then there is an end where an answer should be.
      assert.ok(answer === whole[index] || answer === undefined || answer === 'bye', `${answers}`)
    }
    for (const end of ends) {
      const { written, received } = end.stats()
      assert.ok(end.isClosed || written + received === 0, `${end.name} is open`)
    }
    assertIdle(...ends)
  }

  /** The peer of one who was cut may get to hear of it. */
  function* forgiving(): Routine<void> {
    try {
      yield* conversation()
    } catch (error) {
      if (!isOver(error)) throw error
    }
  }

  it('S60 S72 S75 both ends are closed, whatever happens, and nobody waits', (t) => {
    const { switchpoints, runs } = stopEverywhere(forgiving, { check })
    assert.ok(switchpoints > 10)
    t.diagnostic(`stopped ${runs} times`)
    raiseEverywhere(forgiving, { check })
    failEverywhere(forgiving, { check })
  })

  it('S72 a transfer whose fibers are cut anywhere is a prefix of what was sent', () => {
    let got = ''
    let left = ''
    function* transfer(): Routine<void> {
      const stream = pipe()
      got = left = ''
      /** If one is cut, the other waits for ever. */
      function* both(): Routine<void> {
        spin(function* () {
          for (const chunk of ['abc', 'de', 'x'.repeat(66_000), 'fgh']) yield* stream.write(chunk)
          yield* stream.end('.')
        })
        spin(function* () {
          got += yield* stream.readExactly(4)
          yield* stream.readLoop(function* (chunk) {
            got += chunk
            yield* snooze()
          })
        })
      }
      yield* ensure(
        () => moveOnAfter(50, () => scope(both)),
        function* () {
          yield* moveOnAfter(10, () => stream.end()) // unless it has ended
          left = yield* rest(stream)
          stream.destroy()
        },
      )
    }
    const all = `abcde${'x'.repeat(66_000)}fgh.`
    const isPrefix = () => {
      assert.ok(all.startsWith(got + left), `${got.length} and ${left.length} bytes are not a prefix`)
    }
    stopEverywhere(transfer, { check: isPrefix })
    raiseEverywhere(transfer, { check: isPrefix })
    failEverywhere(transfer, { check: isPrefix })
  })
})

// At random: messages of several writers in both directions, cut at any time, read in any way, cut at any time.

const HEADER = 6

function message(writer: number, sequence: number, length: number): Buffer {
  const bytes = Buffer.alloc(HEADER + length, writer * 16 + (sequence % 16))
  bytes.writeUInt8(writer, 0)
  bytes.writeUInt8(sequence, 1)
  bytes.writeUInt32BE(length, 2)
  return bytes
}

/** Checks that every message is whole, comes once, in order, and that those whose write had settled are there. */
function checkMessages(bytes: Buffer, settled: Set<number>[]): number {
  const last = settled.map(() => -1)
  let count = 0
  for (let at = 0; at < bytes.length; count++) {
    const [writer, sequence, length] = [bytes[at], bytes[at + 1], bytes.readUInt32BE(at + 2)] as [
      number,
      number,
      number,
    ]
    const expected = message(writer, sequence, length)
    assert.ok(bytes.subarray(at, at + expected.length).equals(expected), `message ${count} is not whole`)
    assert.ok(
      sequence > (last[writer] as number),
      `message ${sequence} of writer ${writer} comes again, or too late`,
    )
    last[writer] = sequence
    settled[writer]?.delete(sequence)
    at += expected.length
  }
  for (const [writer, missing] of settled.entries()) {
    assert.deepEqual([...missing], [], `of writer ${writer}`)
  }
  return count
}

/** Sends messages by three writers over a stream, each cut at any time and begun anew; then the end. */
function* talk(stream: Stream, chance: () => number, settled: Set<number>[]): Routine<void> {
  yield* scope(function* () {
    for (const [writer, done] of settled.entries()) {
      spin(function* () {
        for (let sequence = 0; sequence < 25; sequence++) {
          const bytes = message(writer, sequence, Math.floor(chance() ** 4 * 60_000))
          const cut = Math.floor(chance() * bytes.length)
          const sending = spin(() => stream.write(bytes.subarray(0, cut), bytes.subarray(cut)))
          if (chance() < 0.3) {
            yield* sleep(Math.floor(chance() * 3))
            yield* sending.stop()
          }
          if ((yield* sending.join()).type === 'value') done.add(sequence)
          if (chance() < 0.3) yield* sleep(Math.floor(chance() * 5))
        }
      })
    }
  })
  yield* stream.end()
}

/** Reads until the end in all ways there are, each wait cut at any time. */
function* listenTo(stream: Stream, chance: () => number): Routine<Buffer> {
  const parts: Buffer[] = []
  let isOver = false
  const keep = (bytes: Buffer | undefined) => {
    if (bytes === undefined) isOver = true
    else parts.push(Buffer.from(bytes))
  }
  const ways: (() => Routine<void>)[] = [
    function* () {
      keep(yield* stream.read())
    },
    function* () {
      keep(yield* stream.read(1 + Math.floor(chance() * 5000)))
    },
    function* () {
      try {
        keep(yield* stream.readExactly(1 + Math.floor(chance() ** 3 * 90_000)))
      } catch (error) {
        if (!(error instanceof UnexpectedEnd)) throw error
        keep(yield* stream.readAll())
      }
    },
    function* () {
      let left = Math.floor(chance() * 5)
      yield* stream.readLoop(
        function* (chunk) {
          keep(chunk)
          if (chance() < 0.5) yield* sleep(Math.floor(chance() * 3))
          return left-- > 0
        },
        { max: 1 + Math.floor(chance() * 20_000) },
      )
    },
    function* () {
      try {
        const bytes = yield* stream.readUntil(Buffer.of(0x11, 0x11), { limit: Infinity })
        keep(bytes)
      } catch (error) {
        if (!(error instanceof UnexpectedEnd)) throw error
        keep(yield* stream.readAll())
      }
    },
  ]
  while (!isOver) {
    const way = ways[Math.floor(chance() * ways.length)] as () => Routine<void>
    const reading = spin(way)
    if (chance() < 0.4) {
      yield* sleep(Math.floor(chance() * 4))
      if (chance() < 0.5) yield* reading.stop()
      else yield* reading.kill()
    }
    yield* reading.join()
  }
  return Buffer.concat(parts)
}

describe('at random', () => {
  for (let seed = 1; seed <= 25; seed++) {
    it(`S71 S72 every message arrives whole, once and in order, however all are cut (seed ${seed})`, (t) =>
      virtual(function* () {
        const chance = random(seed * 7919)
        const [a, b] = pair()
        const sent = [0, 1].map(() => [0, 1, 2].map(() => new Set<number>()))
        const [there, back] = yield* Fiber.await(
          spin('listener b', () => listenTo(b, chance)),
          spin('listener a', () => listenTo(a, chance)),
          spin('talker a', () => talk(a, chance, sent[0] as Set<number>[])),
          spin('talker b', () => talk(b, chance, sent[1] as Set<number>[])),
        )
        const counts = [there, back].map((bytes, way) => checkMessages(bytes, sent[way] as Set<number>[]))
        assert.ok(Math.min(...counts) > 20, `${counts}`)
        assert.deepEqual([a.isClosed, b.isClosed], [true, true])
        assertIdle(a, b)
        if (seed === 1) t.diagnostic(`${counts} messages`)
      }))
  }
})
