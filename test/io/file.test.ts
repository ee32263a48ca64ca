// Files: what is read and written, where, and what comes of errors and stops. Real files, in a folder of their own.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import {
  BadArgument,
  BadState,
  each,
  Fiber,
  forEach,
  type Op,
  type Routine,
  run,
  snooze,
  spin,
  until,
  use,
} from 'polyphony'
import {
  appendFile,
  type File,
  type FileFlags,
  IOError,
  LimitExceeded,
  openFile,
  pipe,
  readFile,
  readLines,
  StreamClosed,
  UnexpectedEnd,
  writeFile,
} from 'polyphony/io'
import { program, random, thrownBy } from '../prelude.js'
import { struckWaiting } from './real.js'

const folder = mkdtempSync(join(tmpdir(), 'polyphony-file-'))
after(() => rmSync(folder, { recursive: true }))
let made = 0

/** A file with this in it. */
function fileWith(content: string | Buffer): string {
  const path = join(folder, `file-${++made}`)
  writeFileSync(path, content)
  return path
}
const freshPath = () => join(folder, `file-${++made}`)
const textOf = (path: string) => readFileSync(path, 'utf8')

/** One turn of the event loop. */
const loopTurn = () => until(new Promise<void>((resolve) => setImmediate(resolve)))

/** Which files this process has open. */
function descriptors(): number {
  return readdirSync('/proc/self/fd').length
}
/** Waits for as many as there were: closing is done by a thread, and may come after what it belongs to. */
function* descriptorsBack(before: number): Routine<void> {
  for (let i = 0; descriptors() !== before; i++) {
    assert.ok(i < 10_000, `${descriptors()} descriptors are open, ${before} were before`)
    yield* loopTurn()
  }
}

