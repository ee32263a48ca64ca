// Whole files: read, written and appended to in one call.

import { mkdirSync, readdirSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { appendFile, LimitExceeded, readFile, writeFile } from 'polyphony/io'
import { assert, thrownBy } from '../../prelude.js'
import { pattern } from '../../shared/stream.js'
import { fileWith, folder, freshPath, textOf } from '../folder.js'
import { realTest } from '../real.js'

const permissions = (path: string) => statSync(path).mode & 0o777

realTest('a file is read as bytes or as text, large and empty ones too', function* () {
  const path = fileWith('héllo')
  assert.deepEqual(yield* readFile(path), Buffer.from('héllo'))
  assert.equal(yield* readFile(path, { encoding: 'utf8' }), 'héllo')
  assert.equal(yield* readFile(path, { encoding: 'latin1' }), 'hÃ©llo')
  assert.equal((yield* readFile(fileWith(''))).length, 0)
  const content = pattern(9_000_000)
  assert.ok((yield* readFile(fileWith(content))).equals(content))
})

realTest('a file that says its size is 0 comes whole', function* () {
  assert.match(yield* readFile('/proc/self/status', { encoding: 'utf8' }), /^Pid:\s+\d+$/m)
  const symbols = yield* readFile('/proc/kallsyms') // longer than the first guess
  assert.ok(symbols.length > 100_000 && symbols.at(-1) === 10)
})

realTest('more than the limit or a buffer holds is refused; devices have a limit of 64 MiB', function* () {
  const path = fileWith('0123456789')
  assert.equal((yield* readFile(path, { limit: 10 })).length, 10)
  const vast = fileWith('')
  truncateSync(vast, 5e12) // it takes no room
  const refused: [string, number | undefined, RegExp][] = [
    [path, 9, /^readFile\(.*\): there are more than 9 bytes\. Give it a higher limit/],
    ['/proc/kallsyms', 1000, /more than 1000 bytes/],
    ['/dev/zero', undefined, /more than 67108864 bytes/],
    [vast, undefined, /there is no room for 5000000000001 bytes/],
  ]
  for (const [path, limit, message] of refused) {
    const error = yield* thrownBy(readFile(path, limit === undefined ? {} : { limit }))
    assert.ok(error instanceof LimitExceeded, `${error}`)
    assert.match(error.message, message)
  }
  truncateSync(vast, 0)
})

realTest('a file is written anew, made, appended to; an op can be waited for again', function* () {
  const path = fileWith('a much longer text')
  yield* writeFile(path, 'short')
  yield* appendFile(path, Buffer.from('er'))
  const exclaim = writeFile(path, '!', { flag: 'a' })
  yield* exclaim
  yield* exclaim
  assert.equal(textOf(path), 'shorter!!')
  const [fresh, other] = [freshPath(), freshPath()]
  yield* appendFile(fresh, 'x', { mode: 0o640 })
  yield* writeFile(other, '', { mode: 0o604 })
  assert.deepEqual([textOf(fresh), permissions(fresh), permissions(other)], ['x', 0o640, 0o604])
})

realTest('an atomic write keeps the permissions, takes any name, and leaves nothing else', function* () {
  const place = join(folder, 'atomic')
  mkdirSync(place)
  const [path, long] = [join(place, 'config'), join(place, 'n'.repeat(250))]
  yield* writeFile(path, 'first', { atomic: true, mode: 0o666 }) // also what the umask would take away
  assert.deepEqual([textOf(path), permissions(path)], ['first', 0o666])
  yield* writeFile(path, 'second', { atomic: true })
  assert.deepEqual([textOf(path), permissions(path)], ['second', 0o666])
  yield* writeFile(long, 'long', { atomic: true })
  yield* thrownBy(writeFile(folder, 'x', { atomic: true })) // no file can take the place of a folder
  assert.deepEqual(readdirSync(place).sort(), ['config', 'n'.repeat(250)])
  assert.deepEqual(
    readdirSync(join(folder, '..')).filter((name) => name.endsWith('.tmp')),
    [],
  )
})
