// readLines: all lines, one by one, or as items.

import { appendFileSync } from 'node:fs'
import { LimitExceeded, openFile, pipe, readLines } from 'polyphony/io'
import {
  assert,
  BadArgument,
  END,
  each,
  eventually,
  type Fiber,
  forEach,
  sleep,
  snooze,
  spin,
  test,
  thrownBy,
} from '../../prelude.js'
import { descriptors } from '../../shared/outside.js'
import { descriptorsBack, fileWith } from '../folder.js'
import { realTest } from '../real.js'

realTest('gives all lines of a file or a stream, or one after the other until false', function* () {
  const path = fileWith('one\r\ntwo\n\nlast')
  assert.deepEqual(yield* readLines(path), ['one', 'two', '', 'last'])
  const seen: string[] = []
  yield* readLines(path, (line) => void seen.push(line))
  yield* readLines(path, function* (line) {
    yield* snooze()
    seen.push(line.toUpperCase())
    return line !== 'two'
  })
  assert.deepEqual(seen, ['one', 'two', '', 'last', 'ONE', 'TWO'])
  const stream = pipe()
  yield* stream.write('a\nb\nc\nd\n')
  yield* readLines(stream, (line) => line !== 'b')
  yield* each(readLines(stream), () => false)
  yield* stream.end()
  assert.deepEqual([yield* readLines(stream), stream.isClosed], [['d'], true])
})

realTest('a limit holds for each line', function* () {
  const path = fileWith('short\nnot so short\n')
  const seen: string[] = []
  const limited = readLines(path, (line) => void seen.push(line), { limit: 6 })
  assert.ok((yield* thrownBy(limited)) instanceof LimitExceeded)
  assert.deepEqual(seen, ['short'])
  const long = fileWith(`${'x'.repeat(2_000_000)}\n`)
  assert.ok((yield* thrownBy(readLines(long))) instanceof LimitExceeded)
  yield* readLines(long, (line) => assert.equal(line.length, 2_000_000) as undefined, { limit: Infinity })
})

realTest('a separator of any length splits files and streams; the last piece may lack it', function* () {
  const rows: [content: string | Buffer, separator: string | Uint8Array, pieces: string[]][] = [
    ['one\0two\0', '\0', ['one', 'two']],
    ['one\0two', '\0', ['one', 'two']],
    ['\0\0x', '\0', ['', '', 'x']],
    ['', '\0', []],
    ['no such thing\n', '\0', ['no such thing\n']],
    ['a\r\nb\nc', '\n', ['a\r', 'b', 'c']],
    ['a--b-c--', '--', ['a', 'b-c']],
    ['a---b', '--', ['a', '-b']],
    ['tea – café – ', ' – ', ['tea', 'café']],
    [Buffer.from([1, 255, 254, 2, 255, 3]), Uint8Array.of(255, 254), ['\x01', '\x02\ufffd\x03']],
    [`${'x'.repeat(70_000)};${'y'.repeat(500_000)};z`, ';', ['x'.repeat(70_000), 'y'.repeat(500_000), 'z']],
  ]
  for (const [content, separator, pieces] of rows) {
    const path = fileWith(content)
    assert.deepEqual(yield* readLines(path, { separator }), pieces)
    const seen: string[] = []
    yield* readLines(path, (piece) => void seen.push(piece), { separator })
    yield* each(readLines(path, { separator }), (piece) => void seen.push(piece))
    assert.deepEqual(seen, [...pieces, ...pieces])
    assert.deepEqual(
      yield* forEach(readLines(path, { separator }), (piece) => piece, { concurrency: 3 }),
      pieces,
    )
    const stream = pipe()
    const writing = spin(function* () {
      const bytes = Buffer.from(content)
      for (let at = 0; at < Math.min(bytes.length, 20); at++) {
        yield* stream.write(bytes.subarray(at, at + 1))
        yield* snooze()
      }
      yield* stream.end(bytes.subarray(20))
    })
    assert.deepEqual(yield* readLines(stream, { separator }), pieces)
    yield* writing
  }
})

realTest(
  'a separator leaves the rest in a stream, and the end of a file that grows is not final',
  function* () {
    const stream = pipe()
    yield* stream.end('a;b;c;d')
    yield* readLines(stream, (piece) => piece !== 'b', { separator: ';' })
    yield* each(readLines(stream, { separator: ';' }), () => false)
    assert.deepEqual([`${yield* stream.readAll()}`, stream.isClosed], ['d', true])
    const file = yield* openFile(fileWith('one;tw'))
    assert.deepEqual(yield* readLines(file, { separator: ';' }), ['one', 'tw'])
    appendFileSync(file.path, 'o;three')
    assert.deepEqual(yield* readLines(file, { separator: ';' }), ['o', 'three'])
  },
)

