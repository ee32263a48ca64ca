// Which queue a key belongs to.

import { Proco } from 'polyphony/proco'
import { assert, test } from '../prelude.js'

const symbol = Symbol('s')
for (const key of ['text', '', 7, -7, 1.5, Number.NaN, 0n, true, null, symbol, {}, () => {}]) {
  test(`items with the same key go through the same queue: ${String(key)}`, function* () {
    const proco = new Proco({ queues: 7, queueSize: 1 }).start(() => {})
    assert.ok(proco.trySubmit(1, { key }))
    assert.equal(proco.trySubmit(2, { key }), undefined)
  })
}

const kinds: [what: string, make: (n: number) => unknown][] = [
  ['text', (n) => `user:${n}`],
  ['numbers', (n) => n],
  ['numbers below 0', (n) => -n - 1],
  ['objects', (n) => ({ n })],
]
for (const [what, make] of kinds) {
  test(`keys are spread over the queues: ${what}`, function* () {
    const proco = new Proco({ queues: 4, queueSize: 1 }).start(() => {})
    const futures = Array.from({ length: 50 }, (_, n) => proco.trySubmit(n, { key: make(n) }))
    assert.equal(futures.filter((future) => future !== undefined).length, 4)
  })
}
