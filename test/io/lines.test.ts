// readLines: all lines, one by one, or as items.

import { LimitExceeded, pipe, readLines } from 'polyphony/io'
import { assert, END, each, type Fiber, forEach, snooze, spin, thrownBy } from '../prelude.js'
import { descriptors } from '../shared/outside.js'
import { descriptorsBack, fileWith } from './folder.js'
import { realTest } from './real.js'

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
