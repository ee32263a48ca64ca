// Copying from here to there: how much, how fast, and what it leaves.

import { type ByteSource, copy, pair, pipe, proxy, type Stream, StreamClosed } from 'polyphony/io'
import { assert, describe, type Routine, sleep, spin, test, thrownBy } from '../../prelude.js'
import { pattern } from '../../shared/stream.js'
import { waitingFor } from '../scripted.js'

function ended(...chunks: string[]): Stream {
  const stream = pipe()
  spin(() => stream.end(...chunks))
  return stream
}

const sources: Record<string, () => ByteSource> = {
  'a string': () => 'café au lait',
  'a view of bytes': () => Buffer.from('xxcafé au laitxx').subarray(2, -2),
  'a stream': () => ended('café', ' au ', 'lait'),
}
for (const [what, make] of Object.entries(sources)) {
  test(`copies all of ${what}, or no more than max, and tells how many bytes; the target stays open`, function* () {
    const target = pipe()
    assert.equal(yield* copy(make(), target), 13)
    assert.equal(yield* copy(make(), target, { max: 8, chunk: 3 }), 8)
    assert.equal(yield* copy(make(), target, { max: 20, chunk: 5, end: true }), 13)
    assert.equal(`${yield* target.readAll()}`, 'café au laitcafé aucafé au lait')
  })
}

test('what was not copied is left, and the source open', function* () {
  const [source, target] = [pipe(), pipe()]
  yield* source.write('headbody')
  assert.equal(yield* copy(source, target, { max: 4 }), 4)
  assert.equal(yield* copy(source, target, { max: 0 }), 0)
  assert.deepEqual([`${yield* source.read()}`, source.isClosed], ['body', false])
})

test('a chunk is as long as asked for at the most, 64 KiB unless told otherwise', function* () {
  for (const [options, most] of [
    [{ chunk: 10_000 }, 10_000],
    [{}, 65_536],
    [{ max: 150_000 }, 65_536],
  ] as const) {
    for (const source of [pattern(150_000), pipe()]) {
      const [target, far] = pair()
      const filling = source instanceof Buffer ? null : spin(() => (source as Stream).end(pattern(150_000)))
      const copying = spin(() => copy(source, target, { ...options, end: true }))
      const sizes: number[] = []
      yield* far.readLoop((chunk) => void sizes.push(chunk.length))
      assert.equal(Math.max(...sizes), most)
      assert.equal(yield* copying, 150_000)
      if (filling) yield* filling
    }
  }
})

test('takes no more than the other side takes; large things arrive whole', function* () {
  const [source, target] = [pipe(), pipe()]
  const data = pattern(1_600_000)
  const filling = spin(function* (): Routine<void> {
    for (let at = 0; at < data.length; at += 16_000) yield* source.write(data.subarray(at, at + 16_000))
    yield* source.end()
  })
  const copying = spin(() => copy(source, target, { end: true })) // nobody reads
  yield* sleep(1000)
  assert.deepEqual([copying.waitsFor, filling.waitsFor], ['pipe.write()', 'pipe.write()'])
  assert.ok(source.stats().written < 400_000, `${source.stats().written}`)
  assert.ok((yield* target.readAll()).equals(data))
  assert.equal(yield* copying, data.length)
})

test('a stream can be copied to itself; an op can be waited for again', function* () {
  const [client, server] = pair()
  const echo = spin(() => copy(server, server, { end: true }))
  const op = copy('ab', client, {})
  assert.equal((yield* op) + (yield* op), 4)
  yield* client.end()
  assert.equal(`${yield* client.readAll()}`, 'abab')
  assert.equal(yield* echo, 4)
})

test('errors of either side come out as they are', function* () {
  const target = pipe()
  yield* target.close()
  assert.ok((yield* thrownBy(copy('x', target))) instanceof StreamClosed)
  const [here, there] = pair()
  const copying = yield* waitingFor(() => copy(there, pipe()))
  here.destroy()
  assert.equal((yield* thrownBy(copying)).code, 'ECONNRESET')
})

describe('proxy', () => {
  /** A proxy between two pairs, and their outer ends. */
  function* proxied() {
    const [client, front] = pair()
    const [back, service] = pair()
    const proxying = spin({ name: 'proxy', link: false }, () => proxy(front, back))
    yield* sleep(1)
    return { client, service, proxying, inner: [front, back] as const }
  }

  test('passes bytes and ends on, each direction for itself, and counts them', function* () {
    const { client, service, proxying } = yield* proxied()
    yield* client.end('a question')
    assert.equal(`${yield* service.readAll()}`, 'a question')
    for (const word of ['one ', 'two']) {
      yield* service.write(word)
      assert.equal(`${yield* client.read()}`, word)
    }
    assert.equal(proxying.state, 'waiting')
    yield* service.end()
    assert.equal(yield* client.read(), undefined)
    assert.deepEqual(yield* proxying, { there: 10, back: 7 })
  })

  test('carries no more than is taken', function* () {
    const { client, service } = yield* proxied()
    const bytes = pattern(1_000_000)
    const writer = spin(function* () {
      for (let i = 0; i < 10; i++) yield* client.write(bytes.subarray(i * 100_000, (i + 1) * 100_000))
      yield* client.end()
    })
    yield* sleep(1)
    assert.equal(writer.state, 'waiting')
    assert.ok((yield* service.readAll()).equals(bytes))
  })

  test('an error in one direction ends the other, and is thrown; the streams are left to their owners', function* () {
    const { service, proxying, inner } = yield* proxied()
    service.destroy()
    assert.match(String(yield* thrownBy(proxying)), /ECONNRESET/)
    assert.deepEqual(
      inner.map((stream) => stream.stats().readers),
      [0, 0],
    )
  })

  test('stopped, it leaves both directions', function* () {
    const { proxying, inner } = yield* proxied()
    yield* proxying.stop()
    for (const stream of inner) assert.deepEqual([stream.isClosed, stream.stats().readers], [false, 0])
  })

  test('needs two streams, in both directions', () => {
    for (const wrong of [undefined, 'text', { read() {} }]) {
      assert.throws(() => proxy(wrong as never, pipe()), { code: 'BAD_ARGUMENT' })
      assert.throws(() => proxy(pipe(), wrong as never), { code: 'BAD_ARGUMENT' })
    }
    const stream = pipe()
    assert.throws(() => proxy(stream, stream), { message: 'proxy() needs two streams, got pipe twice' })
  })
})
