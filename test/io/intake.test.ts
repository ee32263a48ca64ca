// What a stream keeps until it is taken, from inside: what a slow or strange sender costs cannot be seen in what is read.

import { Intake } from '#io/intake'
import { assert, test } from '../prelude.js'

test('memory that was used up is given back, unless a view of it was given away', () => {
  const intake = new Intake()
  const back: string[] = []
  intake.recycle = (chunk) => back.push(String(chunk))
  for (const text of ['a\nb\n', 'c\nd', 'e\n', 'f\n', 'g\n']) intake.push(Buffer.from(text))
  const lines = [1, 2, 3, 4].map(() => intake.line())
  assert.deepEqual([lines, intake.size], [['a', 'b', 'c', 'de'], 4])
  assert.deepEqual(back, ['a\nb\n', 'd', 'e\n'])
  assert.equal(String(intake.chunk(1)), 'f')
  assert.deepEqual([intake.line(), intake.line(), intake.size], ['', 'g', 0])
  assert.deepEqual(back, ['a\nb\n', 'd', 'e\n', 'g\n'])
})

test('a delimiter is not looked for again where it was not: 300,000 bytes, one by one', () => {
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

test('a line that comes in 300,000 chunks of one byte is one line, and takes little more than its bytes', () => {
  const intake = new Intake()
  for (let i = 0; i < 300_000; i++) {
    intake.push(Buffer.from('x'))
    assert.equal(intake.line(), undefined)
  }
  assert.ok((intake as unknown as { chunks: unknown[] }).chunks.length < 3000)
  intake.push(Buffer.from('\n'))
  assert.equal(intake.line()?.length, 300_000)
})
