// The heap of timers against a sorted array, with random programs from fixed seeds.

import { type TimerNode, Timers } from '#core/timers'
import { assert, random, test } from '../prelude.js'

class Node implements TimerNode {
  time = 0
  seq = 0
  index = -1
  constructor(
    readonly label: number,
    private readonly fired: number[],
  ) {}
  fire(): void {
    this.fired.push(this.label)
  }
}

test('a heap of timers does what a sorted array does; equal times fire in the order they were set', () => {
  for (let seed = 1; seed <= 60; seed++) {
    const next = random(seed)
    const pick = (n: number) => Math.floor(next() * n)
    const timers = new Timers()
    let model: Node[] = []
    const fired: number[] = []
    const nodes: Node[] = []
    let now = 0
    for (let step = 0; step < 300; step++) {
      const choice = pick(10)
      if (choice < 5) {
        const isOld = choice === 4 && nodes.length > 0 // one that was removed may be set again
        const old = isOld ? (nodes[pick(nodes.length)] as Node) : undefined
        const node = old !== undefined && old.index < 0 ? old : new Node(nodes.length, fired)
        if (node !== old) nodes.push(node)
        const time = now + pick(20) // few different times, so that many are equal
        timers.add(node, time)
        const at = model.findIndex((other) => other.time > time)
        model.splice(at < 0 ? model.length : at, 0, node)
      } else if (choice < 8 && nodes.length > 0) {
        const node = nodes[pick(nodes.length)] as Node // perhaps fired or removed before: then nothing happens
        timers.remove(node)
        model = model.filter((other) => other !== node)
      } else {
        now += pick(8)
        fired.length = 0
        timers.fire(now)
        const due = model.filter(({ time }) => time <= now)
        assert.deepEqual(
          fired,
          due.map(({ label }) => label),
          `seed ${seed}, step ${step}`,
        )
        model = model.filter(({ time }) => time > now)
      }
      assert.equal(timers.size, model.length, `seed ${seed}, step ${step}`)
      assert.equal(timers.next, model[0]?.time ?? Number.POSITIVE_INFINITY, `seed ${seed}, step ${step}`)
    }
    for (const node of nodes) assert.equal(node.index >= 0, model.includes(node))
  }
})

test('a timer that fires may add and remove others', () => {
  const fired: number[] = []
  const timers = new Timers()
  const victim = new Node(3, fired)
  const adder = new Node(1, fired)
  adder.fire = () => {
    fired.push(1)
    timers.remove(victim)
    timers.add(new Node(2, fired), 5)
  }
  timers.add(adder, 5)
  timers.add(victim, 5)
  timers.fire(5)
  assert.deepEqual([fired, timers.size], [[1, 2], 0])
})