describe('a file', () => {
  it('is read by lines, by chunks and by counted bytes, and undefined at the end', () =>
    run(function* () {
      const file = yield* openFile(fileWith('one\ntwo\r\nthree and more'))
      assert.equal(yield* file.gets(), 'one')
      assert.equal(String(yield* file.read(2)), 'tw')
      assert.equal(yield* file.gets(), 'o')
      assert.equal(String(yield* file.readExactly(5)), 'three')
      assert.equal(String(yield* file.readUntil('d')), ' and')
      assert.equal(String(yield* file.readAll()), ' more')
      assert.equal(yield* file.gets(), undefined)
      assert.equal(yield* file.read(), undefined)
      yield* file.close()
    }))

  it('is written, and read by others once the write is over', () =>
    run(function* () {
      const path = freshPath()
      const file = yield* openFile(path, 'w')
      yield* file.write('hello ', Buffer.from('wor'), 'ld\n')
      assert.equal(textOf(path), 'hello world\n')
      yield* file.write('é')
      assert.equal(textOf(path), 'hello world\né')
      yield* file.close()
    }))

  it('is opened by its path or its URL, and knows where it is', () =>
    run(function* () {
      const path = fileWith('x')
      const file = yield* openFile(pathToFileURL(path))
      assert.deepEqual([file.path, file.name, typeof file.fd], [path, path, 'number'])
      yield* file.close()
    }))

  const flags: [FileFlags, string | null, string][] = [
    ['w', 'old', 'new'],
    ['w', null, 'new'],
    ['w+', 'old', 'new'],
    ['a', 'old', 'oldnew'],
    ['a+', 'old', 'oldnew'],
    ['a', null, 'new'],
    ['r+', 'older', 'newer'],
    ['wx', null, 'new'],
    ['wx+', null, 'new'],
    ['ax', null, 'new'],
    ['ax+', null, 'new'],
  ]
  for (const [flag, before, expected] of flags) {
    it(`opened with '${flag}' ${before === null ? 'where there was none' : `over '${before}'`}, then written to, holds '${expected}'`, () =>
      run(function* () {
        const path = before === null ? freshPath() : fileWith(before)
        yield* openFile(path, flag, (file) => file.write('new'))
        assert.equal(textOf(path), expected)
      }))
  }

  it('is made with the permissions given', () =>
    run(function* () {
      const path = freshPath()
      yield* (yield* openFile(path, 'w', 0o600)).close()
      assert.equal(statSync(path).mode & 0o777, 0o600)
    }))

  it('takes the writes of several fibers in the order of the calls, each whole', () =>
    run(function* () {
      const path = freshPath()
      const file = yield* openFile(path, 'w')
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
      yield* file.close()
      assert.equal(textOf(path), expected.join(''))
    }))

  it('goes on after its end when it has grown', () =>
    run(function* () {
      const path = fileWith('one\n')
      const file = yield* openFile(path)
      assert.equal(yield* file.gets(), 'one')
      assert.equal(yield* file.gets(), undefined)
      appendFileSync(path, 'two\n')
      assert.equal(yield* file.gets(), 'two')
      assert.equal(yield* file.read(), undefined)
      yield* file.close()
    }))

  it('keeps what is left when it ends in the middle of what was asked for', () =>
    run(function* () {
      const file = yield* openFile(fileWith('abc'))
      assert.ok((yield* thrownBy(file.readExactly(5))) instanceof UnexpectedEnd)
      assert.equal(file.position, 0)
      assert.equal(String(yield* file.read()), 'abc')
      yield* file.close()
    }))

  it('is closed when the body is over, which gives the result', () =>
    run(function* () {
      let kept: File | undefined
      const line = yield* openFile(fileWith('first\n'), 'r', function* (file) {
        kept = file
        return yield* file.gets()
      })
      assert.equal(line, 'first')
      assert.equal(kept?.isClosed, true)
    }))

  it('is closed when the body fails, or its fiber is stopped or killed', () =>
    run(function* () {
      const path = fileWith('x')
      const before = descriptors()
      const failing = openFile(path, 'r', () => {
        throw new Error('no')
      })
      assert.equal((yield* thrownBy(failing)).message, 'no')
      yield* descriptorsBack(before)
      for (const end of ['stop', 'kill'] as const) {
        const opened = withResolvers<void>()
        const fiber = spin(() =>
          openFile(path, 'r', function* () {
            opened.resolve()
            yield* until(new Promise(() => {}))
          }),
        )
        yield* until(opened.promise)
        yield* fiber[end]()
        yield* descriptorsBack(before)
      }
    }))

  it('can be given to use() and is closed with the scope', () =>
    run(function* () {
      const before = descriptors()
      const reader = spin(function* () {
        const file = yield* use(yield* openFile(fileWith('x\n')), (it) => it.close())
        return yield* file.gets()
      })
      assert.equal(yield* reader, 'x')
      yield* descriptorsBack(before)
    }))

  it('tells what the system knows of it, and is cut off where one likes', () =>
    run(function* () {
      const path = fileWith('0123456789')
      const file = yield* openFile(path, 'r+')
      assert.equal((yield* file.stat()).size, 10)
      assert.equal(String(yield* file.read(2)), '01')
      yield* file.truncate(5)
      assert.equal(file.position, 2)
      assert.equal(String(yield* file.readAll()), '234') // not what was read ahead
      yield* file.truncate()
      assert.equal((yield* file.stat()).size, 0)
      yield* file.write('x')
      yield* file.sync()
      assert.equal(textOf(path), '\0\0\0\0\0x')
      yield* file.close()
    }))

  it('larger than memory can be read at its far end', () =>
    run(function* () {
      const path = fileWith('')
      truncateSync(path, 5_000_000_000)
      const file = yield* openFile(path, 'r+')
      file.seek(4_999_999_998)
      yield* file.write('end')
      file.seek(4_999_999_996)
      assert.equal(String(yield* file.readAll()), '\0\0end')
      assert.equal(file.position, 5_000_000_001)
      yield* file.close()
    }))
})

/** Promise.withResolvers, which Node 20 has not. */
function withResolvers<T>() {
  let resolve!: (value: T) => void
  const promise = new Promise<T>((resolved) => (resolve = resolved))
  return { promise, resolve }
}

