// The run queue against a plain array, with random programs from fixed seeds.

import type { Fiber } from 'polyphony'
import { RunQueue } from '#core/runqueue'
import { assert, random, test } from '../prelude.js'

/** All that the queue needs of a fiber. */
const item = (): any => ({ behind: null })

function contents(queue: any): Fiber[] {
  const found: Fiber[] = []
  for (let fiber = queue.head; fiber !== null; fiber = fiber.behind) found.push(fiber)
  assert.equal(queue.tail, found.at(-1) ?? null)
  return found
}

test('a run queue does what an array does, and keeps no link in a fiber that is out', () => {
  for (let seed = 1; seed <= 60; seed++) {
    const next = random(seed)
    const pick = (n: number) => Math.floor(next() * n)
    let queue = new RunQueue()
    const model: Fiber[] = []
    const out: any[] = []
    for (let step = 0; step < 200; step++) {
      const choice = pick(8)
      const fiber = item()
      if (choice < 3) {
        queue.push(fiber)
        model.push(fiber)
      } else if (choice === 3) {
        queue.unshift(fiber)
        model.unshift(fiber)
      } else if (choice === 4 && model.length > 0) {
        out.push(queue.shift())
        assert.equal(out.at(-1), model.shift())
      } else if (choice === 5 && model.length > 0) {
        const at = pick(model.length)
        out.push(queue.take(at))
        assert.equal(out.at(-1), model.splice(at, 1)[0])
      } else if (choice === 6) {
        const gone = model[pick(model.length)] ?? fiber
        if (model.includes(gone)) out.push(...model.splice(model.indexOf(gone), 1))
        queue.delete(gone)
      } else if (choice === 7) queue = queue.renew()
      assert.deepEqual(contents(queue), model, `seed ${seed}, step ${step}`)
      assert.equal(queue.size, model.length)
    }
    for (const fiber of out) assert.equal(fiber.behind, null)
  }
})
