// The run queue against a plain array, with random programs from fixed seeds.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Fiber } from 'polyphony'
import { RunQueue } from '#core/runqueue'
import { random } from '../prelude.js'

/** All that the queue needs of a fiber. */
const item = () => ({ behind: null }) as unknown as Fiber

function contents(queue: RunQueue): Fiber[] {
  const found: Fiber[] = []
  const links = queue as unknown as { head: Fiber | null; tail: Fiber | null }
  for (
    let fiber = links.head;
    fiber !== null;
    fiber = (fiber as unknown as { behind: Fiber | null }).behind
  ) {
    found.push(fiber)
  }
  assert.equal(links.tail, found.at(-1) ?? null)
  return found
}

describe('the run queue', () => {
  it('does what an array does, over random programs', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const next = random(seed)
      const pick = (n: number) => Math.floor(next() * n)
      let queue = new RunQueue()
      const model: Fiber[] = []
      for (let step = 0; step < 200; step++) {
        const choice = pick(8)
        if (choice < 3) {
          const fiber = item()
          queue.push(fiber)
          model.push(fiber)
        } else if (choice === 3) {
          const fiber = item()
          queue.unshift(fiber)
          model.unshift(fiber)
        } else if (choice === 4 && model.length > 0) {
          assert.equal(queue.shift(), model.shift())
        } else if (choice === 5 && model.length > 0) {
          const at = pick(model.length)
          assert.equal(queue.take(at), model.splice(at, 1)[0])
        } else if (choice === 6) {
          const fiber = model[pick(model.length)] ?? item()
          if (model.includes(fiber)) model.splice(model.indexOf(fiber), 1)
          queue.delete(fiber)
        } else if (choice === 7) queue = queue.renew()
        assert.deepEqual(contents(queue), model, `seed ${seed}, step ${step}`)
        assert.equal(queue.size, model.length)
      }
    }
  })

  it('leaves no link in a fiber that was taken out', () => {
    const fibers = Array.from({ length: 4 }, item)
    const queue = new RunQueue()
    for (const fiber of fibers) queue.push(fiber)
    queue.take(2)
    queue.delete(fibers[1] as Fiber)
    queue.shift()
    queue.shift()
    for (const fiber of fibers) assert.equal((fiber as unknown as { behind: unknown }).behind, null)
  })
})