describe('the place in a file', () => {
  it('is where the next bytes are, whatever was read ahead', () =>
    run(function* () {
      const file = yield* openFile(fileWith('one\ntwö\nthree\n'))
      const places: unknown[] = [file.position]
      for (let i = 0; i < 4; i++) places.push(yield* file.gets(), file.position)
      assert.deepEqual(places, [0, 'one', 4, 'twö', 9, 'three', 15, undefined, 15])
      file.seek(4)
      assert.equal(yield* file.gets(), 'twö')
      yield* file.close()
    }))

  it('is one for reading and writing: what is written replaces what would have been read', () =>
    run(function* () {
      const path = fileWith('aaaa\nbbbb\ncccc\n')
      const file = yield* openFile(path, 'r+')
      assert.equal(yield* file.gets(), 'aaaa')
      yield* file.write('BB')
      assert.equal(file.position, 7)
      assert.equal(yield* file.gets(), 'bb')
      yield* file.write('CC')
      assert.equal(textOf(path), 'aaaa\nBBbb\nCCcc\n')
      yield* file.close()
    }))

  it('is not moved by what is appended', () =>
    run(function* () {
      const path = fileWith('one\ntwo\n')
      const file = yield* openFile(path, 'a+')
      assert.equal(yield* file.gets(), 'one')
      yield* file.write('three\n')
      assert.equal(file.position, 4)
      assert.deepEqual([yield* file.gets(), yield* file.gets()], ['two', 'three'])
      assert.equal(textOf(path), 'one\ntwo\nthree\n')
      yield* file.close()
    }))

  it('that another fiber changes is where a wait goes on', () =>
    run(function* () {
      const file = yield* openFile(fileWith('abcdef'), 'r+')
      let read = ''
      yield* struckWaiting(
        function* () {
          read = String(yield* file.readExactly(3))
        },
        () => file.seek(3),
      )
      assert.equal(read, 'def')
      const late = yield* struckWaiting(
        () => file.gets(),
        () => file.tryWrite('ghi\n'), // where the reader was to read: it reads on after it
      )
      assert.deepEqual(late.outcome, { type: 'value', value: undefined })
      yield* file.close()
    }))

  it('is that of the moment of the write, also for several in one turn', () =>
    run(function* () {
      const path = fileWith('0123456789')
      const file = yield* openFile(path, 'r+')
      const writers = [6, 0, 2, 8].map((place) =>
        spin(function* () {
          file.seek(place)
          yield* file.write('ab')
        }),
      )
      yield* Fiber.await(...writers)
      assert.equal(textOf(path), 'abab45abab')
      yield* file.close()
    }))

  it('cannot be before the beginning, nor in a device', () =>
    run(function* () {
      const file = yield* openFile(fileWith('x'))
      for (const place of [-1, 1.5, Number.NaN, '0' as unknown as number]) {
        assert.throws(() => file.seek(place), BadArgument)
      }
      yield* file.close()
      const device = yield* openFile('/dev/zero')
      assert.throws(() => device.seek(0), BadState)
      assert.throws(() => device.position, BadState)
      assert.deepEqual(yield* device.readExactly(3), Buffer.alloc(3))
      yield* device.close()
    }))

  /** A file as bytes and a number, to compare with. */
  for (const flags of ['r+', 'w+', 'a+'] as const) {
    for (let seed = 1; seed <= 15; seed++) {
      it(`S34 is right after any mixture of reading, writing and seeking ('${flags}', seed ${seed})`, () =>
        run(function* () {
          const next = random(seed)
          const upTo = (n: number) => Math.floor(next() * n)
          const piece = () => Buffer.from('é\nx😀\r\nline '.repeat(upTo(next() < 0.1 ? 20_000 : 40)))
          let bytes = flags === 'w+' ? Buffer.alloc(0) : piece()
          let place = 0
          const path = fileWith(bytes)
          const file = yield* openFile(path, flags)
          const kept: [Buffer, string][] = []
          const read = (count: number) => {
            const part = bytes.subarray(place, place + count)
            place += part.length
            return part
          }
          for (let i = 0; i < 200; i++) {
            const what = upTo(8)
            if (what === 0) {
              const data = piece()
              const at = flags === 'a+' ? bytes.length : place
              const grown = Buffer.alloc(Math.max(bytes.length, data.length === 0 ? 0 : at + data.length))
              bytes.copy(grown)
              data.copy(grown, at)
              bytes = grown
              if (flags !== 'a+') place += data.length
              yield* file.write(data.subarray(0, 7), data.subarray(7))
            } else if (what === 1) {
              place = upTo(bytes.length + 10)
              file.seek(place)
            } else if (what === 2) {
              const length = upTo(bytes.length + 5)
              const cut = Buffer.alloc(length)
              bytes.copy(cut)
              bytes = cut
              yield* file.truncate(length)
            } else if (what <= 4) {
              const end = bytes.indexOf(10, place)
              const line = end < 0 ? read(bytes.length) : read(end + 1 - place)
              const text = String(line).replace(end < 0 ? '' : /\r?\n$/, '')
              assert.equal(yield* file.gets(), line.length === 0 ? undefined : text)
            } else if (what === 5) {
              const count = upTo(300)
              if (place + count <= bytes.length) {
                const given = yield* file.readExactly(count)
                assert.deepEqual(given, read(count))
                kept.push([given, given.toString('hex')])
              }
            } else if (what === 6) {
              const max = 1 + upTo(100_000)
              const given = yield* file.read(max)
              if (given === undefined) assert.ok(place >= bytes.length)
              else {
                assert.deepEqual(given, read(given.length))
                kept.push([given, given.toString('hex')])
              }
            } else assert.equal(file.position, place)
          }
          yield* file.close()
          assert.deepEqual(readFileSync(path), bytes)
          for (const [given, then] of kept) assert.equal(given.toString('hex'), then) // nobody else has used its memory
        }))
    }
  }
})

