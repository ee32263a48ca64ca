// What an incarnation tells at its end, it tells once.

import { Cold } from '#core/cold'
import { assert, test } from '../prelude.js'

test('holders of locks are told when the incarnation runs no more, all others at its end, each once', () => {
  const log: unknown[] = []
  const cold = new Cold()
  cold.locks = new Set([() => log.push('lock')])
  cold.atEnd = new Set([(how, value) => log.push(how, value)])
  cold.ranOut()
  assert.deepEqual(log, ['lock'])
  for (let i = 0; i < 2; i++) cold.ended(1, 'value')
  assert.deepEqual(log, ['lock', 1, 'value'])
  cold.locks = new Set([() => log.push('a lock taken in its cleanup')])
  cold.ended(1, 'value')
  assert.deepEqual(log.slice(3), ['a lock taken in its cleanup'])
})
