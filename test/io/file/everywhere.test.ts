// A file is closed with its owner: /proc/self/fd is back to its start, however a fiber got its files and however it ends.

import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import { appendFile, type File, openFile, readFile, readLines, writeFile } from 'polyphony/io'
import {
  assert,
  describe,
  each,
  eventually,
  Fiber,
  forEach,
  moveOnAfter,
  type Op,
  type Routine,
  scope,
  sleep,
  spin,
  thrownBy,
  turn,
  use,
} from '../../prelude.js'
import { descriptors } from '../../shared/outside.js'
import { descriptorsBack, fileWith, freshPath } from '../folder.js'
import { realTest } from '../real.js'

const COUNT = 20

/** Ends a fiber. `isDeaf`: the fiber waits in its cleanup for ever. */
const ENDS: Record<string, { isDeaf?: boolean; end: (fiber: Fiber) => unknown }> = {
  'a stop': { end: (fiber) => fiber.stop() },
  'a stop whose grace is over': { isDeaf: true, end: (fiber) => fiber.stop(undefined, { grace: 0 }) },
  'a kill': { end: (fiber) => fiber.kill() },
  'a kill in its cleanup': {
    isDeaf: true,
    end: (fiber) => {
      fiber.stop()
      fiber.kill()
    },
  },
  'an error': { end: (fiber) => fiber.raise(new Error('struck')) },
}

function fifo(): string {
  const path = freshPath()
  execFileSync('mkfifo', [path])
  return path
}

/** What a fiber does; it calls `hang` where the file is open, which waits for ever. */
type Way = (hang: () => Op<void>, path: string) => Op<unknown>

const lines = () => fileWith('one\ntwo\nthree\n')

/** Ways that have a file open for a while. */
const OPEN: Record<string, [path: () => string, way: Way]> = {
  openFile: [
    lines,
    function* (hang, path) {
      const file = yield* openFile(path)
      yield* file.gets()
      yield* hang()
    },
  ],
  'openFile in a scope': [
    lines,
    function* (hang, path) {
      yield* scope(function* () {
        yield* openFile(path, 'r+')
        yield* hang()
      })
    },
  ],
  'openFile in a time limit': [
    lines,
    function* (hang, path) {
      yield* moveOnAfter(60_000, function* () {
        yield* openFile(path, 'r', { detached: false })
        yield* hang()
      })
    },
  ],
  'use(openFile)': [
    lines,
    function* (hang, path) {
      yield* use(yield* openFile(path))
      yield* hang()
    },
  ],
  'use(openFile), detached': [
    lines,
    function* (hang, path) {
      yield* use(yield* openFile(path, 'r', { detached: true }))
      yield* hang()
    },
  ],
  'openFile and finally close': [
    lines,
    function* (hang, path) {
      const file = yield* openFile(path, 'a', { detached: true })
      try {
        yield* file.write('four\n')
        yield* hang()
      } finally {
        yield* file.close()
      }
    },
  ],
  'openFile with a body': [lines, (hang, path) => openFile(path, 'r', hang)],
  'a file of the parent that a child reads': [
    lines,
    function* (hang, path) {
      const file = yield* openFile(path)
      spin(function* () {
        yield* file.gets()
        yield* hang()
      })
      yield* sleep()
    },
  ],
  'a file with a write under way': [
    freshPath,
    function* (hang, path) {
      const file = yield* openFile(path, 'w')
      file.tryWrite('x'.repeat(1_000_000))
      yield* hang()
    },
  ],
  'readLines with a body': [lines, (hang, path) => readLines(path, hang)],
  'readLines with a separator': [lines, (hang, path) => readLines(path, hang, { separator: 'e' })],
  'each(readLines)': [lines, (hang, path) => each(readLines(path), hang)],
  'forEach(readLines)': [lines, (hang, path) => forEach(readLines(path), hang, { concurrency: 2 })],
  'forEach(readLines) that was left early': [
    lines,
    function* (hang, path) {
      yield* each(readLines(path), () => false)
      yield* hang()
    },
  ],
  'a device': [
    () => '/dev/zero',
    function* (hang, path) {
      const file = yield* openFile(path)
      yield* file.read(10)
      yield* hang()
    },
  ],
  'a named pipe': [
    fifo,
    function* (hang, path) {
      const file = yield* openFile(path, 'r+')
      yield* file.write('one\n')
      yield* file.gets()
      yield* hang()
    },
  ],
}

/** Ways that are struck anywhere in their course: each fiber a turn of the event loop later than the one before. */
const PASSING: Record<string, (path: string) => Op<unknown>> = {
  readFile: (path) => readFile(path),
  writeFile: (path) => writeFile(path, 'x'.repeat(1_000_000)),
  'writeFile, atomic': (path) => writeFile(path, 'x'.repeat(1_000_000), { atomic: true }),
  appendFile: (path) => appendFile(path, 'x'.repeat(1_000_000)),
  readLines: (path) => readLines(path),
  openFile: (path) => openFile(path),
  'openFile of a named pipe': () => openFile(fifo()),
}