describe('what goes wrong with a file', () => {
  it('is told by the wait that asked, with the code of the system and the path', () =>
    run(function* () {
      const path = fileWith('x')
      const cases: [Op<unknown>, string, string][] = [
        [openFile(join(folder, 'none')), 'ENOENT', 'openFile'],
        [openFile(folder), 'EISDIR', 'openFile'],
        [openFile(folder, 'w'), 'EISDIR', 'openFile'],
        [openFile(join(path, 'below')), 'ENOTDIR', 'openFile'],
        [openFile(path, 'wx'), 'EEXIST', 'openFile'],
        [readFile(join(folder, 'none')), 'ENOENT', 'readFile'],
        [readFile(folder), 'EISDIR', 'readFile'],
        [writeFile(folder, 'x'), 'EISDIR', 'writeFile'],
        [writeFile(join(folder, 'none', 'x'), 'x', { atomic: true }), 'ENOENT', 'writeFile'],
        [appendFile(folder, 'x'), 'EISDIR', 'appendFile'],
        [readLines(join(folder, 'none')), 'ENOENT', 'readLines'],
      ]
      const before = descriptors()
      for (const [op, code, what] of cases) {
        const error = yield* thrownBy(op)
        assert.ok(error instanceof IOError, `${error}`)
        assert.equal(error.code, code)
        assert.match(error.message, new RegExp(`^${what}\\(${folder}.*\\(${code}\\)`))
      }
      yield* descriptorsBack(before)
    }))

  it('a full disk fails the write that filled it, and the next, and not those before', () =>
    run(function* () {
      const file = yield* openFile('/dev/full', 'w')
      for (let i = 0; i < 2; i++) {
        const error = yield* thrownBy(file.write('x'))
        assert.ok(error instanceof IOError)
        assert.equal(error.code, 'ENOSPC')
        assert.match(error.message, /^\/dev\/full\.write\(\) failed: no space left on device \(ENOSPC\)/)
      }
      yield* file.close()
      const error = yield* thrownBy(writeFile('/dev/full', 'x'))
      assert.equal(error.code, 'ENOSPC')
    }))

  it('a write that nobody waited for fails the next one, and the close', () =>
    run(function* () {
      const file = yield* openFile('/dev/full', 'w')
      assert.equal(file.tryWrite('x'), true)
      while ((yield* thrownByOr(file.write('y'))) === undefined);
      const untold = yield* openFile('/dev/full', 'w')
      untold.tryWrite('x')
      assert.equal((yield* thrownBy(untold.close())).code, 'ENOSPC')
      assert.equal(untold.isClosed, true)
      yield* thrownByOr(file.close())
      const over = yield* openFile('/dev/full', 'w')
      over.tryWrite('x')
      yield* over.stat() // comes after the write
      assert.equal((yield* thrownBy(over.close())).code, 'ENOSPC')
    }))

  it('an error of the close is told by it', () =>
    run(function* () {
      const file = yield* openFile(fileWith('x'))
      closeSync(file.fd) // by somebody else
      const error = yield* thrownBy(file.close())
      assert.ok(error instanceof IOError)
      assert.equal(error.code, 'EBADF')
      assert.match(error.message, /file-\d+\.close\(\) failed: bad file descriptor/)
    }))

  it('permissions that are missing are EACCES', async () => {
    const path = fileWith('secret')
    chmodSync(path, 0o600)
    chmodSync(folder, 0o755)
    const { stdout, stderr } = await program(`
      import { run } from 'polyphony'
      import { readFile, writeFile } from 'polyphony/io'
      if (process.getuid() === 0) process.setuid(65534)
      await run(function* () {
        for (const op of [readFile('${path}'), writeFile('${join(folder, 'new')}', 'x')]) {
          try {
            yield* op
          } catch (error) {
            console.log(error.constructor.name, error.code)
          }
        }
      })`)
    // Without root, the file is our own: then there is nothing to be refused.
    if (process.getuid?.() === 0) assert.deepEqual([stdout, stderr], ['IOError EACCES\nIOError EACCES\n', ''])
  })

  it('reading what was opened for writing, or the other way round, is refused in words', () =>
    run(function* () {
      const path = fileWith('x')
      const reading = yield* openFile(path)
      const writing = yield* openFile(path, 'a')
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
    }))

  it('after the close everything is too late, and a second close is not', () =>
    run(function* () {
      const file = yield* openFile(fileWith('x'), 'r+')
      yield* file.close()
      yield* file.close()
      for (const op of [file.gets(), file.write('x'), file.stat(), file.truncate(), file.sync()]) {
        assert.ok((yield* thrownBy(op)) instanceof StreamClosed)
      }
      assert.throws(() => file.seek(0), StreamClosed)
    }))

  it('who waits to read is told of the close', () =>
    run(function* () {
      const file = yield* openFile(fileWith('x'))
      const told = spin(() => thrownBy(file.readExactly(100)))
      yield* snooze()
      yield* file.close()
      assert.ok((yield* told) instanceof StreamClosed)
    }))

  it('an end is an end of writing only', () =>
    run(function* () {
      const path = fileWith('')
      const file = yield* openFile(path, 'w+')
      yield* file.end('all')
      assert.equal(textOf(path), 'all')
      assert.ok((yield* thrownBy(file.write('more'))) instanceof StreamClosed)
      file.seek(0)
      assert.equal(String(yield* file.readAll()), 'all')
      yield* file.close()
    }))

  it('wrong arguments are refused at the call', () => {
    const wrong: [() => unknown, RegExp][] = [
      [() => openFile(5 as any), /openFile\(\) needs a path/],
      [() => openFile('a\0b'), /openFile\(\) needs a path/],
      [() => openFile(new URL('http://x/')), /openFile\(\) needs a path/],
      [() => openFile('x', 'rw' as any), /no flags "rw"; there are: r, r\+, w/],
      [() => openFile('x', 'r', -1), /permissions from 0 to 0o7777, got -1/],
      [() => openFile('x', 'r', 'body' as any), /openFile\(\) needs a function\*/],
      [() => readFile('x', { encodign: 'utf8' } as any), /no option "encodign"/],
      [() => readFile('x', 'utf8' as any), /needs an object of options: \{ encoding: "utf8" \}/],
      [() => readFile('x', { encoding: 'utf9' as any }), /no encoding "utf9"/],
      [() => readFile('x', { limit: 0 }), /limit of readFile\(\)/],
      [() => writeFile('x', 5 as any), /needs a string or bytes/],
      [() => writeFile('x', 'x', { flag: 'r' as any }), /no flag "r"; there are: w, wx, a, ax/],
      [() => writeFile('x', 'x', { flag: 'a', atomic: true }), /cannot be atomic/],
      [() => writeFile('x', 'x', { mode: 1.5 }), /permissions/],
      [() => appendFile('x', 'x', { atomic: true } as any), /no option "atomic"/],
      [() => readLines({} as any), /readLines\(\) needs a path/],
      [() => readLines('x', undefined as any), /readLines\(\) needs a function\*/],
      [() => readLines('x', () => {}, { limit: -1 }), /limit of readLines/],
    ]
    for (const [call, message] of wrong) {
      assert.throws(call, (error) => error instanceof BadArgument && message.test(error.message))
    }
  })
})

