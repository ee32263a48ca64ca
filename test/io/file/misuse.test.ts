// What goes wrong with files: a typed error with a code that names the path, thrown at the `yield*` that asked.

import { execFileSync } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { appendFile, type File, openFile, pipe, readFile, readLines, sendFile, writeFile } from 'polyphony/io'
import {
  assert,
  describe,
  type Op,
  PolyphonyError,
  type Routine,
  scope,
  snooze,
  spin,
} from '../../prelude.js'
import { descriptors } from '../../shared/outside.js'
import { descriptorsBack, fileWith, folder, freshPath } from '../folder.js'
import { realTest } from '../real.js'

type Row = [mistake: string, code: string, make: () => Op<unknown>, message?: RegExp]

const missing = join(folder, 'no-such-folder', 'file')
const below = join(fileWith('x'), 'below')
const long = join(folder, 'n'.repeat(300))
const loop = freshPath()
execFileSync('ln', ['-s', loop, loop])
const secret = fileWith('secret')
chmodSync(secret, 0)

/** All calls that open a path; writers only for what cannot be read either. */
function everyCall(path: string): [string, () => Op<unknown>][] {
  return [
    ['openFile', () => openFile(path)],
    ['openFile', () => openFile(path, 'w', { mode: 0o600, detached: true })],
    ['openFile', () => openFile(path, 'r+', () => assert.fail('it was opened'))],
    ['readFile', () => readFile(path)],
    ['readLines', () => readLines(path)],
    ['readLines', () => readLines(path, () => assert.fail('it was read'))],
    ['readLines', () => readLines(path, { separator: '\0' })],
    ['sendFile', () => sendFile(path, pipe())],
    ['writeFile', () => writeFile(path, 'x')],
    ['appendFile', () => appendFile(path, 'x')],
  ]
}

/** With an open file. */
const withFile = (
  path: string,
  flags: 'r' | 'w' | 'r+',
  body: (file: File) => Op<unknown> | void,
): Op<unknown> =>
  openFile(path, flags, function* (file) {
    yield* body(file) ?? snooze()
  })

function* closedFile(): Routine<File> {
  const file = yield* openFile(fileWith('x'), 'r+')
  yield* file.close()
  return file
}

function* afterClose(use: (file: File) => Op<unknown> | void): Routine<void> {
  yield* use(yield* closedFile()) ?? snooze()
}

/** A file whose owner, a fiber or a scope, has ended. */
function* orphan(owner: 'fiber' | 'scope'): Routine<void> {
  let file!: File
  const open = function* () {
    file = yield* openFile(fileWith('x'), 'r+')
  }
  yield* owner === 'fiber' ? spin(open) : scope(open)
  yield* file.write('y')
}

function fifo(): string {
  const path = freshPath()
  execFileSync('mkfifo', [path])
  return path
}

const data = fileWith('0123')
const wrongBuffer = new Uint16Array(4) as unknown as Uint8Array

