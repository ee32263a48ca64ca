// Compressing and decompressing between streams, strings and bytes: what comes out, what is refused, what a stop leaves behind.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { describe, it } from 'node:test'
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
  all,
  BadArgument,
  moveOnAfter,
  type Op,
  type Routine,
  run,
  sleep,
  snooze,
  spin,
  until,
} from 'polyphony'
import {
  brotli,
  CorruptInput,
  deflate,
  type GzipHeader,
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
import { virtual } from 'polyphony/testing'
import { random, thrownBy } from '../prelude.js'
import { expiring } from '../shared/limits.js'
import { disturb, held, untilHeld } from '../shared/outside.js'
import { struckWaiting } from './real.js'

const FORMATS = [
  { verb: 'gzip', pack: gzip, unpack: gunzip, packSync: gzipSync, unpackSync: gunzipSync },
  { verb: 'deflate', pack: deflate, unpack: inflate, packSync: deflateSync, unpackSync: inflateSync },
  {
    verb: 'brotli',
    pack: (src: any, ...rest: any[]) =>
      brotli(src, ...(typeof rest[0]?.write === 'function' ? [rest[0]] : []), { quality: 3 }) as Op<any>,
    unpack: unbrotli,
    packSync: (data: string | Uint8Array) =>
      brotliCompressSync(data, { params: { [constants.BROTLI_PARAM_QUALITY]: 3 } }),
    unpackSync: brotliDecompressSync,
  },
] as const

/** Bytes that can be made a little smaller. */
function noise(length: number, seed = 1): Buffer {
  const next = random(seed)
  return Buffer.from(Uint8Array.from({ length }, () => Math.floor(next() * 64)))
}

/** A stream in memory that holds these pieces, and ends. */
function holding(...pieces: (string | Uint8Array)[]): Stream {
  const stream = pipe('source')
  spin(function* () {
    for (const piece of pieces) yield* stream.write(piece)
    yield* stream.end()
  })
  return stream
}

const inPieces = (bytes: Buffer, size: number) =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size))

