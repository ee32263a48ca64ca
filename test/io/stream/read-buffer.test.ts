// What a stream keeps until it is taken, from inside: what a slow or strange sender costs cannot be seen in what is read.

import { ReadBuffer } from '#io/stream/read-buffer'
import { assert, describe, random, test } from '../../prelude.js'

test('memory that was used up is given back, unless a view of it was given away', () => {
  const back: string[] = []
  const buffer = new ReadBuffer((chunk) => back.push(String(chunk)))
  for (const text of ['a\nb\n', 'c\nd', 'e\n', 'f\n', 'g\n']) buffer.push(Buffer.from(text))
  const lines = [1, 2, 3, 4].map(() => buffer.line())
  assert.deepEqual([lines, buffer.size], [['a', 'b', 'c', 'de'], 4])
  assert.deepEqual(back, ['a\nb\n', 'd', 'e\n'])
  assert.equal(String(buffer.chunk(1)), 'f')
  assert.deepEqual([buffer.line(), buffer.line(), buffer.size], ['', 'g', 0])
  assert.deepEqual(back, ['a\nb\n', 'd', 'e\n', 'g\n'])
})

test('a delimiter is not looked for again where it was not: 300,000 bytes, one by one', () => {
  const buffer = new ReadBuffer()
  const delimiter = Buffer.from('\r\n\r\n')
  for (let i = 0; i < 300_000; i++) {
    buffer.push(Buffer.from('\r'))
    assert.equal(buffer.find(delimiter), -1)
  }
  buffer.push(Buffer.from('\n\r'))
  assert.equal(buffer.find(delimiter), -1)
  buffer.push(Buffer.from('\nbody'))
  assert.equal(buffer.find(delimiter), 300_003)
  assert.equal(buffer.bytes(300_003).length, 300_003)
  assert.equal(String(buffer.chunk()), 'body')
})

test('a line that comes in 300,000 chunks of one byte is one line, and takes little more than its bytes', () => {
  const buffer = new ReadBuffer()
  for (let i = 0; i < 300_000; i++) {
    buffer.push(Buffer.from('x'))
    assert.equal(buffer.line(), undefined)
  }
  assert.ok((buffer as unknown as { chunks: unknown[] }).chunks.length < 3000)
  buffer.push(Buffer.from('\n'))
  assert.equal(buffer.line()?.length, 300_000)
})

describe('against a model that keeps all bytes in one piece', () => {
  const DELIMITERS = ['\n', '\r\n', 'ab', '\r\n\r\n', 'é', 'aaa'].map((text) => Buffer.from(text))
  const PIECES = ['a', 'b', 'aa', '\n', '\r\n', '\r', 'é', '日本', '\u{1f600}', '-'.repeat(50)].map((text) =>
    Buffer.from(text),
  )

  /** Bytes of any length, which end anywhere, also within a character. */
  function bytesOf(chance: () => number): Buffer {
    const length = chance() < 0.03 ? 5000 + Math.floor(chance() * 5000) : 1 + Math.floor(chance() ** 3 * 40)
    const lineless = chance() < 0.3
    const parts: Buffer[] = []
    for (let size = 0; size < length; ) {
      const piece = PIECES[Math.floor(chance() * PIECES.length)] as Buffer
      if (lineless && piece.includes(10)) continue
      parts.push(piece)
      size += piece.length
    }
    const from = Math.floor(chance() * 2)
    const bytes = Buffer.concat(parts).subarray(0, length)
    return Buffer.from(bytes.length > from ? bytes.subarray(from) : bytes) // of its own, at any place in memory
  }

  const lineOf = (bytes: Buffer) => {
    const end = bytes.at(-1) === 13 ? bytes.length - 1 : bytes.length
    return bytes.toString('utf8', 0, end)
  }

  for (let seed = 1; seed <= 12; seed++) {
    test(`5,000 steps of every kind give what the model gives (seed ${seed})`, () => {
      const chance = random(seed * 7919)
      const buffer = new ReadBuffer(seed % 2 === 0 ? (chunk) => void chunk.fill('!') : null) // it is used again
      const given: [view: Buffer, content: Buffer][] = []
      let model = Buffer.alloc(0)
      const took = (bytes: Buffer) => {
        assert.ok(model.subarray(0, bytes.length).equals(bytes))
        given.push([bytes, Buffer.from(bytes)])
        model = model.subarray(bytes.length)
      }
      /** The model's next line, and how many bytes it takes; undefined if none is whole. */
      const nextLine = (): [string, number] | undefined => {
        const end = model.indexOf(10)
        return end < 0 ? undefined : [lineOf(model.subarray(0, end)), end + 1]
      }
      const expectLine = (line: string | undefined, expected: [string, number] | undefined) => {
        assert.equal(line, expected?.[0])
        if (expected !== undefined) model = model.subarray(expected[1])
      }
      const greed = 0.5 + 0.5 * chance() // with little, small chunks pile up
      const steps: (() => void)[] = [
        () => {
          const bytes = bytesOf(chance)
          model = Buffer.concat([model, bytes])
          buffer.push(bytes)
        },
        () => {
          const bytes = chance() < 0.5 && model.length > 0 ? Buffer.from(buffer.chunk(7) as Buffer) : null
          if (bytes !== null) took(bytes)
          const back = bytes ?? bytesOf(chance)
          model = Buffer.concat([back, model])
          buffer.unshift(back)
        },
        () => expectLine(buffer.line(), nextLine()),
        () => {
          const limit = Math.floor(chance() * 80)
          const expected = nextLine()
          const isShort = expected !== undefined && expected[1] - 1 <= limit
          expectLine(buffer.line(limit), isShort ? expected : undefined)
        },
        () => {
          const line = buffer.readyLine()
          if (line !== undefined) expectLine(line, nextLine())
        },
        () => {
          const delimiter = DELIMITERS[Math.floor(chance() * DELIMITERS.length)] as Buffer
          const at = model.indexOf(delimiter)
          assert.equal(buffer.find(delimiter), at < 0 ? -1 : at + delimiter.length)
          if (at >= 0 && chance() < 0.7) took(buffer.bytes(at + delimiter.length))
        },
        () => {
          const max = chance() < 0.3 ? Infinity : 1 + Math.floor(chance() * 30)
          const bytes = buffer.chunk(max)
          if (bytes === undefined) return assert.equal(model.length, 0)
          assert.ok(bytes.length > 0 && bytes.length <= max)
          took(bytes)
        },
        () => {
          const count = Math.floor(chance() * (model.length + 1))
          const bytes = buffer.bytes(count)
          assert.equal(bytes.length, count)
          took(bytes)
        },
        () => assert.equal(buffer.size, model.length),
        () => {
          if (chance() < 0.8) return
          assert.equal(buffer.lastLine(), model.length === 0 ? undefined : model.toString('utf8'))
          model = Buffer.alloc(0)
        },
        () => {
          if (chance() < 0.8) return
          assert.equal(buffer.clear(), model.length)
          model = Buffer.alloc(0)
        },
      ]
      for (let i = 0; i < 5000; i++) {
        const isPush = chance() > greed || chance() < 0.3
        ;(steps[isPush ? 0 : Math.floor(chance() * steps.length)] as () => void)()
      }
      assert.equal(buffer.size, model.length)
      took(buffer.bytes(model.length))
      for (const [view, content] of given)
        assert.ok(view.equals(content), 'memory that was given away changed')
    })
  }
})
