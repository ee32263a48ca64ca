// The ring buffer against a plain array, with random programs from fixed seeds.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Ring } from '#core/ring'
import { random } from '../prelude.js'

describe('the ring', () => {
  it('does what an array does, over random programs', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const next = random(seed)
      const ring = new Ring<number>(2)
      const model: number[] = []
      for (let step = 0; step < 300; step++) {
        if (next() < 0.6) {
          ring.push(step)
          model.push(step)
        } else if (model.length > 0) {
          assert.equal(ring.shift(), model.shift(), `seed ${seed}, step ${step}`)
        }
        assert.equal(ring.size, model.length)
      }
    }
  })

  it('does what an array does also when items are put in front and taken out of the middle', () => {
    for (let seed = 1; seed <= 200; seed++) {
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
        assert.deepEqual(
          model,
          Array.from({ length: ring.size }, (_, i) => ring.at(i)),
        )
      }
    }
  })

  it('keeps nothing that was taken out', () => {
    const ring = new Ring<object>(4)
    for (let i = 0; i < 3; i++) ring.push({})
    while (ring.size > 0) ring.shift()
    const kept = (ring as unknown as { items: unknown[] }).items.filter((item) => item !== undefined)
    assert.deepEqual(kept, [])
  })
})