realTest('a limit holds for each piece, without its separator, and nothing is lost', function* () {
  for (const [content, separator] of [
    ['12345;123456;', ';'],
    ['12345--123456', '--'],
    ['12345--1234567', '--'],
  ] as const) {
    const stream = pipe()
    yield* stream.end(content)
    const seen: string[] = []
    const error = yield* thrownBy(
      readLines(stream, (piece) => void seen.push(piece), { separator, limit: 5 }),
    )
    assert.ok(error instanceof LimitExceeded)
    assert.match(
      error.message,
      /^pipe\.gets\(\{ separator: "(;|--)" \}\): a line is longer than 5 bytes\. Give gets/,
    )
    assert.deepEqual([seen, `${yield* stream.readAll()}`], [['12345'], content.slice(5 + separator.length)])
  }
  const path = fileWith('short\nnot so short\n')
  assert.ok((yield* thrownBy(readLines(path, { limit: 6 }))) instanceof LimitExceeded)
  assert.deepEqual(yield* readLines(path, { limit: 12 }), ['short', 'not so short'])
})

realTest('S72 a wait for a piece that is stopped takes nothing with it', function* () {
  const stream = pipe()
  yield* stream.write('one;tw')
  const seen: string[] = []
  const reading = spin(() => readLines(stream, (piece) => void seen.push(piece), { separator: ';' }))
  yield* eventually(() => seen.length === 1)
  yield* reading.stop()
  yield* stream.end('o;')
  assert.deepEqual([seen, yield* readLines(stream, { separator: ';' })], [['one'], ['two']])
})

test('wrong options and bodies are refused at the call', () => {
  const rows: [rest: unknown[], message: RegExp][] = [
    [[undefined], /needs a function\*/],
    [['\0'], /needs a function\*/],
    [[sleep(1)], /was given sleep\(1\) itself/],
    [[{ separator: '' }], /^separator of readLines\(\) must be a string or bytes .* got ""$/],
    [[{ separator: 10 }], /got 10$/],
    [[{ separator: new Uint8Array(0) }], /not empty/],
    [[{ seperator: ',' }], /^readLines\(\) has no option "seperator"; there are: limit, separator$/],
    [[() => {}, { limit: 0 }], /^limit of readLines\(\)/],
    [[() => {}, { separator: [] }], /^separator of readLines/],
  ]
  for (const [rest, message] of rows) {
    assert.throws(
      () => (readLines as any)('path', ...rest),
      (error: Error) => {
        assert.ok(error instanceof BadArgument, `${error}`)
        assert.match(error.message, message)
        return true
      },
    )
  }
})

realTest('feeds each and forEach, and closes its file when they are over or left', function* () {
  const lines = Array.from({ length: 1000 }, (_, i) => `line ${i}`)
  const path = fileWith(lines.join('\n'))
  const before = descriptors()
  const body = function* (line: string) {
    yield* snooze()
    return line
  }
  assert.deepEqual(yield* forEach(readLines(path), body, { concurrency: 7 }), lines)
  let count = 0
  yield* each(readLines(path), () => ++count < 10)
  assert.equal(count, 10)
  const source = readLines(path).iterate()
  const [first, second] = [spin(() => source.next()), spin(() => source.next())] // both open it
  yield* snooze()
  yield* source.close()
  assert.deepEqual([yield* first, yield* second, yield* source.next()], [END, END, END])
  yield* descriptorsBack(before)
  const whole = readLines(path).iterate()
  while ((yield* whole.next()) !== END); // and not closed by us
  yield* descriptorsBack(before)
})

realTest('S50 a loop over a long file lets other fibers run', function* () {
  let turns = 0
  const other = spin(function* () {
    for (; ; turns++) yield* snooze()
  })
  const seen: number[] = []
  yield* readLines(fileWith('x\n'.repeat(20_000)), () => void (seen[turns] = (seen[turns] ?? 0) + 1))
  const most = Math.max(...seen.filter((count) => count > 0))
  assert.ok(most > 1 && most <= 129, `${most} lines in a row`)
  yield* other.stop()
})

realTest('S09 a stop that comes while lines are there strikes before the next', function* () {
  let count = 0
  const body = () => void (++count === 5 && fiber.stop())
  const fiber: Fiber = spin(() => readLines(fileWith('x\n'.repeat(1000)), body))
  yield* fiber.join()
  assert.equal(count, 5)
})
