// The line that locks, queues and mailboxes share.

import { BaseOp } from 'polyphony/op'
import { Waiter, Waiters } from '#core/index'
import { assert, describe, Fiber, reports, sleep, snooze, spin, test, thrownBy } from '../prelude.js'

class Note extends Waiter<string> {
  readonly log: unknown[] = []
  constructor(name: string) {
    super(null, name)
  }
  override give(value: unknown): void {
    this.log.push(value)
  }
  override refuse(error: unknown): void {
    this.log.push('refused', error)
  }
}

test('places are served in order, wherever one leaves; an empty line says so', () => {
  const line = new Waiters<string>()
  const names = () => [...line].map((place) => place.item).join('')
  const [a, b, c, d, e] = [...'abcde'].map((name) => new Note(name)) as [Note, Note, Note, Note, Note]
  for (const place of [a, b, c, d, e]) line.add(place)
  line.remove(b)
  line.remove(e)
  assert.deepEqual([names(), line.size], ['acd', 3])
  assert.deepEqual([line.handOver(1), line.refuse('no'), names()], [true, true, 'd'])
  line.give(d, 2)
  assert.deepEqual([line.handOver(3), line.refuse('no'), line.size, line.first], [false, false, 0, null])
  assert.deepEqual([a.log, c.log, d.log], [[1], ['refused', 'no'], [2]])
})

describe('an op that is written wrong', () => {
  const line = new Waiters<string>()
  /** Stands in line, and when it is taken back does what the test says. */
  class Turn extends BaseOp<string> {
    constructor(
      private readonly back: (fiber: Fiber) => void,
      private readonly ahead?: (fiber: Fiber) => void,
    ) {
      super()
    }
    enter(fiber: Fiber): void {
      line.join(fiber, fiber.name)
      this.ahead?.(fiber)
    }
    abort(fiber: Fiber): void {
      this.back(fiber)
    }
    describe(): string {
      return 'its turn'
    }
  }
  const leaves = (fiber: Fiber) => void line.leave(fiber)

  test('and does not leave the line: what comes next for its fiber is not touched, the next in line is served', function* () {
    const late = spin(function* () {
      try {
        yield* new Turn(() => {}) // abort should call leave()
      } finally {
        yield* sleep(20)
      }
    })
    const next = spin('next', () => new Turn(leaves))
    yield* snooze()
    late.stop()
    yield* sleep(1)
    assert.equal(line.handOver('for the next'), true)
    assert.equal(yield* next, 'for the next')
    assert.deepEqual([(yield* late.join()).type, line.size, line.handOver('for none')], ['stopped', 0, false])
  })

  test('and joins outside of enter(), or leaves without having joined, is told so', function* () {
    assert.throws(() => line.join(Fiber.current, 'x'), /main can join a line only in the enter\(\) of an op/)
    const fiber = spin('idle', () => sleep(1))
    yield* snooze()
    assert.throws(
      () => line.leave(fiber),
      /main > idle is not in this line; leave\(\) belongs in the abort\(\)/,
    )
    const wrong = new Turn(leaves, () => {
      throw new Error('of enter')
    })
    assert.equal((yield* thrownBy(wrong)).message, 'of enter')
    assert.equal(line.handOver('for none'), false)
    yield* fiber
  })

  test('and leaves another line than it joined, or joins two: it is told so, and the lines stay sound', function* () {
    const other = new Waiters<string>()
    const first = spin('first', () => new Turn(leaves))
    const wrong = spin('wrong', () => new Turn((fiber) => void other.leave(fiber)))
    const greedy = spin(
      { name: 'greedy', link: false },
      () => new Turn(leaves, (fiber) => void other.join(fiber, '')),
    )
    yield* snooze()
    yield* wrong.stop()
    assert.match(reports().join(), /main > wrong is not in this line.*to the line that it joined/)
    const { error }: any = yield* greedy.join()
    assert.match(error.message, /main > greedy cannot join this line: it is in another one.*use race\(\)/)
    const last = spin('last', () => new Turn(leaves))
    yield* snooze()
    assert.deepEqual([line.handOver('1'), line.handOver('2'), other.size], [true, true, 0])
    assert.deepEqual([yield* first, yield* last, line.size], ['1', '2', 0])
  })

  test('every waiter can be answered in a loop over the line', function* () {
    const fibers = ['a', 'b', 'c'].map((name) => spin(name, () => new Turn(leaves)))
    yield* snooze()
    for (const waiter of line) line.give(waiter, `${waiter.item}!`)
    assert.deepEqual(yield* Fiber.await(...fibers), ['a!', 'b!', 'c!'])
  })
})
