// What a stream keeps until it is taken: no byte is lost or doubled, however lines and bytes are mixed, and long waits
// stay cheap.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Intake } from '#io/intake'
import { random } from '../prelude.js'

/** Bytes as they may come: text, ends of lines of both kinds, and what is no UTF-8. */
function pieces(next: () => number): Buffer {
  const kinds = ['a line\n', 'x', '\r\n', '\n', 'caf\xe9', '\u{1f600}', '\r', 'y'.repeat(3000)]
  const parts = Array.from({ length: 1 + Math.floor(next() * 60) }, () => {
    if (next() < 0.05) return Buffer.from([0xff, 0xc3])
    return Buffer.from(kinds[Math.floor(next() * (kinds.length - (next() < 0.9 ? 1 : 0)))] as string)
  })
  return Buffer.concat(parts)
}

describe('the intake', () => {
  for (let seed = 1; seed <= 40; seed++) {
    it(`gives every byte once, in whatever way it is asked (seed ${seed})`, () => {
      const next = random(seed)
      const upTo = (n: number) => Math.floor(next() * n)
      const intake = new Intake()
      const kept: [Buffer, string][] = []
      intake.recycle = (chunk) => chunk.fill(0) // whoever still needs it would see
      let all = Buffer.alloc(0)
      let taken = 0
      const rest = () => all.subarray(taken)
      for (let i = 0; i < 600; i++) {
        const what = upTo(9)
        if (what < 2) {
          let more = pieces(next)
          all = Buffer.concat([all, more])
          for (; more.length > 0; ) {
            const cut = 1 + upTo(next() < 0.5 ? 10 : 20_000)
            intake.push(Buffer.from(more.subarray(0, cut)))
            more = more.subarray(cut)
          }
        } else if (what < 6) {
          const limit = what === 2 ? 1 + upTo(20) : Infinity
          const end = rest().indexOf(10)
          const line = end < 0 || end > limit ? undefined : String(rest().subarray(0, end))
          assert.equal(intake.line(limit), line?.replace(/\r$/, ''))
          if (line !== undefined) taken += end + 1
        } else if (what === 6) {
          const delimiter = Buffer.from(['\n', '\r\n', '\xe9', 'line\nx', 'yx'][upTo(5)] as string)
          const at = rest().indexOf(delimiter)
          assert.equal(intake.find(delimiter), at < 0 ? -1 : at + delimiter.length)
        } else if (what === 7) {
          const count = upTo(Math.min(50, rest().length + 1))
          const bytes = intake.bytes(count)
          assert.deepEqual(bytes, Buffer.from(rest().subarray(0, count)))
          kept.push([bytes, bytes.toString('hex')])
          taken += count
        } else {
          const bytes = intake.chunk(1 + upTo(5000))
          assert.equal(bytes === undefined, rest().length === 0)
          if (bytes !== undefined) {
            assert.deepEqual(bytes, Buffer.from(rest().subarray(0, bytes.length)))
            kept.push([bytes, bytes.toString('hex')])
            taken += bytes.length
          }
        }
        assert.equal(intake.size, rest().length)
      }
      assert.equal(intake.lastLine(), rest().length === 0 ? undefined : String(rest()))
      assert.equal(intake.size, 0)
      for (const [bytes, then] of kept) assert.equal(bytes.toString('hex'), then)
    })
  }

  it('gives memory back that was used up, and only if nobody has a view of it', () => {
    const intake = new Intake()
    const back: string[] = []
    intake.recycle = (chunk) => back.push(String(chunk))
    for (const text of ['a\nb\n', 'c\nd', 'e\n', 'f\n', 'g\n']) intake.push(Buffer.from(text))
    const lines = [1, 2, 3, 4].map(() => intake.line())
    assert.deepEqual([lines, intake.size], [['a', 'b', 'c', 'de'], 4])
    assert.deepEqual(back, ['a\nb\n', 'd', 'e\n'])
    assert.equal(String(intake.chunk(1)), 'f')
    assert.deepEqual([intake.line(), intake.line()], ['', 'g'])
    assert.equal(intake.size, 0)
    assert.deepEqual(back, ['a\nb\n', 'd', 'e\n', 'g\n'])
  })

  it('a delimiter that does not come is not looked for again in what was searched', () => {
    // So many bytes, one by one: looking at all of them each time would take minutes.
    const intake = new Intake()
    const delimiter = Buffer.from('\r\n\r\n')
    for (let i = 0; i < 300_000; i++) {
      intake.push(Buffer.from('\r'))
      assert.equal(intake.find(delimiter), -1)
    }
    intake.push(Buffer.from('\n\r'))
    assert.equal(intake.find(delimiter), -1)
    intake.push(Buffer.from('\nbody'))
    assert.equal(intake.find(delimiter), 300_003)
    assert.equal(intake.bytes(300_003).length, 300_003)
    assert.equal(String(intake.chunk()), 'body')
  })

  it('a line of a million chunks of one byte is one line, and takes no more than its bytes', () => {
    const intake = new Intake()
    for (let i = 0; i < 1_000_000; i++) {
      intake.push(Buffer.from('x'))
      assert.equal(intake.line(), undefined)
    }
    assert.ok((intake as unknown as { chunks: unknown[] }).chunks.length < 3000)
    intake.push(Buffer.from('\n'))
    assert.equal(intake.line()?.length, 1_000_000)
  })

  it('many chunks are taken one by one without moving the others each time', () => {
    const intake = new Intake()
    for (let i = 0; i < 50_000; i++) intake.push(Buffer.alloc(1024, 'x'))
    let count = 0
    for (let chunk: Buffer | undefined; (chunk = intake.chunk()) !== undefined; ) count += chunk.length
    assert.equal(count, 50_000 * 1024)
  })
})
