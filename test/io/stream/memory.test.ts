// Streams in memory beyond the contract (test/shared/stream.ts): closing with bytes inside, deadlocks, async code, two worlds.

import { pair, pipe, StreamClosed } from 'polyphony/io'
import {
  assert,
  END,
  iterate,
  run,
  scope,
  spin,
  test,
  thrownBy,
  toAsyncIterable,
  until,
  untilWaiting,
  use,
  virtual,
} from '../../prelude.js'

test('S33 waits for a stream in memory that no fiber serves are a deadlock, and the tree says why', () =>
  assert.rejects(
    virtual(function* () {
      const [, server] = pair()
      spin('other', () => server.readLoop(() => {}))
      spin('third', () => pipe('full').write('x'.repeat(100_000)))
      yield* pipe('nobody').gets()
    }),
    ({ message }: Error) =>
      ['nobody.gets()', 'server.readLoop()', 'full.write()'].every((wait) => message.includes(wait)),
  ))

test('S60 use closes a stream with its scope; async code can dispose of it when that is awaited', async () => {
  const [client, server] = pair()
  await run(function* () {
    const stream = pipe()
    yield* scope(() => use(stream))
    assert.equal(stream.isClosed, true)
    yield* client.write('hello')
  })
  const disposal = client[Symbol.asyncDispose]()
  assert.equal(client.isClosed, false) // it begins when it is waited for
  assert.equal(await disposal.then(() => 'closed'), 'closed')
  await client[Symbol.asyncDispose]()
  assert.equal(`${await run(() => server.readAll())}`, 'hello')
})

test('S59 iterate gives chunks and END; async code can loop over lines, and leave the loop', function* () {
  const stream = pipe()
  const chunks = iterate(stream)
  yield* stream.write('one')
  assert.equal(`${String(yield* chunks.next())}`, 'one')
  yield* chunks.close()
  yield* stream.write('two\nthree\n')
  const seen: string[] = []
  const loop = async () => {
    for await (const line of toAsyncIterable(stream.lines())) if (seen.push(line) === 1) break
    for await (const chunk of toAsyncIterable(stream)) seen.push(`${chunk}`)
  }
  yield* stream.end()
  yield* until(loop())
  assert.deepEqual(seen, ['two', 'three\n'])
  assert.equal(yield* iterate(stream).next(), END)
})

test('fibers of two worlds can talk over one stream', function* () {
  const [client, server] = pair()
  const other = run(function* () {
    yield* server.write(`you said ${yield* server.gets()}\n`)
  })
  yield* client.write('hello\n')
  yield* until(other)
  assert.equal(yield* client.gets(), 'you said hello')
})

test('destroyed by the other side with bytes unread: a writer that waits gets an IOError', function* () {
  const [client, server] = pair()
  const writer = spin(() => thrownBy(client.write(...Array<Buffer>(5).fill(Buffer.alloc(100_000)))))
  yield* untilWaiting(writer)
  yield* server.readExactly(10)
  server.destroy()
  assert.equal((yield* writer).code, 'ECONNRESET')
  assert.equal(server.stats().unread, 0)
})

test('a pipe that is closed takes what is in it along', function* () {
  const stream = pipe()
  const writer = spin(() => thrownBy(stream.write(Buffer.alloc(100_000))))
  yield* untilWaiting(writer)
  yield* stream.close()
  assert.ok((yield* writer) instanceof StreamClosed)
  assert.ok((yield* thrownBy(stream.read())) instanceof StreamClosed)
  const other = pipe()
  yield* other.write('one\ntwo\n')
  assert.equal(yield* other.gets(), 'one')
  yield* other.close()
  assert.equal(other.stats().unread, 0)
})

test('a write is an op that may be waited for again: it writes again, when it fills the stream and when that is full', function* () {
  const stream = pipe()
  const block = Buffer.alloc(100_000)
  const write = stream.write(block)
  spin(() => stream.readExactly(block.length))
  yield* write
  while (stream.tryWrite(block));
  const { written, unread } = stream.stats()
  spin(() => stream.readExactly(unread + block.length))
  yield* write
  assert.equal(stream.stats().written, written + block.length)
})