describe('the descriptors are back after', () => {
  for (const [name, { isDeaf = false, end }] of Object.entries(ENDS)) {
    realTest(`${name}, for every way to have a file open`, function* () {
      for (const [how, [path, way]] of Object.entries(OPEN)) {
        const paths = Array.from({ length: COUNT }, path)
        const before = descriptors()
        let arrived = 0
        function* hang(): Routine<void> {
          arrived++
          try {
            yield* sleep()
          } finally {
            if (isDeaf) yield* sleep()
          }
        }
        const fibers = paths.map((path) => spin({ link: false }, () => way(hang, path)))
        yield* eventually(() => arrived >= COUNT || fibers.some(({ state }) => state === 'dead'))
        assert.ok(
          arrived >= COUNT,
          `${how}: ${JSON.stringify(fibers.find(({ outcome }) => outcome)?.outcome)}`,
        )
        for (const fiber of fibers) end(fiber)
        for (const fiber of fibers) yield* fiber.join()
        yield* descriptorsBack(before)
      }
    })

    if (isDeaf) continue
    realTest(`${name}, anywhere in the course of a call`, function* () {
      for (const make of Object.values(PASSING)) {
        const path = fileWith('one\ntwo\n'.repeat(1000))
        const before = descriptors()
        for (let i = 0; i < COUNT; i++) {
          const fiber = spin({ link: false }, function* () {
            yield* make(path) // a file that it returned would stay open, for this fiber
          })
          for (let n = 0; n < i && fiber.state !== 'dead'; n++) yield* turn()
          end(fiber)
          yield* fiber.join()
        }
        yield* descriptorsBack(before)
      }
    })
  }

  realTest(
    'a normal end: the file is closed when the fiber is over, and what was written is there',
    function* () {
      const path = freshPath()
      const before = descriptors()
      let file: File | undefined
      yield* spin(function* () {
        file = yield* openFile(path, 'w')
        file.tryWrite('written')
      })
      assert.equal(file?.isClosed, true)
      assert.equal(descriptors(), before)
      assert.equal(yield* readFile(path, { encoding: 'utf8' }), 'written')
      assert.match(`${yield* thrownBy(file.write('more'))}`, /^StreamClosed: /)
    },
  )
})

describe('a file belongs', () => {
  realTest('to the innermost scope; its children have it to their end', function* () {
    const [outer, inner] = [lines(), lines()]
    const files: File[] = []
    const heard: unknown[] = []
    yield* spin(function* () {
      files.push(yield* openFile(outer))
      yield* scope(function* () {
        const file = yield* openFile(inner)
        files.push(file)
        spin(function* () {
          yield* turn()
          heard.push(yield* file.gets())
        })
      })
      heard.push(...files.map(({ isClosed }) => isClosed))
      heard.push(yield* files[0]?.gets() as Op<string>)
    })
    assert.deepEqual(heard, ['one', false, true, 'one'])
    assert.deepEqual(
      files.map(({ isClosed }) => isClosed),
      [true, true],
    )
  })

  realTest('to no fiber if it is detached: one fiber can give it to another', function* () {
    const file = yield* spin(() => openFile(lines(), 'r', { detached: true, mode: 0o600 }))
    assert.equal(yield* file.gets(), 'one')
    yield* file.close()
  })

  realTest(
    'to a fiber only while it is open: one that opens many keeps nothing of the closed ones',
    function* () {
      const path = lines()
      yield* spin(function* () {
        for (let i = 0; i < 5; i++) {
          const file = yield* openFile(path)
          if (i % 2 === 0) yield* file.close()
          else file.destroy()
          yield* file.close()
        }
        assert.equal((Fiber.current as any).rare?.cleanups ?? null, null)
      })
    },
  )

  realTest('an error of its close is an error of its owner', function* () {
    const owner = spin({ link: false }, function* () {
      const file = yield* openFile('/dev/full', 'w')
      file.tryWrite('x')
    })
    const outcome = yield* owner.join()
    assert.equal(outcome.type, 'error')
    assert.match(`${(outcome as { error: unknown }).error}`, /\/dev\/full\.close\(\) failed: .*ENOSPC/)
  })

  realTest('another close of the same descriptor is told by the owner', function* () {
    const owner = spin({ link: false }, function* () {
      closeSync((yield* openFile(lines())).fd)
    })
    assert.match(`${((yield* owner.join()) as any).error}`, /EBADF/)
  })

  realTest('a write to a named pipe without a reader is cut off by the end of its owner', function* () {
    const path = fifo()
    const before = descriptors()
    const other = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
    const fiber = spin({ link: false }, function* () {
      const file = yield* openFile(path, 'w')
      yield* file.write('x'.repeat(1_000_000))
    })
    yield* eventually(() => `${fiber}`.includes('.write()'))
    yield* fiber.kill()
    yield* descriptorsBack(before + 1)
    closeSync(other)
  })
})
