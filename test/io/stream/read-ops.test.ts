// The waits of reading: lines, any mixture of ways to ask, waits that take long, and what a wait says of itself.

import { constants } from 'node:buffer'
import { LimitExceeded, pair, pipe, type Stream } from 'polyphony/io'
import {
  assert,
  BadYield,
  describe,
  Fiber,
  moveOnAfter,
  type Op,
  random,
  sleep,
  spin,
  test,
  thrownBy,
} from '../../prelude.js'
import { scripted, waitingFor } from '../scripted.js'

/** A stream that has received exactly these chunks, and their end. */
function received(...chunks: (string | Buffer)[]): Stream {
  const { stream, receiver } = scripted()
  for (const chunk of chunks) receiver.received(Buffer.from(chunk as string), true)
  receiver.ended()
  return stream
}

const inBytes = (text: string) => [...Buffer.from(text)].map((byte) => Buffer.of(byte))
const numbers = Array.from({ length: 1500 }, (_, i) => `${i},`)

const lines: [what: string, chunks: (string | Buffer)[], expected: string[]][] = [
  ['end with \\n or \\r\\n, which are not part of them', ['a\nb\r\nc\n'], ['a', 'b', 'c']],
  ['may be empty, and the last may lack its end', ['\n\r\na\n\nb'], ['', '', 'a', '', 'b']],
  ['are none where there is no input', [], []],
  ['keep a \\r that is not before a \\n', ['a\rb\nc\r'], ['a\rb', 'c\r']],
  ['may come in pieces', ['on', 'e', '\ntw', 'o\nthr', 'ee\nfour'], ['one', 'two', 'three', 'four']],
  ['may be cut between \\r and \\n', ['a\r', '\nb\r', '\n'], ['a', 'b']],
  ['hold characters that were cut in two', inBytes('x\ncafé y'), ['x', 'café y']],
  [
    'may have many chunks',
    ['short\n', ...numbers, 'end\nafter'],
    ['short', `${numbers.join('')}end`, 'after'],
  ],
  [
    'may hold wide characters anywhere',
    ['plain\ncafé\r\nplain\n🎼 é\nx'],
    ['plain', 'café', 'plain', '🎼 é', 'x'],
  ],
]
for (const [what, chunks, expected] of lines) {
  test(`lines ${what}`, function* () {
    const stream = received(...chunks)
    const found: (string | undefined)[] = []
    for (let n = 0; n <= expected.length; n++) found.push(yield* stream.gets())
    assert.deepEqual(found, [...expected, undefined])
  })
}

/** Text as it may come: ends of lines of both kinds, wide characters, and what is no UTF-8. */
function piece(next: () => number): Buffer {
  const kinds = ['a line\n', 'x', '\r\n', '\n', 'café', '😀', '\r', 'y'.repeat(3000)]
  const parts = Array.from({ length: 1 + Math.floor(next() * 60) }, () => {
    if (next() < 0.05) return Buffer.from([0xff, 0xc3])
    return Buffer.from(kinds[Math.floor(next() * (kinds.length - (next() < 0.9 ? 1 : 0)))] as string)
  })
  return Buffer.concat(parts)
}