for (const { verb, pack, unpack, packSync, unpackSync } of FORMATS) {
  describe(`I5 ${verb} and back`, () => {
    const inputs: [string, string | Uint8Array][] = [
      ['nothing', ''],
      ['a word', 'caf\xe9'],
      ['a single byte', new Uint8Array([0])],
      ['much of the same', 'a'.repeat(1_000_000)],
      ['much that differs', noise(300_000)],
      ['a view of other bytes', new Uint8Array(noise(1000).buffer, 8, 500)],
    ]
    for (const [what, input] of inputs) {
      it(`${what}, from memory into memory`, () =>
        virtual(function* () {
          const packed: Buffer = yield* pack(input as string)
          assert.ok(Buffer.isBuffer(packed))
          assert.deepEqual(unpackSync(packed), Buffer.from(input as string))
          assert.deepEqual(yield* unpack(packSync(input)), Buffer.from(input as string))
        }))
    }

    it('from a stream to a stream, which stays open; gives the number of bytes', () =>
      virtual(function* () {
        const data = noise(200_000, 7)
        const [middle, target] = [pipe('middle'), pipe('target')]
        const packing = spin(function* () {
          const count: number = yield* pack(holding(...inPieces(data, 1234)) as any, middle as any)
          yield* middle.end()
          return count
        })
        const reading = spin(() => target.readAll())
        assert.equal(yield* unpack(middle, target), data.length)
        yield* target.end('!')
        assert.deepEqual(yield* reading, Buffer.concat([data, Buffer.from('!')]))
        assert.equal(yield* packing, middle.stats().received)
      }))

    it('input that comes byte by byte', () =>
      virtual(function* () {
        const packed = packSync('drip, drip, drip')
        assert.equal(`${yield* unpack(holding(...inPieces(packed, 1)))}`, 'drip, drip, drip')
      }))

    it('input that is cut anywhere is an UnexpectedEnd that names the source', () =>
      virtual(function* () {
        const packed = packSync('a text that is long enough to be cut in many places')
        for (let length = 0; length < packed.length; length++) {
          const error = yield* thrownBy(unpack(packed.subarray(0, length)))
          assert.ok(error instanceof UnexpectedEnd, `${length}: ${error}`)
          assert.match(
            error.message,
            new RegExp(`^\\w+\\(${length} bytes?\\): the input ended after ${length} b`),
          )
        }
        const error = yield* thrownBy(unpack(holding(packed.subarray(0, 12))))
        assert.match(error.message, /^\w+\(source\): the input ended after 12 bytes, too early$/)
      }))

    it('what is something else is a CorruptInput that names the source', () =>
      virtual(function* () {
        const error = yield* thrownBy(unpack(holding('garbage, garbage, garbage')))
        assert.ok(error instanceof CorruptInput)
        assert.equal(error.code, 'CORRUPT_INPUT')
        assert.match(error.message, /^\w+\(source\): the input is corrupt \(.+\)$/)
        assert.ok(error.cause instanceof Error)
      }))

    it('what follows the end is a CorruptInput', () =>
      virtual(function* () {
        for (const size of [1, 5, 1000]) {
          const packed = Buffer.concat([packSync('the end'), Buffer.from('and more')])
          const error = yield* thrownBy(unpack(holding(...inPieces(packed, size))))
          assert.ok(error instanceof CorruptInput, `${size}: ${error}`)
        }
      }))

    it('one op can be waited for again', () =>
      virtual(function* () {
        const op = unpack(yield* pack('again and again' as any) as Op<Buffer>)
        assert.deepEqual([`${yield* op}`, `${yield* op}`], ['again and again', 'again and again'])
      }))

    it('a limit stops what would grow too large, long before it is all there', () =>
      virtual(function* () {
        const bomb = packSync(Buffer.alloc(20_000_000))
        const target = pipe()
        const drain = spin(() => target.readLoop(() => {}))
        const error = yield* thrownBy(unpack(bomb, target, { limit: 1_000_000 }))
        assert.ok(error instanceof LimitExceeded)
        assert.match(error.message, /: more than 1000000 bytes came out\. Give \w+\(\) a higher limit/)
        assert.ok(target.stats().written <= 1_000_000)
        yield* drain.stop()
        const small = packSync('12345')
        assert.equal(`${yield* unpack(small, { limit: 5 })}`, '12345')
        assert.ok((yield* thrownBy(unpack(small, { limit: 4 }))) instanceof LimitExceeded)
      }))

    it('nothing is worked ahead of a target that does not take it', () =>
      virtual(function* () {
        const bomb = packSync(Buffer.alloc(5_000_000))
        const target = pipe() // nobody reads
        const unpacking = spin(() => unpack(bomb, target))
        yield* sleep(1) // all that can happen has happened
        while (target.stats().writers === 0) yield* snoozeOutside()
        for (let i = 0; i < 20; i++) yield* snoozeOutside()
        assert.equal(unpacking.waitsFor, 'pipe.write()')
        assert.ok(target.stats().written < 1_000_000)
        yield* unpacking.stop()
      }))

    it('S35 a fiber that is stopped leaves at once, and nothing stays behind', async () => {
      const before = held()
      const data = noise(2_000_000)
      await run(function* () {
        let waitsFor: string | undefined
        const packing = () => pack(data as any) as Op<unknown>
        yield* struckWaiting(packing, (fiber) => {
          waitsFor = fiber.waitsFor
          fiber.stop()
        })
        assert.match(waitsFor ?? '', /\(2000000 bytes\)$/)
        yield* expiring(moveOnAfter, () => unpack(pipe())) // waits for input that never comes
      })
      await untilHeld(before)
    })

    it('trouble at every switchpoint leaves nothing behind, and whoever reads on can', async (t) => {
      const data = noise(5000)
      const runs = await disturb(function* (): Routine<void> {
        const [here, there] = pair()
        const source = pipe('source')
        for (const piece of inPieces(data, 2000)) yield* source.write(piece)
        yield* source.end()
        function* packing() {
          yield* pack(source as any, here as any)
          yield* here.end()
        }
        const [, bytes] = yield* all([packing, () => unpack(there)])
        assert.deepEqual(bytes, data)
      })
      assert.ok(runs > 40)
      t.diagnostic(`${runs} runs`)
    })
  })
}

