// sendFile: a file or a range of it to a stream, with an exact count.

import { execFileSync } from 'node:child_process'
import { appendFileSync, truncateSync } from 'node:fs'
import { IOError, openFile, pair, pipe, StreamClosed, sendFile, UnexpectedEnd, writeFile } from 'polyphony/io'
import { assert, eventually, type Op, spin, thrownBy } from '../../prelude.js'
import { descriptors } from '../../shared/outside.js'
import { pattern } from '../../shared/stream.js'
import { descriptorsBack, fileWith, folder, freshPath, textOf } from '../folder.js'
import { bothEnds, listening, realTest } from '../real.js'

realTest('sends a file or a range of it, and tells how many bytes', function* () {
  const path = fileWith('0123456789')
  const rows: [Parameters<typeof sendFile>[2], string][] = [
    [{}, '0123456789'],
    [{ start: 3 }, '3456789'],
    [{ start: 3, length: 4 }, '3456'],
    [{ length: 1 }, '0'],
    [{ start: 9, length: 1 }, '9'],
    [{ length: 0 }, ''],
    [{ start: 10 }, ''],
    [{ start: 10, length: 0 }, ''],
    [{ length: 10 }, '0123456789'],
  ]
  for (const [options, expected] of rows) {
    const target = pipe()
    assert.equal(yield* sendFile(path, target, options), expected.length)
    yield* target.end('|')
    assert.equal(`${yield* target.readAll()}`, `${expected}|`, JSON.stringify(options))
    const ended = pipe()
    const sending = sendFile(path, ended, { ...options, end: true })
    assert.equal(yield* sending, expected.length)
    assert.equal(`${yield* ended.readAll()}`, expected)
  }
  assert.equal(yield* sendFile(fileWith(''), pipe()), 0)
})

realTest('sends large files over a socket and into a file, no faster than they are taken', function* () {
  const content = pattern(5_000_000)
  const path = fileWith(content)
  const [server, client] = yield* bothEnds(yield* listening())
  const before = descriptors()
  const sending = spin(() => sendFile(path, server, { start: 1000, length: 4_000_000, end: true }))
  const received = yield* client.readAll()
  assert.equal(yield* sending, 4_000_000)
  assert.ok(received.equals(content.subarray(1000, 4_001_000)))
  const copied = freshPath()
  yield* openFile(copied, 'w', (file) => sendFile(path, file))
  assert.equal(textOf(copied), content.toString('utf8'))
  const slow = pipe()
  const waiting = spin(() => sendFile(path, slow))
  yield* eventually(() => slow.stats().writers === 1)
  assert.ok(slow.stats().unread < 1_000_000, `${slow.stats().unread} bytes`)
  yield* waiting.stop()
  yield* descriptorsBack(before)
})

realTest('what has no size is sent to its end: /proc, a named pipe; a device needs a length', function* () {
  const target = pipe()
  const drain = spin(() => target.readLoop(() => {}))
  assert.ok((yield* sendFile('/proc/self/stat', target)) > 50)
  assert.equal(yield* sendFile('/proc/self/stat', target, { start: 2, length: 10 }), 10)
  assert.equal(yield* sendFile('/dev/zero', target, { length: 70_000 }), 70_000)
  const fifo = freshPath()
  execFileSync('mkfifo', [fifo])
  spin(() => writeFile(fifo, 'through the pipe'))
  assert.equal(yield* sendFile(fifo, target, { end: true }), 16)
  yield* drain
})

realTest(
  'bytes that are appended meanwhile are not sent; a file that becomes shorter is an error',
  function* () {
    const path = fileWith(Buffer.alloc(3_000_000, 'x'))
    const [here, there] = pair()
    const growing = spin(() => sendFile(path, here, { end: true }))
    yield* eventually(() => here.stats().written > 0)
    appendFileSync(path, 'more')
    assert.equal((yield* there.readAll()).length, 3_000_000)
    assert.equal(yield* growing, 3_000_000)
    const [left, right] = pair()
    const shrinking = spin(() => thrownBy(sendFile(path, left, { length: 3_000_000 })))
    yield* eventually(() => left.stats().written > 0)
    truncateSync(path, 100)
    const reading = spin({ link: false }, () => right.readLoop(() => {}))
    const error = yield* shrinking
    assert.ok(error instanceof UnexpectedEnd, `${error}`)
    assert.match(
      error.message,
      /^sendFile\(.*\): the file ended after \d+ of 3000000 bytes; it became shorter/,
    )
    yield* reading.stop()
  },
)

realTest('errors name the path, have a code, and come before anything is sent', function* () {
  const path = fileWith('0123456789')
  const target = pipe()
  const closed = pipe()
  yield* closed.close()
  const before = descriptors()
  const rows: [Op<unknown>, new (...args: any[]) => Error, RegExp][] = [
    [
      sendFile(path, target, { start: 11 }),
      IOError,
      /failed: the file has 10 bytes, too few for position 11 \(ERANGE\)$/,
    ],
    [
      sendFile(path, target, { start: 5, length: 6 }),
      IOError,
      /has 10 bytes, too few for 6 bytes from position 5 on \(ERANGE\)$/,
    ],
    [
      sendFile(fileWith(''), target, { length: 1 }),
      IOError,
      /has 0 bytes, too few for 1 byte from .*\(ERANGE\)$/,
    ],
    [sendFile(fileWith(''), target, { start: 1 }), IOError, /ERANGE/],
    [sendFile(folder, target), IOError, /failed: illegal operation on a directory \(EISDIR\)$/],
    [sendFile(`${path}.none`, target), IOError, /\(ENOENT\)$/],
    [
      sendFile('/dev/zero', target, { start: 1, length: 1 }),
      Error,
      /^\/dev\/zero has no seek\(\): it is a device/,
    ],
    [sendFile(path, closed), StreamClosed, /^pipe\.write\(\)/],
  ]
  for (const [op, kind, message] of rows) {
    const error = yield* thrownBy(op)
    assert.ok(error instanceof kind, `${error}`)
    assert.match(error.message, message)
    assert.match((error as IOError).code, /^[A-Z_]+$/)
  }
  assert.equal(target.stats().written, 0)
  yield* descriptorsBack(before)
})
