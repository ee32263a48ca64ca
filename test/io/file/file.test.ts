// An open file: what is read and written, where, and what comes of errors and stops. Real files.

import { appendFileSync, closeSync, openSync, readFileSync, truncateSync } from 'node:fs'
import { type File, IOError, openFile, StreamClosed, UnexpectedEnd } from 'polyphony/io'
import {
  assert,
  BadState,
  describe,
  Fiber,
  moveOnAfter,
  type Routine,
  random,
  run,
  runtime,
  snooze,
  spin,
  test,
  thrownBy,
  turn,
  until,
} from '../../prelude.js'
import { expiring } from '../../shared/limits.js'
import { outcomeOf, pattern } from '../../shared/stream.js'
import { fileWith, freshPath, textOf } from '../folder.js'
import { realTest, struckWaiting } from '../real.js'

type Body = (file: File) => Routine<void>

/** A test with an open file that has this in it, and is closed afterwards. */
const testFile = (name: string, flags: 'r' | 'r+' | 'a+', content: string, body: Body): void =>
  test(name, () => run(() => openFile(fileWith(content), flags, body)))

testFile('can be read when writing has ended', 'r+', '', function* (file) {
  yield* file.end('hello ', Buffer.from('wor'), 'ld\né')
  assert.equal(textOf(file.path), 'hello world\né')
  assert.ok((yield* thrownBy(file.write('more'))) instanceof StreamClosed)
  file.seek(0)
  assert.equal(yield* file.gets(), 'hello world')
})

testFile('goes on after its end when it has grown', 'r', 'one\n', function* (file) {
  assert.deepEqual([yield* file.gets(), yield* file.gets()], ['one', undefined])
  for (let n = 0; n < 3; n++) yield* turn()
  assert.ok(!process.getActiveResourcesInfo().includes('FSReqCallback'), 'it is read on and on')
  appendFileSync(file.path, 'two\nabc')
  assert.equal(yield* file.gets(), 'two')
  assert.ok((yield* thrownBy(file.readExactly(5))) instanceof UnexpectedEnd)
  assert.equal(file.position, 8)
  assert.equal(String(yield* file.read()), 'abc')
})

testFile('is read ahead by a little only', 'r', 'x'.repeat(3_000_000), function* (file) {
  yield* file.read(1)
  for (let n = 0; n < 30; n++) yield* turn()
  assert.ok(file.stats().unread < 500_000, `${file.stats().unread} bytes`)
})

testFile('takes what several fibers write in the order of their calls', 'r+', '', function* (file) {
  const expected: string[] = []
  const writers = Array.from({ length: 50 }, (_, i) =>
    spin(function* () {
      for (let n = 0; n < 5; n++) {
        const line = `${i}:${n} ${'x'.repeat(i * n * 10)}\n`
        expected.push(line)
        yield* file.write(line.slice(0, 3), line.slice(3))
      }
    }),
  )
  yield* Fiber.await(...writers)
  assert.equal(textOf(file.path), expected.join(''))
})

testFile('takes more pieces in one write than the system does', 'r+', '', function* (file) {
  yield* file.write(...Array<string>(2500).fill('ab'))
  assert.equal(textOf(file.path), 'ab'.repeat(2500))
})

testFile('tells what the system knows, and is cut off where one likes', 'r+', '0123456789', function* (file) {
  assert.equal((yield* file.stat()).size, 10)
  assert.equal(String(yield* file.read(2)), '01')
  yield* file.truncate(5)
  assert.equal(file.position, 2)
  assert.equal(String(yield* file.readAll()), '234') // not what was read ahead
  yield* file.truncate()
  yield* file.write('x')
  yield* file.sync()
  assert.equal(textOf(file.path), '\0\0\0\0\0x')
})

testFile('larger than memory can be read at its far end', 'r+', '', function* (file) {
  truncateSync(file.path, 5_000_000_000)
  file.seek(4_999_999_998)
  yield* file.write('end')
  file.seek(4_999_999_996)
  assert.equal(String(yield* file.readAll()), '\0\0end')
  assert.equal(file.position, 5_000_000_001)
})

