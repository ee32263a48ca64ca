// Opening files: flags, permissions, bodies, named pipes, and stops at any moment.

import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { appendFile, type File, IOError, openFile, readFile, readLines, writeFile } from 'polyphony/io'
import {
  assert,
  BadState,
  describe,
  type Op,
  program,
  type Routine,
  scope,
  sleep,
  snooze,
  spin,
  test,
  thrownBy,
  turn,
  use,
} from '../../prelude.js'
import { descriptors } from '../../shared/outside.js'
import { descriptorsBack, fileWith, folder, freshPath, textOf } from '../folder.js'
import { realTest } from '../real.js'

realTest('flags say whether what is written takes the place of what was there', function* () {
  for (const [flag, before, after] of [
    ['w', 'old', 'new'],
    ['w+', 'old', 'new'],
    ['a', 'old', 'oldnew'],
    ['a+', 'old', 'oldnew'],
    ['r+', 'older', 'newer'],
  ] as const) {
    const path = fileWith(before)
    yield* openFile(path, flag, (file) => file.write('new'))
    assert.equal(textOf(path), after, flag)
  }
  for (const flag of ['w', 'w+', 'a', 'a+', 'wx', 'wx+', 'ax', 'ax+'] as const) {
    const path = freshPath()
    yield* openFile(path, flag, (file) => file.write('new'))
    assert.equal(textOf(path), 'new', flag)
  }
})

realTest('a file is opened by path or URL, with the permissions given, and knows its path', function* () {
  const path = freshPath()
  const file = yield* openFile(pathToFileURL(path), 'w', 0o600)
  assert.deepEqual([file.path, file.name, typeof file.fd], [path, path, 'number'])
  assert.equal(statSync(path).mode & 0o777, 0o600)
  yield* file.close()
})

realTest('a body has the file until it is over, in whatever way; its result is given', function* () {
  const path = fileWith('first\n')
  const before = descriptors()
  const kept: File[] = []
  const line = yield* openFile(path, 'r', function* (file) {
    kept.push(file)
    return yield* file.gets()
  })
  assert.deepEqual([line, kept[0]?.isClosed], ['first', true])
  assert.equal((yield* thrownBy(openFile(path, 'r', () => assert.fail('no')))).message, 'no')
  for (const end of ['stop', 'kill'] as const) {
    const fiber = spin(() =>
      openFile(path, 'r', function* (file) {
        kept.push(file)
        yield* sleep()
      }),
    )
    for (const length = kept.length; kept.length === length; ) yield* turn()
    yield* fiber[end]()
    assert.equal(kept.at(-1)?.isClosed, true)
  }
  yield* spin(function* () {
    yield* use(yield* openFile(path))
  })
  yield* descriptorsBack(before)
})

realTest('errors have the code of the system, and name the call and the path', function* () {
  const path = fileWith('x')
  const none = join(folder, 'none')
  const cases: [Op<unknown>, string, string][] = [
    [openFile(none), 'ENOENT', 'openFile'],
    [openFile(folder), 'EISDIR', 'openFile'],
    [openFile(folder, 'w'), 'EISDIR', 'openFile'],
    [openFile(join(path, 'below')), 'ENOTDIR', 'openFile'],
    [openFile(path, 'wx'), 'EEXIST', 'openFile'],
    [readFile(none), 'ENOENT', 'readFile'],
    [readFile(folder), 'EISDIR', 'readFile'],
    [writeFile(folder, 'x'), 'EISDIR', 'writeFile'],
    [writeFile('/dev/full', 'x'), 'ENOSPC', '/dev/full.write'],
    [writeFile(join(none, 'x'), 'x', { atomic: true }), 'ENOENT', 'writeFile'],
    [appendFile(folder, 'x'), 'EISDIR', 'appendFile'],
    [readLines(none), 'ENOENT', 'readLines'],
  ]
  const before = descriptors()
  for (const [op, code, what] of cases) {
    const error = yield* thrownBy(op)
    assert.ok(error instanceof IOError, `${error}`)
    assert.equal(error.code, code)
    assert.match(error.message, new RegExp(`^${what}\\((${folder}.*)?\\).*\\(${code}\\)`))
  }
  yield* descriptorsBack(before)
})

