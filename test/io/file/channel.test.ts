// The memory that files are read into: it serves again, and only memory that files own.

import { openFile, readLines } from 'polyphony/io'
import { assert } from '../../prelude.js'
import { pattern } from '../../shared/stream.js'
import { fileWith } from '../folder.js'
import { bothEnds, listening, realTest } from '../real.js'

realTest('reading files changes no bytes that were read before, of sockets or of other files', function* () {
  const [near, far] = yield* bothEnds(yield* listening())
  const kept: Buffer[] = []
  const sent: Buffer[] = []
  for (const size of [100, 5000, 16_384, 30_000]) {
    sent.push(Buffer.alloc(size, size))
    yield* near.write(sent.at(-1) as Buffer)
    kept.push(yield* far.readExactly(size))
    // A short file: what was read of it is a copy, in memory that it shares with the bytes above.
    const line = 'a line of a short file\n'
    assert.equal((yield* readLines(fileWith(line.repeat(size % 1000)))).length, size % 1000)
  }
  const content = pattern(4_000_000)
  yield* openFile(fileWith(content), 'r', function* (file) {
    const parts: Buffer[] = []
    for (let part: Buffer | undefined; (part = yield* file.read()) !== undefined; ) parts.push(part)
    assert.ok(Buffer.concat(parts).equals(content))
  })
  assert.deepEqual(kept, sent)
})