realTest('is written to its end if one fiber ends it and another closes it', function* () {
  const file = yield* openFile(freshPath(), 'w')
  const fibers = [spin(() => file.end('hello')), spin(() => file.close())]
  yield* Fiber.await(...fibers)
  yield* openFile(file.path, 'a', (again) => again.end())
  const lost = yield* openFile(file.path, 'a')
  lost.tryWrite('lost')
  lost.destroy()
  yield* lost.close()
  assert.equal(textOf(file.path), 'hello')
})

testFile('S35 a stop waits for the write that is underway: its bytes are there', 'r+', '', function* (file) {
  const writer = spin(() => file.write('x'.repeat(1_000_000)))
  yield* snooze()
  yield* writer.stop()
  assert.equal(textOf(file.path).length, 1_000_000)
})

describe('the place', () => {
  testFile('is that of the next byte, whatever was read ahead', 'r', 'one\ntwö\nthree\n', function* (file) {
    const places: unknown[] = [file.position]
    for (let i = 0; i < 4; i++) places.push(yield* file.gets(), file.position)
    assert.deepEqual(places, [0, 'one', 4, 'twö', 9, 'three', 15, undefined, 15])
    file.seek(4)
    assert.equal(yield* file.gets(), 'twö')
  })

  testFile('is one for reading and writing', 'r+', 'aaaa\nbbbb\ncccc\n', function* (file) {
    assert.equal(yield* file.gets(), 'aaaa')
    yield* file.write('BB')
    assert.equal(file.position, 7)
    assert.equal(yield* file.gets(), 'bb')
    yield* file.write('CC')
    assert.equal(textOf(file.path), 'aaaa\nBBbb\nCCcc\n')
  })

  testFile('is not moved by what is appended', 'a+', 'one\ntwo\n', function* (file) {
    assert.equal(yield* file.gets(), 'one')
    yield* file.write('three\n')
    assert.equal(file.position, 4)
    assert.deepEqual([yield* file.gets(), yield* file.gets()], ['two', 'three'])
  })

  testFile('that another fiber changes is where a wait goes on', 'r+', 'abcdef', function* (file) {
    const read = yield* struckWaiting(
      () => file.readExactly(3),
      () => file.seek(3),
    )
    assert.deepEqual(read.outcome, { type: 'value', value: Buffer.from('def') })
    const late = yield* struckWaiting(
      () => file.gets(),
      () => file.tryWrite('ghi\n'), // where the reader was to read: it reads on after it
    )
    assert.deepEqual(late.outcome, { type: 'value', value: undefined })
  })

  testFile('of a write is that of its moment, for each of several too', 'r+', '0123456789', function* (file) {
    const writers = [6, 0, 2, 2, 8].map((place, index) =>
      spin(function* () {
        file.seek(place)
        yield* file.write(index === 3 ? 'CD' : 'ab')
      }),
    )
    yield* Fiber.await(...writers)
    assert.equal(textOf(file.path), 'abCD45abab')
  })

  for (const flags of ['r+', 'w+', 'a+'] as const) {
    for (let seed = 1; seed <= 3; seed++) {
      test(`is right after any mixture of reading, writing and seeking ('${flags}', seed ${seed})`, () =>
        run(() => mixture(flags, random(seed))))
    }
  }

  /** Compares a file with bytes and a number. What was read stays as it is, though the memory of files is used again. */
  function* mixture(flags: 'r+' | 'w+' | 'a+', next: () => number): Routine<void> {
    const upTo = (n: number) => Math.floor(next() * n)
    const piece = () => Buffer.from('é\nx😀\r\nline '.repeat(upTo(next() < 0.1 ? 20_000 : 40)))
    let bytes = flags === 'w+' ? Buffer.alloc(0) : piece()
    let place = 0
    const file = yield* openFile(fileWith(bytes), flags)
    const kept: [Buffer, string][] = []
    const resized = (length: number) => Buffer.concat([bytes.subarray(0, length)], length)
    const read = (count: number) => {
      const part = bytes.subarray(place, place + count)
      place += part.length
      return part
    }
    const same = (given: Buffer, count: number) => {
      assert.ok(given.equals(read(count)))
      kept.push([given, given.toString('hex')])
    }
    for (let i = 0; i < 300; i++) {
      const what = upTo(8)
      if (what === 0) {
        const data = piece()
        const at = flags === 'a+' ? bytes.length : place
        bytes = Buffer.concat([bytes], Math.max(bytes.length, data.length === 0 ? 0 : at + data.length))
        data.copy(bytes, at)
        if (flags !== 'a+') place += data.length
        yield* file.write(data.subarray(0, 7), data.subarray(7))
      } else if (what === 1) file.seek((place = upTo(bytes.length + 10)))
      else if (what === 2) {
        bytes = resized(upTo(bytes.length + 5))
        yield* file.truncate(bytes.length)
      } else if (what <= 4) {
        const end = bytes.indexOf(10, place)
        const line = end < 0 ? read(bytes.length) : read(end + 1 - place)
        const expected = String(line).replace(end < 0 ? '' : /\r?\n$/, '')
        assert.equal(yield* file.gets(), line.length === 0 ? undefined : expected)
      } else if (what === 5) {
        const count = upTo(300)
        if (place + count <= bytes.length) same(yield* file.readExactly(count), count)
      } else if (what === 6) {
        const given = yield* file.read(1 + upTo(100_000))
        if (given === undefined) assert.ok(place >= bytes.length)
        else same(given, given.length)
      } else assert.equal(file.position, place)
    }
    yield* file.close()
    assert.deepEqual(readFileSync(file.path), bytes)
    for (const [given, then] of kept) assert.equal(given.toString('hex'), then)
  }

  realTest('memory that was read into is used again only if no reader has it', function* () {
    const [path, other] = [fileWith(pattern(3_000_000, 1)), fileWith(pattern(3_000_000, 2))]
    const kept = yield* openFile(path, 'r', function* (file) {
      const parts: Buffer[] = []
      for (let part: Buffer | undefined; (part = yield* file.read(150_000)) !== undefined; ) parts.push(part)
      return parts
    })
    yield* openFile(other, 'r', (file) => file.readLoop(() => {}))
    assert.ok(Buffer.concat(kept).equals(pattern(3_000_000, 1)))
  })
})