describe('S35 a stop', () => {
  realTest('of a fiber that opens a file: it is closed again before the fiber goes on', function* () {
    const path = fileWith('x')
    const before = descriptors()
    for (let i = 0; i < 20; i++) {
      const fiber = spin(() => openFile(path))
      yield* snooze()
      yield* fiber.stop()
      assert.equal(descriptors(), before)
    }
  })

  realTest('at any moment leaves no descriptor behind, and no half of an atomic write', function* () {
    const place = join(folder, 'stops')
    mkdirSync(place)
    const path = join(place, 'data')
    const [old, fresh] = ['old\n'.repeat(1000), 'fresh\n'.repeat(1000)]
    writeFileSync(path, old)
    const before = descriptors()
    function* work(): Routine<void> {
      yield* openFile(path, 'r', function* (file) {
        yield* file.gets()
        yield* file.stat()
      })
      yield* readFile(path)
      yield* readLines(path, () => {})
      yield* writeFile(path, fresh, { atomic: true })
    }
    for (const how of ['stop', 'kill'] as const) {
      for (let wait = 0, ended = 0; ended < 2; wait++) {
        const fiber = spin(work)
        for (let i = 0; i < wait && fiber.state !== 'dead'; i++) yield* turn()
        const { type } = yield* fiber[how]()
        assert.ok(type === 'stopped' || type === 'value', type)
        if (type === 'value') ended++
        yield* descriptorsBack(before)
        assert.ok([old, fresh].includes(textOf(path)))
        // A fiber that is killed cannot wait, and so not tidy up.
        if (how === 'stop') assert.deepEqual(readdirSync(place), ['data'])
      }
    }
  })
})

describe('a named pipe', () => {
  function fifo(): string {
    const path = freshPath()
    execFileSync('mkfifo', [path])
    return path
  }

  realTest('is opened when both sides are there, and read to its end, also as a whole', function* () {
    const path = fifo()
    const before = descriptors()
    const reader = spin(() => openFile(path, 'r', (file) => readLines(file)))
    yield* openFile(path, 'w', function* (file) {
      yield* file.write('one\ntwo\n')
      assert.throws(() => file.position, BadState)
      assert.throws(() => file.seek(0), BadState)
      assert.equal((yield* file.stat()).isFIFO(), true)
      assert.match((yield* thrownBy(file.truncate())).message, /\.truncate\(\) failed: .*\(EINVAL\)/)
      assert.ok((yield* thrownBy(file.gets())) instanceof BadState)
    })
    assert.deepEqual(yield* reader, ['one', 'two'])
    yield* descriptorsBack(before)
    spin(() => writeFile(path, 'x'.repeat(300_000)))
    assert.equal((yield* readFile(path)).length, 300_000)
  })

  for (const flag of ['r', 'w'] as const) {
    realTest(
      `without its other side ('${flag}'): a stop ends the wait, and no thread stays behind`,
      function* () {
        const before = descriptors()
        // More than Node has threads: were one left behind, the last could not end.
        const open = openFile(fifo(), flag)
        for (let i = 0; i < 6; i++) {
          const fiber = spin(() => open)
          for (let n = 0; n < 5; n++) yield* turn()
          yield* fiber.stop()
        }
        assert.equal(descriptors(), before)
      },
    )
  }

  realTest('whose opening is stopped as its other side comes: no descriptor is left', function* () {
    const before = descriptors()
    const path = fifo()
    for (let i = 0; i < 100; i++) {
      yield* scope(function* () {
        const writer = spin(() => openFile(path, 'w'))
        yield* openFile(path, 'r', () => {})
        yield* writer.stop()
      })
    }
    yield* descriptorsBack(before)
  })

  test('that is not written to, and a file without permissions: the process can end, and is told EACCES', async () => {
    const [pipe, secret] = [fifo(), fileWith('secret')]
    const { code, stdout, stderr } = await program(`
      import { chmodSync } from 'node:fs'
      import { main, snooze, spin } from 'polyphony'
      import { openFile, readFile } from 'polyphony/io'
      chmodSync('${folder}', 0o755)
      chmodSync('${secret}', 0o600)
      main(function* () {
        const other = spin(() => openFile('${pipe}', 'w'))
        const file = yield* openFile('${pipe}')
        yield* other
        const reader = spin(() => file.gets())
        yield* snooze()
        yield* reader.stop()
        console.log('stopped')
        if (process.getuid() !== 0) return console.log('EACCES') // the file is our own: nothing is refused
        process.setuid(65534)
        try {
          yield* readFile('${secret}')
        } catch ({ code }) {
          console.log(code)
        }
      })`)
    assert.deepEqual([code, stdout], [0, 'stopped\nEACCES\n'])
    assert.equal(stderr.replace(/^EACCES: Failed to write file .*coverage.*\n/, ''), '') // npm run coverage
  })
})
