// Copying from here to there: how much, how fast, and what a stop leaves behind.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BadArgument, ensure, type Routine, sleep, snooze, spin } from 'polyphony'
import { type ByteSource, copy, pair, pipe, StreamClosed } from 'polyphony/io'
import { raiseEverywhere, stopEverywhere, virtual } from 'polyphony/testing'
import { thrownBy } from '../prelude.js'

describe('I6 copy', () => {
  const sources: [string, () => ByteSource][] = [
    ['a string', () => 'caf\xe9 au lait'],
    ['bytes', () => Buffer.from('caf\xe9 au lait')],
    ['a view of bytes', () => Buffer.from('xxcaf\xe9 au laitxx').subarray(2, -2)],
    [
      'a stream',
      () => {
        const stream = pipe()
        spin(() => stream.end('caf\xe9', ' au ', 'lait'))
        return stream
      },
    ],
  ]
  for (const [what, make] of sources) {
    it(`copies ${what}, and tells how many bytes; the target stays open`, () =>
      virtual(function* () {
        const target = pipe()
        assert.equal(yield* copy(make(), target), 13)
        yield* target.end('!')
        assert.equal(`${yield* target.readAll()}`, 'caf\xe9 au lait!')
      }))

    it(`copies so many bytes of ${what} and no more, in chunks as small as one likes`, () =>
      virtual(function* () {
        const target = pipe()
        assert.equal(yield* copy(make(), target, { max: 8, chunk: 3, end: true }), 8)
        assert.equal(`${yield* target.readAll()}`, 'caf\xe9 au')
      }))
  }

  it('leaves what it did not copy, and the source open', () =>
    virtual(function* () {
      const [source, target] = [pipe(), pipe()]
      yield* source.write('headbody')
      assert.equal(yield* copy(source, target, { max: 4 }), 4)
      assert.equal(yield* copy(source, target, { max: 0 }), 0)
      assert.equal(`${yield* source.read()}`, 'body')
      assert.equal(source.isClosed, false)
    }))

  it('a source that ends early gives what there was', () =>
    virtual(function* () {
      const target = pipe()
      assert.equal(yield* copy('abc', target, { max: 10 }), 3)
      assert.equal(yield* copy('', target, { end: true }), 0)
      assert.equal(`${yield* target.readAll()}`, 'abc')
    }))

  it('takes no more than the other side takes', () =>
    virtual(function* () {
      const [source, target] = [pipe(), pipe()]
      const filling = spin(function* () {
        for (let i = 0; i < 100; i++) yield* source.write(Buffer.alloc(16_384))
        yield* source.end()
      })
      const copying = spin(() => copy(source, target)) // nobody reads
      yield* sleep(1000)
      assert.equal(copying.waitsFor, 'pipe.write()')
      assert.equal(filling.waitsFor, 'pipe.write()')
      assert.ok(source.stats().written < 400_000, `${source.stats().written}`)
      const reading = spin(() => target.readLoop(() => {}))
      assert.equal(yield* copying, 1_638_400)
      yield* reading.stop()
    }))

  it('large things arrive whole', () =>
    virtual(function* () {
      const [source, target] = [pipe(), pipe()]
      const data = Buffer.from(Uint32Array.from({ length: 250_000 }, (_, i) => i * 7).buffer)
      spin(() => source.end(data))
      const reading = spin(() => target.readAll())
      assert.equal(yield* copy(source, target, { end: true }), 1_000_000)
      assert.deepEqual(yield* reading, data)
    }))

  it('a stream can be copied to itself: an echo', () =>
    virtual(function* () {
      const [client, server] = pair()
      const echo = spin(() => copy(server, server, { end: true }))
      yield* client.end('echo')
      assert.equal(`${yield* client.readAll()}`, 'echo')
      assert.equal(yield* echo, 4)
    }))

  it('one op can be waited for again', () =>
    virtual(function* () {
      const target = pipe()
      const op = copy('ab', target)
      assert.equal((yield* op) + (yield* op), 4)
      assert.equal(`${yield* target.readExactly(4)}`, 'abab')
    }))

  it('trouble at every switchpoint: what arrived is the beginning of what was sent', (t) => {
    let received = ''
    const scenario = function* (): Routine<void> {
      received = ''
      const [here, there] = pair()
      const [source, target] = [pipe('source'), here]
      const words = function* () {
        for (const word of ['one ', 'two ', 'three ']) {
          yield* source.write(word)
          yield* snooze()
        }
      }
      spin({ link: false }, () => ensure(words, () => source.end()))
      spin({ link: false }, () => there.readLoop((chunk) => void (received += chunk)))
      yield* ensure(
        () => copy(source, target, { chunk: 3 }),
        () => target.close(),
      )
      yield* snooze()
    }
    const check = () => assert.ok('one two three '.startsWith(received), received)
    const { runs } = stopEverywhere(scenario, { check })
    t.diagnostic(`${runs + raiseEverywhere(scenario, { check }).runs} runs`)
  })

  it('errors of either side come out as they are', () =>
    virtual(function* () {
      const target = pipe()
      yield* target.close()
      assert.ok((yield* thrownBy(copy('x', target))) instanceof StreamClosed)
      const [here, there] = pair()
      const copying = spin({ link: false }, () => copy(there, pipe()))
      yield* snooze()
      here.destroy()
      assert.equal((yield* thrownBy(copying)).code, 'ECONNRESET')
    }))

  it('what cannot be copied is refused at the call', () => {
    const target = pipe()
    const refused: [() => unknown, RegExp][] = [
      [() => copy(5 as any, target), /^copy\(\) needs a stream to read from, a string or bytes, got 5/],
      [() => copy('x', undefined as any), /^copy\(\) needs a stream to write to, got undefined/],
      [() => copy('x', [] as any), /got an array of 0/],
      [() => copy('x', target, { max: -1 }), /^max of copy\(\) needs a whole number, 0 or more, got -1/],
      [() => copy('x', target, { chunk: 0 }), /^chunk of copy\(\) needs a whole number, 1 or more/],
      [() => copy('x', target, { end: 1 as any }), /^end of copy\(\) is true or false/],
      [() => copy('x', target, { limit: 1 } as any), /no option "limit"; there are: max, chunk, end/],
    ]
    for (const [call, message] of refused) {
      assert.throws(call, (error: Error) => error instanceof BadArgument && message.test(error.message))
    }
  })
})