for (let seed = 1; seed <= 12; seed++) {
  test(`every byte comes once and in order, in whatever way it is asked for (seed ${seed})`, function* () {
    const next = random(seed)
    const upTo = (n: number) => Math.floor(next() * n)
    const { stream, receiver } = scripted()
    const kept: [Buffer, string][] = []
    const delimiters = ['\n', '\r\n', 'é', 'line\nx', 'yx']
    const untils = delimiters.map((delimiter) => stream.readUntil(delimiter, { limit: Infinity }))
    let all = Buffer.alloc(0)
    let taken = 0
    const rest = () => all.subarray(taken)
    /** What a wait gives, or the class of its error, or 'waits'. */
    function* asked(wait: () => Op<unknown>) {
      try {
        return yield* moveOnAfter(1, wait, 'waits')
      } catch (error) {
        return error instanceof LimitExceeded ? 'limit' : `${error}`
      }
    }
    /** Bytes that came are the next ones, and stay as they are. */
    const take = (bytes: unknown, count: number) => {
      assert.deepEqual(bytes, Buffer.from(rest().subarray(0, count)))
      kept.push([bytes as Buffer, (bytes as Buffer).toString('hex')])
      taken += count
    }
    for (let i = 0; i < 300; i++) {
      const what = upTo(9)
      if (what < 2) {
        for (let more = piece(next), cut: number; more.length > 0; more = more.subarray(cut)) {
          cut = 1 + upTo(next() < 0.5 ? 10 : 20_000)
          const part = Buffer.from(more.subarray(0, cut))
          all = Buffer.concat([all, part])
          const isOwned = next() < 0.5
          receiver.received(part, isOwned)
          if (!isOwned) part.fill(0)
        }
      } else if (what < 6) {
        const limit = what === 2 ? 1 + upTo(20) : Infinity
        const end = rest().indexOf(10)
        const isTooLong = (end < 0 ? rest().length : end) > limit
        const line = `${rest().subarray(0, end)}`.replace(/\r$/, '')
        const expected = isTooLong ? 'limit' : end < 0 ? 'waits' : line
        assert.equal(yield* asked(() => stream.gets({ limit })), expected)
        if (expected === line) taken += end + 1
      } else if (what === 6) {
        const which = next() < 0.5 ? 4 : upTo(5)
        const delimiter = delimiters[which] as string
        const at = rest().indexOf(delimiter)
        const found = yield* asked(() => untils[which] as Op<unknown>)
        if (at < 0) assert.equal(found, 'waits')
        else take(found, at + Buffer.byteLength(delimiter))
      } else if (what === 7) {
        const count = upTo(Math.min(50, rest().length + 1))
        take(yield* stream.readExactly(count), count)
      } else {
        const bytes = yield* asked(() => stream.read(1 + upTo(5000)))
        if (rest().length === 0) assert.equal(bytes, 'waits')
        else take(bytes, (bytes as Buffer).length)
      }
      assert.equal(stream.stats().unread, rest().length)
    }
    receiver.ended()
    take(yield* stream.readAll(), rest().length)
    for (const [bytes, then] of kept) assert.equal(bytes.toString('hex'), then)
  })
}

describe('long waits', () => {
  // So many bytes, one by one: to look at all of them each time would take minutes.
  for (const [what, wait, end, size] of [
    ['a delimiter', (stream: Stream) => stream.readUntil('\r\n\r\n'), '\n\r\n', 60_003],
    ['an end of line', (stream: Stream) => stream.gets(), 'x\n', 60_001],
  ] as const) {
    test(`${what} that does not come is not looked for again in what was searched`, function* () {
      const { stream, receiver } = scripted()
      const reader = yield* waitingFor<{ length: number } | undefined>(() => wait(stream))
      const byte = Buffer.from('\r')
      for (let n = 0; n < 60_000; n++) receiver.received(byte, true)
      receiver.received(Buffer.from(`${end}body`), true)
      assert.equal((yield* reader)?.length, size)
      assert.equal(`${yield* stream.read()}`, 'body')
    })
  }

  test('S69 a line that cannot be made fails the wait that it would have gone to, which can be begun again', function* () {
    const { stream, receiver } = scripted()
    const isTooLong = (text: string) =>
      Object.assign(Buffer.from(text), { toString: () => assert.fail('too long') })
    const gets = stream.gets({ limit: 10 })
    receiver.received(isTooLong('first\n'), true)
    receiver.received(Buffer.from('second\n'), true)
    assert.equal((yield* thrownBy(gets)).message, 'too long')
    assert.equal(yield* gets, 'second')
    const [third, fourth] = [yield* waitingFor(() => gets), yield* waitingFor(() => gets)]
    receiver.received(isTooLong('third\n'), true)
    receiver.received(Buffer.from('fourth\n'), true)
    assert.equal((yield* thrownBy(third)).message, 'too long')
    assert.equal(yield* fourth, 'fourth')
    receiver.received(Buffer.alloc(constants.MAX_STRING_LENGTH + 1), true) // only read, so it costs no memory
    receiver.ended()
    assert.equal((yield* thrownBy(stream.gets({ limit: Infinity }))).code, 'ERR_STRING_TOO_LONG')
    assert.equal(yield* gets, undefined)
  })
})

test('a delimiter does not begin in bytes that were taken', function* () {
  const { stream, receiver } = scripted()
  receiver.received(Buffer.from('a--'), true)
  assert.equal(`${yield* stream.readExactly(2)}`, 'a-')
  const reader = yield* waitingFor(() => stream.readUntil('---'))
  receiver.received(Buffer.from('-b---'), true)
  assert.equal(`${yield* reader}`, '--b---')
})

