// Compressing and decompressing between streams, strings and bytes: what comes out, errors, what a stop leaves behind.

import { execFileSync } from 'node:child_process'
import {
  brotliCompressSync,
  brotliDecompressSync,
  constants,
  createGzip,
  deflateSync,
  gunzipSync,
  gzipSync,
  inflateSync,
} from 'node:zlib'
import {
  brotli,
  CorruptInput,
  deflate,
  gunzip,
  gzip,
  inflate,
  LimitExceeded,
  pair,
  pipe,
  type Stream,
  UnexpectedEnd,
  unbrotli,
} from 'polyphony/io'
import {
  assert,
  describe,
  eventually,
  moveOnAfter,
  type Op,
  random,
  runtime,
  spin,
  test,
  thrownBy,
  turn,
} from '../prelude.js'
import { expiring } from '../shared/limits.js'
import { realTest, struckWaiting } from './real.js'
import { waitingFor } from './scripted.js'

const params = { [constants.BROTLI_PARAM_QUALITY]: 3 }
type Pack = (source: any, target?: any) => Op<any>
const FORMATS = [
  { verb: 'gzip', pack: gzip as Pack, unpack: gunzip, packSync: gzipSync, unpackSync: gunzipSync },
  { verb: 'deflate', pack: deflate as Pack, unpack: inflate, packSync: deflateSync, unpackSync: inflateSync },
  {
    verb: 'brotli',
    pack: ((source, ...target) => brotli(source, ...target, { quality: 3 })) as Pack,
    unpack: unbrotli,
    packSync: (data: string | Uint8Array) => brotliCompressSync(data, { params }),
    unpackSync: brotliDecompressSync,
  },
]

/** Bytes that can be made a little smaller. */
function noise(length: number): Buffer {
  const next = random(1)
  return Buffer.from(Uint8Array.from({ length }, () => Math.floor(next() * 64)))
}

/** A stream in memory that holds these bytes, which come in pieces of this size. */
function holding(bytes: Buffer, size: number): Stream {
  const stream = pipe('source')
  spin(function* () {
    for (let at = 0; at < bytes.length; at += size) yield* stream.write(bytes.subarray(at, at + size))
    yield* stream.end()
  })
  return stream
}