describe('what goes wrong', () => {
  realTest('a full disk fails the write that filled it, and the next, not the stream', function* () {
    const file = yield* openFile('/dev/full', 'w')
    for (let i = 0; i < 2; i++) {
      const error = yield* thrownBy(file.write('x'))
      assert.ok(error instanceof IOError)
      assert.equal(error.message, '/dev/full.write() failed: no space left on device (ENOSPC)')
    }
    const underway = spin(() => thrownBy(file.write('x')))
    yield* snooze()
    yield* until(new Promise<void>((begun) => process.nextTick(begun)))
    const behind = yield* thrownBy(file.write('y'))
    assert.deepEqual([(yield* underway).code, behind.code], ['ENOSPC', 'ENOSPC'])
    yield* file.close()
  })

  realTest('a write that no fiber waited for fails the next one, or the close', function* () {
    const isFull = ({ code }: { code: string }) => code === 'ENOSPC'
    const file = yield* openFile('/dev/full', 'w')
    file.tryWrite('x')
    assert.ok(isFull(yield* thrownBy(file.close())))
    assert.equal(file.isClosed, true)
    const over = yield* openFile('/dev/full', 'w')
    over.tryWrite('x')
    yield* over.stat() // comes after the write
    assert.ok(isFull(yield* thrownBy(over.write('y'))))
    assert.ok(isFull(yield* thrownBy(over.close())))
  })

  /** Lets the number of an open file stand for another. */
  function becomes(fd: number, path: string, flags: string): void {
    closeSync(fd)
    assert.equal(openSync(path, flags), fd)
  }

  realTest('after a write that failed, the file is where it was, and can be written again', function* () {
    const file = yield* openFile(fileWith('0123'), 'r+')
    yield* file.write('ab')
    becomes(file.fd, '/dev/null', 'r')
    assert.equal((yield* thrownBy(file.write('xx'))).code, 'EBADF')
    assert.equal(file.position, 2)
    becomes(file.fd, file.path, 'r+')
    yield* file.write('cd')
    assert.equal(textOf(file.path), 'abcd')
    becomes(file.fd, '/dev/null', 'r')
    file.tryWrite('xx')
    yield* file.stat() // comes after the write
    becomes(file.fd, file.path, 'r+')
    assert.equal((yield* thrownBy(file.write('yy'))).code, 'EBADF') // it could not be told before
    assert.equal((yield* thrownBy(file.close())).code, 'EBADF')
  })

  realTest('a call can be waited for again, also after a stop, and not by two fibers at once', function* () {
    const { external } = runtime()
    const open = openFile(fileWith('x'))
    const opening = spin(() => open)
    yield* snooze()
    yield* opening.stop()
    const file = yield* open
    const stat = file.stat()
    const fiber = spin(() => stat)
    yield* snooze()
    assert.match((yield* thrownBy(stat)).message, /\.stat\(\)/)
    yield* fiber.stop()
    assert.equal((yield* stat).size, 1)
    yield* file.close()
    assert.equal(runtime().external, external)
  })

  realTest('an error of the close is told by it', function* () {
    const file = yield* openFile(fileWith('x'))
    closeSync(file.fd) // behind its back
    assert.match((yield* thrownBy(file.close())).message, /\.close\(\) failed: bad file descriptor \(EBADF\)/)
  })

  realTest('an error of a read is told by it', function* () {
    const file = yield* openFile('/proc/self/mem')
    assert.match((yield* thrownBy(file.gets())).message, /^\/proc\/self\/mem\.gets\(\) failed: .*\(EIO\)/)
    yield* outcomeOf(file.close())
  })

  realTest('reading what was opened for writing, or the other way round, is refused', function* () {
    const path = fileWith('x')
    const [reading, writing] = [yield* openFile(path), yield* openFile(path, 'a')]
    const errors = [yield* thrownBy(reading.write('x')), yield* thrownBy(writing.gets())]
    assert.ok(errors.every((error) => error instanceof BadState))
    assert.deepEqual(
      errors.map((error) => error.message.replace(path, 'it')),
      [
        "it cannot be written to: it was opened with 'r', for reading only",
        "it cannot be read from: it was opened with 'a', for writing only",
      ],
    )
    assert.equal(yield* reading.gets(), 'x') // no harm done
    yield* writing.write('y')
    yield* reading.close()
    yield* writing.close()
  })

  realTest('after the close everything is too late, and a second close is nothing', function* () {
    const file = yield* openFile(fileWith('x'), 'r+')
    const told = spin(() => thrownBy(file.readExactly(100)))
    yield* snooze()
    yield* file.close()
    assert.ok((yield* told) instanceof StreamClosed)
    yield* file.close()
    for (const op of [file.gets(), file.write('x'), file.stat(), file.truncate(), file.sync()]) {
      assert.ok((yield* thrownBy(op)) instanceof StreamClosed)
    }
    assert.throws(() => file.seek(0), StreamClosed)
  })

  realTest('a destroy tells what has not begun that it is closed', function* () {
    const file = yield* openFile(fileWith('x'), 'r+')
    const fibers = [spin(() => outcomeOf(file.stat())), spin(() => thrownBy(file.sync()))]
    yield* snooze()
    file.destroy()
    const [, late] = yield* Fiber.await(...fibers)
    assert.match(late.message, /\.sync\(\) failed: the file was closed before it began$/)
  })

  realTest('a device has no place, and can be read and left', function* () {
    const device = yield* openFile('/dev/zero')
    assert.throws(() => device.seek(0), BadState)
    assert.throws(() => device.position, /\/dev\/zero has no position: it is a device, not a file on a disk/)
    assert.deepEqual(yield* device.readExactly(3), Buffer.alloc(3))
    yield* thrownBy(device.truncate())
    assert.ok(device.stats().unread > 0) // what was read ahead is still there
    yield* expiring(moveOnAfter, () => device.readUntil('x', { limit: Infinity }))
    yield* turn()
    yield* device.close()
  })
})