describe('a wait', () => {
  test('says what it waits for', function* () {
    const stream = pipe()
    const { stream: full } = scripted({ does: { write: () => false } })
    const waits: [() => Op<unknown>, string][] = [
      [() => stream.read(), 'pipe.read()'],
      [() => stream.read(5), 'pipe.read(5)'],
      [() => stream.readExactly(4), 'pipe.readExactly(4)'],
      [() => stream.readUntil('\r\n'), 'pipe.readUntil("\\r\\n")'],
      [() => stream.gets(), 'pipe.gets()'],
      [() => stream.readAll(), 'pipe.readAll()'],
      [() => stream.readLoop(() => {}), 'pipe.readLoop()'],
      [() => stream.lines().next(), 'pipe.gets()'],
      [() => full.write('x'), 'script.write()'],
      [() => full.end(), 'script.end()'],
      [() => full.close(), 'script.close()'],
    ]
    for (const [wait, name] of waits) {
      const fiber = yield* waitingFor(wait)
      assert.equal(fiber.waitsFor, name)
      yield* fiber.stop()
    }
  })

  test('may be begun again, and by several fibers at once', function* () {
    const stream = pipe()
    const [exactly, write] = [stream.readExactly(2), stream.write('ab')]
    const readers = [spin(() => exactly), spin(() => exactly)]
    yield* sleep(1)
    yield* write
    yield* write
    assert.deepEqual((yield* Fiber.await(...readers)).map(String), ['ab', 'ab'])
  })

  test('S69 that is iterated by hand is a named error, and costs no byte', function* () {
    const stream = pipe()
    assert.throws(() => [...(stream.gets() as any)], BadYield)
    assert.equal(stream.stats().readers, 0)
    yield* stream.write('line\n')
    assert.equal(yield* stream.gets(), 'line')
  })

  for (const [what, isIdle, expected] of [
    ['for new input is refused in a cleanup, also to a loop that swallows its stop', true, 3],
    ['for an answer is not refused in a cleanup', false, 1],
  ] as const) {
    test(`S17 ${what}`, function* () {
      for (const word of ['gets', 'read'] as const) {
        const { stream, receiver } = scripted({ isIdle })
        let caught = 0
        const deaf = yield* waitingFor(function* () {
          for (;;) {
            try {
              yield* stream[word]()
              return
            } catch {
              caught++
            }
          }
        })
        deaf.stop()
        yield* sleep(1)
        receiver.received(Buffer.from('answer\n'), true)
        yield* deaf.join()
        assert.deepEqual([deaf.state, caught], ['dead', expected])
      }
    })
  }
})

describe('readInto', () => {
  test('fills memory of the caller with what has come, as it comes, and gives 0 at the end', function* () {
    const [a, b] = pair()
    const target = new Uint8Array(6)
    yield* a.write('twelve bytes')
    assert.equal(yield* b.readInto(target), 6)
    assert.equal(Buffer.from(target).toString(), 'twelve')
    assert.equal(yield* b.readInto(target.subarray(1, 3)), 2)
    assert.equal(Buffer.from(target).toString(), 't blve')
    assert.equal(yield* b.readInto(target), 4)
    const waiting = spin(() => b.readInto(target))
    yield* sleep(1)
    yield* a.end('x')
    assert.deepEqual([yield* waiting, target[0]], [1, 'x'.charCodeAt(0)])
    assert.equal(yield* b.readInto(target), 0)
  })

  test('takes its place in line; stopped, it takes nothing', function* () {
    const [a, b] = pair()
    const [one, two] = [new Uint8Array(2), new Uint8Array(9)]
    const first = spin(() => b.readInto(one))
    const second = spin(() => b.readInto(two))
    const third = spin(() => b.read())
    yield* sleep(1)
    yield* second.stop()
    yield* a.write('abcd')
    assert.deepEqual([yield* first, `${yield* third}`, two[0]], [2, 'cd', 0])
  })

  test('needs bytes that are not empty', () => {
    for (const wrong of [undefined, 'text', [], new Uint8Array(0), new Uint16Array(2)]) {
      assert.throws(() => pipe().readInto(wrong as never), {
        code: 'BAD_ARGUMENT',
        message: /^pipe\.readInto\(\) needs bytes/,
      })
    }
  })
})

test('copies that are kept stay as they are, whatever comes later, small, large or in between', function* () {
  const [a, b] = pair()
  const sizes = [1, 100, 4095, 4096, 16_384, 65_536, 65_537, 200_000]
  const kept: Buffer[] = []
  for (let i = 0; i < 40; i++) {
    const sent = Buffer.alloc(sizes[i % sizes.length] as number, i)
    spin(() => a.write(sent))
    kept.push(yield* b.readExactly(sent.length))
  }
  for (const [i, bytes] of kept.entries()) assert.ok(bytes.every((byte) => byte === i))
})
