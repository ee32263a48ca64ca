// The line that locks, queues and mailboxes share.

import { Waiter, Waiters } from '#core/index'
import { assert, test } from '../prelude.js'

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
