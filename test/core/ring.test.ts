// The ring buffer against a plain array, with random programs from fixed seeds.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Ring } from '#core/ring'
import { random } from '../helpers.js'

const contents = (ring: Ring<number>) => Array.from({ length: ring.size }, (_, i) => ring.at(i))

describe('the ring', () => {
  it('does what an array does, over random programs', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const next = random(seed)
      const pick = (n: number) => Math.floor(next() * n)
      const ring = new Ring<number>(2)
      const model: number[] = []
      for (let step = 0; step < 300; step++) {
        const choice = pick(13)
        if (choice < 5) {
          ring.push(step)
          model.push(step)
        } else if (choice < 7) {
          ring.unshift(step)
          model.unshift(step)
        } else if (choice < 10 && model.length > 0) {
          assert.equal(ring.shift(), model.shift())
        } else if (choice === 10 && model.length > 0) {
          const at = pick(model.length)
          assert.equal(ring.take(at), model.splice(at, 1)[0])
        } else if (choice === 11) {
          const item = pick(step + 1)
          const at = model.indexOf(item)
          if (at >= 0) model.splice(at, 1)
          assert.equal(ring.delete(item), at >= 0)
        }
        if (choice === 12 && model.length > 0) {
          const at = pick(model.length)
          const expected = model[at]
          model[at] = model[0] as number
          model.shift()
          assert.equal(ring.pick(at), expected)
        }
        assert.deepEqual(contents(ring), model, `seed ${seed}, step ${step}`)
      }
      ring.clear()
      assert.equal(ring.size, 0)
    }
  })

  it('keeps nothing that was taken out', () => {
    const ring = new Ring<object>(4)
    const items = [{}, {}, {}]
    for (const item of items) ring.push(item)
    ring.take(1)
    ring.shift()
    ring.delete(items[2] as object)
    const kept = (ring as unknown as { items: unknown[] }).items.filter((item) => item !== undefined)
    assert.deepEqual(kept, [])
  })
})
