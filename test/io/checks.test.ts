// What streams, files, copying and compressing refuse, at the call, in words.

import { constants } from 'node:buffer'
import { PassThrough, Readable, Writable } from 'node:stream'
import {
  appendFile,
  brotli,
  copy,
  deflate,
  fromNode,
  gunzip,
  gzip,
  inflate,
  openFile,
  pipe,
  readFile,
  readLines,
  stdout,
  unbrotli,
  writeFile,
} from 'polyphony/io'
import { assert, BadArgument, describe, test, thrownBy } from '../prelude.js'

const stream: any = pipe()
const nothing = () => {}
const [Copy, Gzip, Gunzip, Open]: any[] = [copy, gzip, gunzip, openFile]
const [Read, Write, Append, Lines, FromNode]: any[] = [readFile, writeFile, appendFile, readLines, fromNode]

const refused: Record<string, [call: () => unknown, message: RegExp][]> = {
  'a stream': [
    [() => pipe(''), /the name of pipe\(\) needs a string/],
    [() => stream.write('a', null), /^pipe\.write\(\) needs strings or bytes \(Uint8Array\), got null/],
    [() => stream.write(new Float64Array(1)), /^pipe\.write\(\) needs strings or bytes/],
    [() => stream.tryWrite({}), /^pipe\.tryWrite\(\) needs strings or bytes/],
    [() => stream.end(5), /^pipe\.end\(\) needs strings or bytes .*got 5/],
    [() => stdout.write(5 as any), /^stdout\.write\(\) needs strings or bytes/],
    [() => stream.read(0), /^pipe\.read\(max\) needs a whole number, 1 or more, got 0/],
    [() => stream.readExactly(1.5), /^pipe\.readExactly\(count\) needs a whole number, 0 or more, got 1\.5/],
    [
      () => stream.readExactly(constants.MAX_LENGTH + 1),
      /^pipe\.readExactly\(count\): no buffer holds \d+ b/,
    ],
    [() => stream.readUntil(), /^the delimiter of pipe\.readUntil\(\) must be a string or bytes/],
    [() => stream.readUntil(''), /the delimiter of pipe\.readUntil\(\) must be .*not empty; got ""/],
    [() => stream.gets('x'), /^pipe\.gets\(\) needs an object of options, got "x"/],
    [() => stream.gets({ max: 5 }), /^pipe\.gets\(\) has no option "max"; there are: limit/],
    [() => stream.gets({ limit: 0 }), /^limit of pipe\.gets\(\) needs a whole number, 1 or more/],
    [() => stream.lines({ max: 5 }), /^pipe\.lines\(\) has no option "max"/],
    [() => stream.readAll({ limit: '1' }), /^limit of pipe\.readAll\(\) needs a whole number/],
    [() => stream.readLoop(), /^pipe\.readLoop\(\) needs a function\* to run, got undefined/],
    [() => stream.readLoop(async () => {}), /^pipe\.readLoop\(\) was given the async function/],
    [() => stream.readLoop(Object.assign(() => {}, { next() {} })), /^pipe\.readLoop\(\)/],
    [() => stream.readLoop(nothing, { size: 1 }), /has no option "size"; there are: max/],
    [() => stream.readLoop(nothing, { max: 0 }), /^max of pipe\.readLoop\(\) needs a whole number/],
    [() => stream.feedLoop(null, 'feed'), /^pipe\.feedLoop\(\) found no method "feed" in null/],
  ],
  fromNode: [
    [() => FromNode(), /^fromNode\(\) needs a stream of Node, got undefined/],
    [() => FromNode({ on() {}, write() {} }), /^fromNode\(\) needs a stream of Node, got an object/],
    [() => FromNode(new ReadableStream()), /got an object of class ReadableStream/],
    [
      () => FromNode(Readable.from(['a'])),
      /a stream of bytes, and this one \(Readable\) carries objects\. .*each\(/,
    ],
    [() => FromNode(new Writable({ objectMode: true })), /carries objects/],
    [() => FromNode(new PassThrough(), { nam: 'x' }), /no option "nam"; there are: name/],
    [() => FromNode(new PassThrough(), { name: 3 }), /the name of fromNode\(\) needs a string/],
  ],
  copy: [
    [() => Copy(5, stream), /^copy\(\) needs a stream to read from, a string or bytes, got 5/],
    [() => Copy({ read() {} }, stream), /^copy\(\) needs a stream to read from/],
    [() => Copy('x'), /^copy\(\) needs a stream to write to, got undefined/],
    [() => Copy('x', { write() {} }), /^copy\(\) needs a stream to write to/],
    [() => Copy('x', stream, { max: -1 }), /^max of copy\(\) needs a whole number, 0 or more, got -1/],
    [() => Copy('x', stream, { chunk: 0 }), /^chunk of copy\(\) needs a whole number, 1 or more/],
    [() => Copy('x', stream, { end: 1 }), /^end of copy\(\) is true or false/],
    [() => Copy('x', stream, { limit: 1 }), /no option "limit"; there are: max, chunk, end/],
  ],
  compression: [
    [() => Gzip(), /^gzip\(\) needs a stream to read from, a string or bytes, got undefined/],
    [() => inflate(5 as any), /^inflate\(\) needs a stream/],
    [() => Gzip('', { level: 10 }), /^the level of gzip\(\) needs a whole number from 0 to 9, got 10/],
    [() => Gzip('', { level: -1 }), /^the level of gzip\(\)/],
    [() => deflate('', { level: 'best' as any }), /got "best"/],
    [() => brotli('', { quality: 12 }), /^the quality of brotli\(\).*0 to 11, got 12/],
    [() => deflate('', { name: 'x' } as any), /deflate\(\) has no option "name"/],
    [
      () => Gunzip('', 'target'),
      /^gunzip\(\) needs a stream to write to, or options, got "target". For a file: openFile/,
    ],
    [() => Gunzip('', {}, { limit: 5 }), /a stream to write to before/],
    [() => unbrotli('', stream, { limit: -1 }), /^the limit of unbrotli\(\) needs a whole number, 0/],
    [() => Gzip('', { name: 'x' }), /gzip\(\) has no option "name"; there are: level$/],
    [() => Gunzip('', { onHeader: 5 }), /gunzip\(\) has no option "onHeader"; there are: limit$/],
  ],
  files: [
    [() => Open('a\0b'), /openFile\(\) needs a path/],
    [() => Open(new URL('http://x/')), /openFile\(\) needs a path/],
    [() => Open('x', 'rw'), /no flags "rw"; there are: r, r\+, w/],
    [() => Open('x', 'r', 0o10000), /permissions from 0 to 0o7777, got 4096/],
    [() => Open('x', 'r', 'body'), /openFile\(\) needs a function\*/],
    [() => Read('x', { encodign: 'utf8' }), /no option "encodign"/],
    [() => Read('x', 'utf8'), /needs an object of options: \{ encoding: "utf8" \}/],
    [() => Read('x', { encoding: 'utf9' }), /no encoding "utf9"/],
    [() => Read('x', { limit: 0 }), /limit of readFile\(\)/],
    [() => Write('x', 5), /needs a string or bytes/],
    [() => Write('x', 'x', { flag: 'r' }), /no flag "r"; there are: w, wx, a, ax/],
    [() => Write('x', 'x', { flag: 'a', atomic: true }), /cannot be atomic/],
    [() => Write('x', 'x', { mode: 1.5 }), /permissions/],
    [() => Append('x', 5), /needs a string or bytes/],
    [() => Append('x', 'x', { mode: -1 }), /permissions/],
    [() => Append('x', 'x', { atomic: true }), /no option "atomic"/],
    [() => Lines({}), /readLines\(\) needs a path/],
    [() => Lines('x', undefined), /readLines\(\) needs a function\*/],
    [() => Lines('x', nothing, { limit: -1 }), /limit of readLines/],
  ],
}
for (const [what, rows] of Object.entries(refused)) {
  describe(what, () => {
    for (const [call, message] of rows) {
      test(`${`${call}`.slice(6)} is refused`, () => {
        assert.throws(call, (error) => error instanceof BadArgument && message.test(error.message))
      })
    }
  })
}

test('places and lengths of a file are whole numbers, 0 or more', function* () {
  const file = yield* openFile('/dev/null', 'w')
  for (const wrong of [-1, 1.5, Number.NaN, '0' as any]) {
    assert.throws(() => file.seek(wrong), /\.seek\(\) needs a whole number of bytes, 0 or more, got/)
    assert.throws(() => file.truncate(wrong), /\.truncate\(\) needs a whole number of bytes, 0 or more, got/)
  }
  yield* file.close()
})

test('a body of readLoop that returns a promise is told so', function* () {
  const source = pipe()
  yield* source.write('a')
  const error = yield* thrownBy(source.readLoop((() => Promise.resolve()) as never))
  assert.match(error.message, /returned a promise/)
})