for (const { verb, pack, unpack, packSync, unpackSync } of FORMATS) {
  describe(`${verb} and back`, () => {
    const inputs: [string, string | Uint8Array][] = [
      ['nothing', ''],
      ['a word', 'café'],
      ['much of the same', 'a'.repeat(1_000_000)],
      ['a view of other bytes', new Uint8Array(noise(1000).buffer, 8, 500)],
    ]
    for (const [what, input] of inputs) {
      test(`${what}, from memory into memory; an op can be waited for again`, function* () {
        const op = pack(input)
        const packed: Buffer = yield* op
        assert.ok(Buffer.isBuffer(packed))
        assert.deepEqual(unpackSync(yield* op), Buffer.from(input as string))
        const back = unpack(packSync(input))
        yield* back
        assert.deepEqual(yield* back, Buffer.from(input as string))
        assert.equal(runtime().external, 0)
      })
    }

    test('from a stream to a stream, which stays open; gives the number of bytes', function* () {
      const data = noise(200_000)
      const [middle, target] = [pipe('middle'), pipe('target')]
      const packing = spin(() => pack(holding(data, 1234), middle))
      const unpacking = spin(() => unpack(middle, target))
      const reading = spin(() => target.readAll())
      const count = yield* packing
      yield* middle.end()
      assert.deepEqual([yield* unpacking, count], [data.length, middle.stats().received])
      yield* target.end('!')
      assert.deepEqual(yield* reading, Buffer.concat([data, Buffer.from('!')]))
    })

    test('input that comes byte by byte, or is cut anywhere: UnexpectedEnd names the source', function* () {
      const packed = packSync('a text that is long enough to be cut')
      assert.equal(`${yield* unpack(holding(packed, 1))}`, 'a text that is long enough to be cut')
      for (let length = 0; length < packed.length; length++) {
        const error = yield* thrownBy(unpack(packed.subarray(0, length)))
        assert.ok(error instanceof UnexpectedEnd, `${length}: ${error}`)
        const expected = new RegExp(`\\(${length} bytes?\\): the input ended too early, after ${length} b`)
        assert.match(error.message, expected)
      }
      const error = yield* thrownBy(unpack(holding(packed.subarray(0, 12), 5)))
      assert.match(error.message, /^\w+\(source\): the input ended too early, after 12 bytes$/)
    })

    test('what is something else, or follows the end, is CorruptInput', function* () {
      const error = yield* thrownBy(unpack(holding(Buffer.from('garbage, garbage, garbage'), 100)))
      assert.ok(error instanceof CorruptInput)
      assert.match(error.message, /^\w+\(source\): the input is corrupt \(.+\)$/)
      assert.ok(error.cause instanceof Error)
      const trailing = Buffer.concat([packSync('the end'), Buffer.from('and more')])
      for (const size of [1, 5, 1000]) {
        assert.ok((yield* thrownBy(unpack(holding(trailing, size)))) instanceof CorruptInput)
      }
    })

    test('input that cannot be decompressed: an error with a code that names the source, where it is asked for', function* () {
      const packed = packSync(noise(1000))
      const flipped = Buffer.from(packed)
      flipped[packed.length >> 1]! ^= 0xff
      const rows: [what: string, input: Buffer, options: object, code: string][] = [
        ['another format', Buffer.from('garbage, garbage'), {}, 'CORRUPT_INPUT'],
        ['more behind its end', Buffer.concat([packed, Buffer.from('more')]), {}, 'CORRUPT_INPUT'],
        ['cut in half', packed.subarray(0, packed.length >> 1), {}, 'UNEXPECTED_END'],
        ['nothing', Buffer.alloc(0), {}, 'UNEXPECTED_END'],
        ['a bomb', packSync(Buffer.alloc(1_000_000)), { limit: 1000 }, 'LIMIT_EXCEEDED'],
      ]
      if (verb !== 'brotli') rows.push(['damaged', flipped, {}, 'CORRUPT_INPUT']) // Brotli has no checksum
      for (const [what, input, options, code] of rows) {
        const error = yield* thrownBy(
          spin({ name: 'asking', link: false }, () => unpack(holding(input, 100), options)),
        )
        assert.equal(error.code, code, what)
        assert.match(error.message, /^\w+\(source\): /)
      }
    })

    test('a limit stops what would grow too large, long before it is all there', function* () {
      const bomb = packSync(Buffer.alloc(5_000_000))
      const target = pipe()
      const drain = spin(() => target.readLoop(() => {}))
      const error = yield* thrownBy(unpack(bomb, target, { limit: 1_000_000 }))
      assert.ok(error instanceof LimitExceeded)
      assert.match(
        error.message,
        /: more than 1000000 bytes came out\. If the input is trusted, give \w+\(\) a higher limit/,
      )
      assert.ok(target.stats().written <= 1_000_000)
      yield* drain.stop()
      const small = packSync('12345')
      assert.equal(`${yield* unpack(small, { limit: 5 })}`, '12345')
      assert.ok((yield* thrownBy(unpack(small, { limit: 4 }))) instanceof LimitExceeded)
      assert.equal(`${yield* unpack(packSync(''), { limit: 0 })}`, '')
    })

    test('nothing is taken ahead of a target that does not take it', function* () {
      const [source, full] = [pipe(), pipe()]
      const fibers = [spin(() => source.end(noise(2_000_000))), spin(() => pack(source, full))]
      yield* eventually(() => full.stats().writers > 0)
      assert.ok(source.stats().unread > 1_000_000, `${source.stats().unread}`)
      for (const fiber of fibers) yield* fiber.stop()
    })

    test('nothing is worked ahead of a target that does not take it', function* () {
      const target = pipe() // no fiber reads
      const unpacking = spin(() => unpack(packSync(Buffer.alloc(5_000_000)), target))
      yield* eventually(() => target.stats().writers > 0)
      for (let i = 0; i < 20; i++) yield* turn()
      assert.equal(unpacking.waitsFor, 'pipe.write()')
      assert.ok(target.stats().written < 1_000_000)
      yield* unpacking.stop()
    })

    test('what comes out while the target takes its time arrives too', function* () {
      const data = noise(500_000)
      const target = pipe()
      spin(function* () {
        yield* unpack(packSync(data), target)
        yield* target.end()
      })
      const got: Buffer[] = []
      for (let chunk = yield* target.read(); chunk !== undefined; chunk = yield* target.read()) {
        got.push(chunk)
        for (let i = 0; i < 20; i++) yield* turn()
      }
      assert.ok(Buffer.concat(got).equals(data))
    })

    realTest('a fiber that is stopped leaves at once, and nothing stays behind', function* () {
      const packing = yield* struckWaiting(
        () => pack(noise(2_000_000)),
        (fiber) => {
          assert.match(fiber.waitsFor ?? '', /\(2000000 bytes\)$/)
          fiber.stop()
        },
      )
      assert.equal(packing.outcome?.type, 'stopped')
      yield* expiring(moveOnAfter, () => unpack(pipe())) // waits for input that never comes
    })
  })
}