it('a compressor that is cut is destroyed at once, and does not wait for the garbage to be collected', () =>
  virtual(function* () {
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
    while (packing.waitsFor !== 'pipe.read(65536)') yield* snoozeOutside()
    assert.equal(destroyed, 0)
    yield* packing.stop()
    assert.equal(destroyed, 1)
    delete zlib._destroy // that of all of them is further up
  }))

/** A turn of the event loop: threads may have answered. */
function* snoozeOutside(): Routine<void> {
  yield* until(new Promise<void>((resolve) => setImmediate(resolve)))
}

describe('I5 the header of gzip', () => {
  const name = 'caf\xe9.txt'
  const comment = 'best served hot'
  const mtime = new Date('2024-02-29T12:34:56Z')

  it('tells name, comment and time, to us and to others', () =>
    virtual(function* () {
      let told: GzipHeader | undefined
      const onHeader = (header: GzipHeader) => void (told = header)
      const packed = yield* gzip('hello', { name, comment, mtime, level: 1 })
      assert.equal(`${yield* gunzip(packed, { onHeader })}`, 'hello')
      assert.deepEqual(told, { name, comment, mtime })
      assert.equal(String(gunzipSync(packed)), 'hello')
      yield* gunzip(yield* gzip('x', { mtime: mtime.getTime() }), { onHeader })
      assert.deepEqual(told, { mtime })
      yield* gunzip(yield* gzip('x'), { onHeader })
      assert.deepEqual(told, {})
    }))

  it('is read by the gzip of this machine', () =>
    virtual(function* () {
      const packed = yield* gzip('hello\n', { name: 'greeting.txt', comment, mtime })
      const listed = execFileSync('gzip', ['-lvN'], { input: packed, encoding: 'utf8' })
      assert.match(listed, /greeting\.txt/)
      assert.equal(execFileSync('gzip', ['-dc'], { input: packed, encoding: 'utf8' }), 'hello\n')
    }))

  it('may come byte by byte, with parts that we do not write', () =>
    virtual(function* () {
      let told: GzipHeader | undefined
      const plain = gzipSync('inside')
      const head = Buffer.from(plain.subarray(0, 10))
      head[3] = 4 | 8 | 16 // extra, name, comment
      const extra = Buffer.from([3, 0, 0, 8, 0]) // three bytes, with zeros in them
      const packed = Buffer.concat([head, extra, Buffer.from('n\0c\0'), plain.subarray(10)])
      for (const size of [1, 7, 1000]) {
        told = undefined
        const source = holding(...inPieces(packed, size))
        assert.equal(`${yield* gunzip(source, { onHeader: (header) => void (told = header) })}`, 'inside')
        assert.deepEqual(told, { name: 'n', comment: 'c' })
      }
    }))

  it('is that of the first of several files, which come out as one', () =>
    virtual(function* () {
      const headers: GzipHeader[] = []
      const packed = Buffer.concat([
        yield* gzip('one ', { name: '1' }),
        yield* gzip('', { name: '2' }),
        yield* gzip('three', { name: '3' }),
      ])
      for (const size of [1, 3, 20, 1000]) {
        const source = holding(...inPieces(packed, size))
        assert.equal(`${yield* gunzip(source, { onHeader: (header) => headers.push(header) })}`, 'one three')
      }
      assert.deepEqual(headers, Array(4).fill({ name: '1' }))
    }))

  it('is not told where there is none', () =>
    virtual(function* () {
      const onHeader = () => assert.fail('there is no header')
      assert.ok((yield* thrownBy(gunzip('x'.repeat(300_000), { onHeader }))) instanceof CorruptInput)
      assert.ok((yield* thrownBy(gunzip('', { onHeader }))) instanceof UnexpectedEnd)
    }))

  it('zeros may follow a file, as on tapes', () =>
    virtual(function* () {
      const padded = Buffer.concat([gzipSync('on tape'), Buffer.alloc(1000)])
      for (const size of [1, 100, 10_000]) {
        assert.equal(`${yield* gunzip(holding(...inPieces(padded, size)))}`, 'on tape')
      }
    }))

  it('what onHeader throws is thrown, and nothing stays behind', async () => {
    const before = held()
    await run(function* () {
      const onHeader = () => {
        throw new Error('not this one')
      }
      assert.equal((yield* thrownBy(gunzip(gzipSync('x'), { onHeader }))).message, 'not this one')
    })
    await untilHeld(before)
  })
})

