// The ring buffer against a plain array, with random programs from fixed seeds.

import { Ring } from '#core/ring'
import { assert, random, test } from '../prelude.js'

test('a ring does what an array does, over random programs', () => {
  for (let seed = 1; seed <= 60; seed++) {
    const next = random(seed)
    const ring = new Ring<number>(2)
    const model: number[] = []
    for (let step = 0; step < 300; step++) {
      const what = next()
      if (what < 0.3) {
        ring.push(step % 7)
        model.push(step % 7)
      } else if (what < 0.6) {
        ring.unshift(step % 7)
        model.unshift(step % 7)
      } else if (what < 0.8) {
        const index = model.indexOf(step % 5)
        if (index >= 0) model.splice(index, 1)
        assert.equal(ring.delete(step % 5), index >= 0)
      } else if (model.length > 0) assert.equal(ring.shift(), model.shift(), `seed ${seed}, step ${step}`)
      const contents = Array.from({ length: ring.size }, (_, i) => ring.at(i))
      assert.deepEqual(contents, model, `seed ${seed}, step ${step}`)
    }
  }
})

test('a ring keeps nothing that was taken out', () => {
  const ring = new Ring<object>(4)
  for (let i = 0; i < 3; i++) ring.push({})
  ring.remove(2)
  ring.remove(0)
  while (ring.size > 0) ring.shift()
  assert.ok((ring as any).items.every((item: unknown) => item === undefined))
})