const rows: Row[] = [
  ...everyCall(folder).map(
    ([name, make]): Row => [
      `${name} of a directory`,
      'EISDIR',
      make,
      new RegExp(`^${name}\\(${folder}\\) failed: `),
    ],
  ),
  ...everyCall(missing).map(
    ([name, make]): Row => [
      `${name} in a missing folder`,
      'ENOENT',
      make,
      new RegExp(`^${name}\\(${missing}\\) failed: `),
    ],
  ),
  ...everyCall(below).map(([name, make]): Row => [`${name} below a file`, 'ENOTDIR', make]),
  ...everyCall(long).map(([name, make]): Row => [`${name} of a name that is too long`, 'ENAMETOOLONG', make]),
  ...everyCall(loop).map(([name, make]): Row => [`${name} of a link to itself`, 'ELOOP', make]),
  // Root may open any file; open.test.ts has a program that is not root.
  ...(process.getuid?.() === 0
    ? []
    : everyCall(secret).map(([name, make]): Row => [`${name} without permission`, 'EACCES', make])),
  ...everyCall('a\0b').map(
    ([name, make]): Row => [
      `${name} with a NUL in the path`,
      'BAD_ARGUMENT',
      make,
      /\(\) needs a path, .* got "a\\u0000b"$/,
    ],
  ),
  [
    'writeFile, atomic, to a directory',
    'EISDIR',
    () => writeFile(folder, 'x', { atomic: true }),
    /^writeFile\(/,
  ],
  ['writeFile, atomic, in a missing folder', 'ENOENT', () => writeFile(missing, 'x', { atomic: true })],
  ['wx where a file is', 'EEXIST', () => openFile(data, 'wx')],
  ['a full disk: write', 'ENOSPC', () => withFile('/dev/full', 'w', (file) => file.write('x'))],
  ['a full disk: end', 'ENOSPC', () => withFile('/dev/full', 'w', (file) => file.end('x'))],
  ['a full disk: writeFile', 'ENOSPC', () => writeFile('/dev/full', 'x')],
  ['a full disk: appendFile', 'ENOSPC', () => appendFile('/dev/full', 'x')],
  [
    'a full disk: sendFile',
    'ENOSPC',
    () => withFile('/dev/full', 'w', (file) => sendFile(data, file)),
    /^\/dev\/full\.write\(\)/,
  ],
  ['a closed file: gets', 'STREAM_CLOSED', () => afterClose((file) => file.gets())],
  ['a closed file: write', 'STREAM_CLOSED', () => afterClose((file) => file.write('x'))],
  [
    'a closed file: stat',
    'STREAM_CLOSED',
    () => afterClose((file) => file.stat()),
    /\.stat\(\) failed: the file is closed$/,
  ],
  ['a closed file: truncate', 'STREAM_CLOSED', () => afterClose((file) => file.truncate(1))],
  ['a closed file: sync', 'STREAM_CLOSED', () => afterClose((file) => file.sync())],
  [
    'a closed file: seek',
    'STREAM_CLOSED',
    () => afterClose((file) => file.seek(0)),
    /\.seek\(\) failed: the file is closed$/,
  ],
  ['a closed file: readLines', 'STREAM_CLOSED', () => afterClose((file) => readLines(file))],
  ['a closed file: sendFile to it', 'STREAM_CLOSED', () => afterClose((file) => sendFile(data, file))],
  ['an owner that has ended: a fiber', 'STREAM_CLOSED', () => orphan('fiber')],
  ['an owner that has ended: a scope', 'STREAM_CLOSED', () => orphan('scope')],
  ['a negative length: truncate', 'BAD_ARGUMENT', () => withFile(data, 'r+', (file) => file.truncate(-1))],
  ['a negative length: read', 'BAD_ARGUMENT', () => withFile(data, 'r', (file) => file.read(-1))],
  [
    'a negative length: readExactly',
    'BAD_ARGUMENT',
    () => withFile(data, 'r', (file) => file.readExactly(-1)),
  ],
  ['a negative position', 'BAD_ARGUMENT', () => withFile(data, 'r', (file) => file.seek(-1))],
  ['a position that is no whole number', 'BAD_ARGUMENT', () => withFile(data, 'r', (file) => file.seek(1.5))],
  [
    'seek in a pipe',
    'BAD_STATE',
    () => withFile(fifo(), 'r+', (file) => file.seek(0)),
    /has no seek\(\): it is a pipe/,
  ],
  [
    'position in a pipe',
    'BAD_STATE',
    () => withFile(fifo(), 'r+', (file) => file.read(file.position)),
    /has no position: it is a pipe/,
  ],
  ['truncate of a pipe', 'EINVAL', () => withFile(fifo(), 'r+', (file) => file.truncate(0))],
  [
    'seek in a device',
    'BAD_STATE',
    () => withFile('/dev/null', 'r', (file) => file.seek(0)),
    /it is a device/,
  ],
  [
    'read of what was opened for writing',
    'BAD_STATE',
    () => withFile('/dev/null', 'w', (file) => file.gets()),
  ],
  [
    'write to a pipe that was opened for reading',
    'BAD_STATE',
    function* () {
      const path = fifo()
      spin(() => openFile(path, 'w'))
      yield* withFile(path, 'r', (file) => file.write('x'))
    },
    /cannot be written to: it was opened with 'r', for reading only$/,
  ],
  ['write to what was opened for reading', 'BAD_STATE', () => withFile(data, 'r', (file) => file.write('x'))],
  [
    'a buffer of the wrong kind: write',
    'BAD_ARGUMENT',
    () => withFile(data, 'r+', (file) => file.write(wrongBuffer)),
    /\.write\(\) needs strings or bytes/,
  ],
  [
    'a buffer of the wrong kind: end',
    'BAD_ARGUMENT',
    () => withFile(data, 'r+', (file) => file.end(wrongBuffer)),
  ],
  [
    'a read that the system refuses',
    'EIO',
    () => withFile('/proc/self/mem', 'r', (file) => file.gets()),
    /^\/proc\/self\/mem\.gets\(\) failed: /,
  ],
]

describe('a mistake has a typed error with a code, names the path, and leaves nothing open', () => {
  realTest(`in ${rows.length} ways`, function* () {
    const before = descriptors()
    for (const [mistake, code, make, message = /(^|[( ])(\/|"a\\u0000b)/] of rows) {
      let thrown: unknown = null
      try {
        yield* scope(function* () {
          yield* make()
        })
      } catch (error) {
        thrown = error
      }
      assert.ok(thrown instanceof PolyphonyError, `${mistake}: ${thrown}`)
      assert.equal(thrown.code, code, `${mistake}: ${thrown}`)
      assert.match(thrown.message, message, mistake)
    }
    yield* descriptorsBack(before)
  })

  realTest('what is given instead of bytes, options or a body is refused by name', function* () {
    const calls: [call: () => unknown, message: RegExp][] = [
      [
        () => (writeFile as any)(data, wrongBuffer),
        /^writeFile\(\) needs a string or bytes \(Uint8Array\), got /,
      ],
      [() => (appendFile as any)(data, 5), /^appendFile\(\) needs a string or bytes .* got 5$/],
      [
        () => (openFile as any)(data, 'r', { mod: 1 }),
        /^openFile\(\) has no option "mod"; there are: mode, detached$/,
      ],
      [
        () => (openFile as any)(data, 'r', { detached: 1 }),
        /^detached of openFile\(\) must be true or false, got 1$/,
      ],
      [
        () => (openFile as any)(data, 'r', { mode: -1 }),
        /^openFile\(\) needs permissions from 0 to 0o7777, got -1$/,
      ],
      [() => (openFile as any)(data, 'r', 0o10000), /^openFile\(\) needs permissions/],
      [() => (openFile as any)(data, 'r', openFile(data)), /^openFile\(\) was given openFile\(.*\) itself/],
      [() => (openFile as any)(data, 'r', null), /^openFile\(\) needs a function\*/],
      [() => (sendFile as any)(data, 'target'), /^sendFile\(\) needs a stream to write to, got "target"$/],
      [
        () => (sendFile as any)(data, pipe(), { start: -1 }),
        /^start of sendFile\(\) needs a whole number, 0 or more, got -1$/,
      ],
      [() => (sendFile as any)(data, pipe(), { length: 1.5 }), /^length of sendFile\(\) needs .* got 1.5$/],
      [
        () => (sendFile as any)(data, pipe(), { end: 4 }),
        /^end of sendFile\(\) must be true or false, got 4$/,
      ],
      [
        () => (sendFile as any)(data, pipe(), { from: 4 }),
        /no option "from"; there are: start, length, end$/,
      ],
    ]
    for (const [call, message] of calls) assert.throws(call, { code: 'BAD_ARGUMENT', message })
  })
})