/** What an op throws, if it does. */
function* thrownByOr(op: Op<unknown>): Routine<any> {
  try {
    yield* op
  } catch (error) {
    return error
  }
}

describe('whole files', () => {
  it('are read as bytes or as text', () =>
    run(function* () {
      const path = fileWith('héllo')
      assert.deepEqual(yield* readFile(path), Buffer.from('héllo'))
      assert.equal(yield* readFile(path, { encoding: 'utf8' }), 'héllo')
      assert.equal(yield* readFile(path, { encoding: 'latin1' }), 'hÃ©llo')
      assert.equal((yield* readFile(fileWith(''))).length, 0)
    }))

  it('large ones come whole', () =>
    run(function* () {
      const content = Buffer.from(Array.from({ length: 3_000_000 }, (_, i) => `${i}`).join(' '))
      assert.ok((yield* readFile(fileWith(content))).equals(content))
    }))

  it('that say their size is 0 come whole', () =>
    run(function* () {
      assert.match(yield* readFile('/proc/self/status', { encoding: 'utf8' }), /^Pid:\s+\d+$/m)
      assert.equal((yield* readFile('/proc/cpuinfo')).length > 0, true)
    }))

  it('beyond the limit are refused, and a device has one', () =>
    run(function* () {
      const path = fileWith('0123456789')
      assert.equal((yield* readFile(path, { limit: 10 })).length, 10)
      const errors = [yield* thrownBy(readFile(path, { limit: 9 })), yield* thrownBy(readFile('/dev/zero'))]
      assert.ok(errors.every((error) => error instanceof LimitExceeded))
      assert.match(`${errors[0]?.message}`, /more than 9 bytes/)
    }))

  it('are written anew, made, appended to', () =>
    run(function* () {
      const path = fileWith('a much longer text')
      yield* writeFile(path, 'short')
      yield* appendFile(path, Buffer.from('er'))
      assert.equal(textOf(path), 'shorter')
      yield* writeFile(path, '!', { flag: 'a' })
      assert.equal(textOf(path), 'shorter!')
      const fresh = freshPath()
      yield* appendFile(fresh, 'x', { mode: 0o640 })
      assert.deepEqual([textOf(fresh), statSync(fresh).mode & 0o777], ['x', 0o640])
      yield* writeFile(fresh, '')
      assert.equal(textOf(fresh), '')
    }))

  it('written atomically keep their permissions, and nothing else is left', () =>
    run(function* () {
      const place = join(folder, 'atomic')
      mkdirSync(place)
      const path = join(place, 'config')
      yield* writeFile(path, 'first', { atomic: true, mode: 0o640 })
      assert.deepEqual([textOf(path), statSync(path).mode & 0o777], ['first', 0o640])
      yield* writeFile(path, 'second', { atomic: true })
      assert.deepEqual([textOf(path), statSync(path).mode & 0o777], ['second', 0o640])
      assert.deepEqual(readdirSync(place), ['config'])
    }))

  it('written atomically take a draft that nobody else has: not one that a killed program with the same pid has left', () =>
    run(function* () {
      const place = join(folder, 'drafts')
      mkdirSync(place)
      const path = join(place, 'config')
      for (let i = 1; i < 1000; i++) writeFileSync(join(place, `.config.${process.pid}-${i}.tmp`), '')
      yield* writeFile(path, 'whole', { atomic: true })
      assert.equal(textOf(path), 'whole')
      const long = join(place, 'n'.repeat(250))
      yield* writeFile(long, 'long', { atomic: true })
      assert.equal(textOf(long), 'long')
      assert.equal(readdirSync(place).length, 1001)
    }))

  it('that no buffer can hold are refused with a sentence', () =>
    run(function* () {
      const path = fileWith('')
      truncateSync(path, 5e12) // it takes no room
      try {
        yield* readFile(path)
        assert.fail('it was read')
      } catch (error) {
        assert.ok(error instanceof LimitExceeded, String(error))
      } finally {
        truncateSync(path, 0)
      }
    }))

  it('each yield* of an op does it anew', () =>
    run(function* () {
      const path = fileWith('')
      const op = appendFile(path, 'x')
      yield* op
      yield* op
      assert.equal(textOf(path), 'xx')
    }))
})

