// Streams: what their words give, what a reader and a writer can do, and what is refused.

import { END, each, forEach, iterate, type Op, type Source, spin, toAsyncIterable, use } from 'polyphony'
import { pair, pipe, type Reader, type Stream, stdin, type Writer } from 'polyphony/io'
import { expectType } from './equal.js'

const stream = pipe()
const [client, server] = pair()
expectType<Stream>()(client)
expectType<Stream>()(server)

// ---- reading

expectType<Op<Buffer | undefined>>()(stream.read())
expectType<Op<Buffer | undefined>>()(stream.read(10))
expectType<Op<Buffer>>()(stream.readExactly(10))
expectType<Op<Buffer | undefined>>()(stream.readUntil('\n', { limit: 10 }))
expectType<Op<string | undefined>>()(stream.gets())
expectType<Op<Buffer>>()(stream.readAll({ limit: Infinity }))
expectType<Op<void>>()(stream.readLoop((chunk) => chunk.length > 0, { max: 10 }))
stream.readLoop(function* (chunk) {
  yield* stream.write(chunk)
})
stream.readLoop((chunk) => stream.write(chunk))
stream.feedLoop({ feed: (chunk: Buffer) => chunk.length }, 'feed')

// @ts-expect-error: an async body cannot be stopped
stream.readLoop(async (chunk) => chunk)
// @ts-expect-error: the star is forgotten
stream.readLoop(function* (chunk) {
  yield stream.write(chunk)
})
// @ts-expect-error: no such option
stream.readLoop(() => {}, { size: 1 })
// @ts-expect-error: no such method
stream.feedLoop({ feed: (chunk: Buffer) => chunk.length }, 'parse')
// @ts-expect-error: its method takes text
stream.feedLoop({ feed: (text: string) => text }, 'feed')
// @ts-expect-error: options are an object
stream.gets('x')
// @ts-expect-error: no such option
stream.gets({ max: 1 })
// @ts-expect-error: a count is a number
stream.readExactly('4')
// @ts-expect-error: a count is needed
stream.readExactly()

// ---- writing

expectType<Op<void>>()(stream.write('text', Buffer.from('bytes'), new Uint8Array(1)))
expectType<boolean>()(stream.tryWrite('text'))
expectType<Op<void>>()(stream.end('text'))
expectType<Op<void>>()(stream.end())
expectType<Op<void>>()(stream.close())
expectType<void>()(stream.destroy())
expectType<boolean>()(stream.isClosed)

// @ts-expect-error: strings and bytes only
stream.write(5)
// @ts-expect-error: not an array
stream.write(['text'])
spin(function* () {
  // @ts-expect-error: what may be undefined is not a chunk
  yield* stream.write(yield* stream.read())
})

// ---- sources

expectType<Source<Buffer>>()(iterate(stream))
expectType<Source<string>>()(stream.lines())
expectType<AsyncIterableIterator<Buffer>>()(toAsyncIterable(stream))
each(stream, (chunk: Buffer) => chunk.length)
each(stream.lines(), (line: string, index: number) => line.length > index)
expectType<Op<number[]>>()(forEach(stream.lines(), (line) => line.length))
spin(function* () {
  const line = yield* stream.lines().next()
  if (line !== END) expectType<string>()(line)
  expectType<Stream>()(yield* use(stream))
  expectType<Reader>()(yield* use(stdin))
})

// ---- one way only

const reader: Reader = stream
const writer: Writer = stream
reader.gets()
reader.close()
reader.stats()
writer.tryWrite('text')
writer.close()
// @ts-expect-error: a reader does not write
reader.write('text')
// @ts-expect-error: a reader has no end to send
reader.end()
// @ts-expect-error: a writer does not read
writer.read()
// @ts-expect-error: a writer has no lines
writer.lines()
// @ts-expect-error: one way is not both
export const both: Stream = reader