describe('compression: what is wrong', () => {
  const target = pipe()
  const refused: [string, () => unknown, RegExp][] = [
    [
      'no source',
      () => gzip(undefined as any),
      /^gzip\(\) needs a stream to read from, a string or bytes, got undefined/,
    ],
    ['a number', () => inflate(5 as any), /^inflate\(\) needs a stream/],
    [
      'a level that does not exist',
      () => gzip('', { level: 10 }),
      /^level of gzip\(\) is a whole number from 0 to 9, got 10/,
    ],
    ['a level of text', () => deflate('', { level: 'best' as any }), /got "best"/],
    [
      'a quality that does not exist',
      () => brotli('', { quality: 12 }),
      /^quality of brotli\(\).*0 to 11, got 12/,
    ],
    [
      'an unknown option',
      () => gzip('', { nam: 'x' } as any),
      /gzip\(\) has no option "nam"; there are: level, name/,
    ],
    ['an option of another', () => deflate('', { name: 'x' } as any), /deflate\(\) has no option "name"/],
    [
      'a target that is none',
      () => gunzip('', 'target' as any),
      /^gunzip\(\) needs a stream to write to, or options, got "target". For a file: openFile/,
    ],
    [
      'a target that is none, with options',
      () => gunzip('', {} as any, { limit: 5 }),
      /a stream to write to before/,
    ],
    [
      'a limit below zero',
      () => unbrotli('', target, { limit: -1 }),
      /^limit of unbrotli\(\) needs a whole number, 0/,
    ],
    ['a name with a zero', () => gzip('', { name: 'a\0b' }), /^name of gzip\(\) is text in Latin-1/],
    ['a comment beyond Latin-1', () => gzip('', { comment: '\u2603' }), /^comment of gzip\(\)/],
    ['a time before time', () => gzip('', { mtime: -1 }), /^mtime of gzip\(\) is a date from 1970 to 2106/],
    ['a time after time', () => gzip('', { mtime: new Date('2200-01-01') }), /^mtime of gzip\(\)/],
    ['no time at all', () => gzip('', { mtime: new Date('x') }), /^mtime of gzip\(\)/],
    ['a time in words', () => gzip('', { mtime: '5' as any }), /^mtime of gzip\(\)/],
    [
      'an onHeader that is none',
      () => gunzip('', { onHeader: 5 as any }),
      /^onHeader of gunzip\(\) is a function/,
    ],
  ]
  for (const [what, call, message] of refused) {
    it(`${what} is refused at the call`, () => {
      assert.throws(call, (error: Error) => error instanceof BadArgument && message.test(error.message))
    })
  }

  it('an error of the source or of the target comes out as it is, and nothing stays behind', async () => {
    const before = held()
    await run(function* () {
      const [here, there] = pair()
      const unpacking = spin({ link: false }, () => gunzip(there))
      yield* here.write(gzipSync(noise(1000)).subarray(0, 500))
      yield* snooze()
      here.destroy()
      assert.equal((yield* thrownBy(unpacking)).code, 'ECONNRESET')
      const closed = pipe()
      yield* closed.close()
      assert.equal((yield* thrownBy(gzip('x', closed))).code, 'STREAM_CLOSED')
    })
    await untilHeld(before)
  })
})