describe('a file that is ended by one and closed by another', () => {
  it('is written to its end, and neither hears of an error', () =>
    run(function* () {
      const path = freshPath()
      const file = yield* openFile(path, 'w')
      yield* Fiber.await(
        spin(() => file.end('hello')),
        spin(() => file.close()),
      )
      assert.equal(textOf(path), 'hello')
    }))
})

describe('readLines', () => {
  it('gives all lines of a file or a stream, or one after the other', () =>
    run(function* () {
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
      yield* stream.write('a\nb\nc\n')
      yield* readLines(stream, (line) => line !== 'b')
      assert.equal(yield* stream.gets(), 'c')
      assert.equal(stream.isClosed, false)
    }))

  it('a limit holds for each line', () =>
    run(function* () {
      const path = fileWith('short\nnot so short\n')
      const seen: string[] = []
      const error = yield* thrownBy(readLines(path, (line) => void seen.push(line), { limit: 6 }))
      assert.ok(error instanceof LimitExceeded)
      assert.deepEqual(seen, ['short'])
      const long = fileWith(`${'x'.repeat(2_000_000)}\n`)
      assert.ok((yield* thrownBy(readLines(long))) instanceof LimitExceeded)
      let length = 0
      yield* readLines(long, (line) => void (length = line.length), { limit: Infinity })
      assert.equal(length, 2_000_000)
    }))

  it('feeds each() and forEach(), and closes its file when they are over', () =>
    run(function* () {
      const lines = Array.from({ length: 1000 }, (_, i) => `line ${i}`)
      const path = fileWith(lines.join('\n'))
      const before = descriptors()
      const found = yield* forEach(
        readLines(path),
        function* (line) {
          yield* snooze()
          return line
        },
        { concurrency: 7 },
      )
      assert.deepEqual(found satisfies string[], lines)
      let count = 0
      yield* each(readLines(path), () => ++count < 10)
      assert.equal(count, 10)
      yield* descriptorsBack(before)
    }))

  it('S50 a loop over a long file lets others run', () =>
    run(function* () {
      const path = fileWith('x\n'.repeat(100_000))
      let turns = 0
      const other = spin(function* () {
        for (;;) {
          yield* snooze()
          turns++
        }
      })
      let seen = 0
      let inARow = 0
      let most = 0
      yield* readLines(path, () => {
        inARow = turns === seen ? inARow + 1 : 1
        seen = turns
        most = Math.max(most, inARow)
      })
      assert.ok(most > 1 && most <= 129, `${most} lines in a row`)
      yield* other.stop()
    }))

  it('S09 a stop that comes while lines are there strikes before the next', () =>
    run(function* () {
      const path = fileWith('x\n'.repeat(1000))
      let count = 0
      const fiber: Fiber = spin(() =>
        readLines(path, () => {
          if (++count === 5) fiber.stop()
        }),
      )
      yield* fiber.join()
      assert.equal(count, 5)
    }))
})