test('levels and qualities make a difference', function* () {
  const data = noise(50_000)
  for (const least of [gzip(data, { level: 0 }), deflate(data, { level: 0 })]) {
    assert.ok((yield* least).length > data.length)
  }
  assert.ok((yield* brotli(data, { quality: 0 })).length > (yield* brotli(data, { quality: 11 })).length)
})

test('a compressor that is cut is destroyed at once, and does not wait for the garbage collector', function* () {
  const zlib = (createGzip as any)().constructor.prototype
  const { _destroy } = zlib
  let destroyed = 0
  zlib._destroy = function (...args: unknown[]) {
    destroyed++
    return _destroy.apply(this, args)
  }
  const input = pipe()
  const packing = spin(() => gzip(input))
  yield* input.write('x')
  yield* eventually(() => packing.waitsFor === 'pipe.read(65536)' && input.stats().received === 1)
  assert.equal(destroyed, 0)
  yield* packing.stop()
  assert.equal(destroyed, 1)
  delete zlib._destroy // that of all of them is further up
})

realTest('an error of the source or the target comes out as it is, and nothing stays behind', function* () {
  const [here, there] = pair()
  const unpacking = yield* waitingFor(() => gunzip(there))
  yield* here.write(gzipSync(noise(1000)).subarray(0, 500))
  here.destroy()
  assert.equal((yield* thrownBy(unpacking)).code, 'ECONNRESET')
  const closed = pipe()
  yield* closed.close()
  assert.equal((yield* thrownBy(gzip('x', closed))).code, 'STREAM_CLOSED')
})

describe('the format of gzip', () => {
  test('is that of the gzip of this machine, in both directions; equal input gives equal output', function* () {
    const packed = yield* gzip('hello\n')
    assert.equal(execFileSync('gzip', ['-dc'], { input: packed, encoding: 'utf8' }), 'hello\n')
    assert.equal(`${yield* gunzip(execFileSync('gzip', ['-c'], { input: 'hello\n' }))}`, 'hello\n')
    assert.deepEqual(yield* gzip('hello\n'), packed)
  })

  test('may have a header with a name and more, which is skipped', function* () {
    const plain = gzipSync('inside')
    const head = Buffer.from(plain.subarray(0, 10))
    head[3] = 4 | 8 | 16 // extra, name, comment
    const extra = Buffer.from([3, 0, 0, 8, 0]) // three bytes, with zeros in them
    const packed = Buffer.concat([head, extra, Buffer.from('n\0c\0'), plain.subarray(10)])
    for (const size of [1, 7, 12, 1000]) {
      assert.equal(`${yield* gunzip(holding(packed, size))}`, 'inside')
    }
  })

  test('may hold several files in a row, which come out as one; zeros may follow, as on tapes', function* () {
    const parts = [gzipSync('one '), gzipSync(''), gzipSync('three')]
    for (const size of [1, 3, 20, 1000]) {
      const source = holding(Buffer.concat([...parts, Buffer.alloc(1000)]), size)
      assert.equal(`${yield* gunzip(source)}`, 'one three')
    }
  })
})