describe('S35 a stop', () => {
  it('is told to who opens a file when that is open, and closed again', () =>
    run(function* () {
      const path = fileWith('x')
      const before = descriptors()
      for (let i = 0; i < 20; i++) {
        const fiber = spin(() => openFile(path))
        yield* snooze()
        yield* fiber.stop()
        assert.equal(descriptors(), before)
      }
    }))

  it('waits for the write that is underway: its bytes are in the file', () =>
    run(function* () {
      const path = freshPath()
      const file = yield* openFile(path, 'w')
      const content = 'x'.repeat(1_000_000)
      const writer = spin(() => file.write(content))
      yield* snooze()
      yield* writer.stop()
      assert.equal(textOf(path), content)
      yield* file.close()
    }))

  it('at any moment leaves no descriptor behind, and no half of an atomic write', { timeout: 60_000 }, () =>
    run(function* () {
      const place = join(folder, 'stops')
      mkdirSync(place)
      const path = join(place, 'data')
      const [old, fresh] = ['old\n'.repeat(1000), 'fresh\n'.repeat(1000)]
      writeFileSync(path, old)
      const before = descriptors()
      function* work(): Routine<void> {
        yield* openFile(path, 'r', function* (file) {
          for (let i = 0; i < 3; i++) yield* file.gets()
          file.seek(100)
          yield* file.readExactly(50)
          yield* file.stat()
        })
        yield* readFile(path)
        yield* readLines(path, () => {})
        yield* writeFile(path, fresh, { atomic: true })
        yield* appendFile(join(place, 'log'), 'x\n')
      }
      let ended = 0
      let stopped = 0
      for (const how of ['stop', 'kill'] as const) {
        ended = 0
        for (let wait = 0; ended < 3; wait++) {
          const fiber = spin(work)
          for (let i = 0; i < wait && fiber.state !== 'dead'; i++) yield* loopTurn()
          const { type } = yield* fiber[how]()
          assert.ok(type === 'stopped' || type === 'value', type)
          if (type === 'stopped') stopped++
          else ended++
          yield* descriptorsBack(before)
          assert.ok([old, fresh].includes(textOf(path)))
          const drafts = readdirSync(place).filter((name) => name.endsWith('.tmp'))
          if (how === 'stop') assert.deepEqual(drafts, []) // who is killed cannot wait, and so not tidy up
        }
      }
      assert.ok(stopped > 10, `${stopped} stops`)
    }),
  )
})

describe('a named pipe', () => {
  function fifo(): string {
    const path = freshPath()
    execFileSync('mkfifo', [path])
    return path
  }

  it('is opened when both sides are there, and read to its end', () =>
    run(function* () {
      const path = fifo()
      const before = descriptors()
      const reader = spin(() => openFile(path, 'r', (file) => readLines(file)))
      yield* openFile(path, 'w', function* (file) {
        yield* file.write('one\ntwo\n')
        assert.throws(() => file.position, BadState)
        assert.throws(() => file.seek(0), BadState)
        assert.equal((yield* file.stat()).isFIFO(), true)
      })
      assert.deepEqual(yield* reader, ['one', 'two'])
      yield* descriptorsBack(before)
    }))

  it('can be read as a whole', () =>
    run(function* () {
      const path = fifo()
      spin(() => writeFile(path, 'x'.repeat(300_000)))
      assert.equal((yield* readFile(path)).length, 300_000)
    }))

  for (const flags of ['r', 'w'] as const) {
    it(`S35 who waits for its other side ('${flags}') is stopped at once, and no thread stays behind`, () =>
      run(function* () {
        const before = descriptors()
        // More than Node has threads: were one left behind, the last could not end.
        for (let i = 0; i < 6; i++) {
          const fiber = spin(() => openFile(fifo(), flags))
          for (let n = 0; n < 5; n++) yield* loopTurn()
          yield* fiber.stop()
        }
        assert.equal(descriptors(), before)
      }))
  }

  it('that nobody writes to is left by a reader that is stopped, and the process can end', async () => {
    const path = fifo()
    const { code, stdout, stderr } = await program(`
      import { main, spin, snooze } from 'polyphony'
      import { openFile } from 'polyphony/io'
      main(function* () {
        const other = spin(() => openFile('${path}', 'w'))
        const file = yield* openFile('${path}')
        yield* other
        const reader = spin(() => file.gets())
        yield* snooze()
        yield* reader.stop()
        console.log('stopped')
      })`)
    assert.deepEqual([code, stdout, stderr], [0, 'stopped\n', ''])
  })
})
