// The heap of timers against a sorted array, with random programs from fixed seeds.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type TimerNode, Timers } from '#core/timers'
import { random } from '../prelude.js'

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

/** What the heap should be: an array sorted by time, and for equal times in the order of adding. */
class Model {
  items: { node: Node; time: number }[] = []
  add(node: Node, time: number): void {
    const at = this.items.findIndex((item) => item.time > time)
    this.items.splice(at < 0 ? this.items.length : at, 0, { node, time })
  }
  remove(node: Node): void {
    this.items = this.items.filter((item) => item.node !== node)
  }
  fire(now: number): number[] {
    const due = this.items.filter((item) => item.time <= now)
    this.items = this.items.filter((item) => item.time > now)
    return due.map((item) => item.node.label)
  }
  get next(): number {
    return this.items[0]?.time ?? Infinity
  }
}

describe('the heap of timers', () => {
  it('does what a sorted array does, over random programs', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const next = random(seed)
      const pick = (n: number) => Math.floor(next() * n)
      const timers = new Timers()
      const model = new Model()
      const fired: number[] = []
      const nodes: Node[] = []
      let now = 0
      for (let step = 0; step < 300; step++) {
        const choice = pick(10)
        if (choice < 5) {
          const node = new Node(nodes.length, fired)
          nodes.push(node)
          const time = now + pick(20) // few different times, so that many are equal
          timers.add(node, time)
          model.add(node, time)
        } else if (choice < 8 && nodes.length > 0) {
          const node = nodes[pick(nodes.length)] as Node // perhaps fired or removed before: then nothing happens
          timers.remove(node)
          model.remove(node)
        } else {
          now += pick(8)
          fired.length = 0
          timers.fire(now)
          assert.deepEqual(fired, model.fire(now), `seed ${seed}, step ${step}`)
        }
        assert.equal(timers.size, model.items.length, `seed ${seed}, step ${step}`)
        assert.equal(timers.next, model.next, `seed ${seed}, step ${step}`)
      }
      for (const { node } of model.items) assert.ok(node.index >= 0)
    }
  })

  it('S68 equal times fire in the order they were set', () => {
    const fired: number[] = []
    const timers = new Timers()
    for (let i = 0; i < 100; i++) timers.add(new Node(i, fired), 7)
    timers.fire(7)
    assert.deepEqual(
      fired,
      Array.from({ length: 100 }, (_, i) => i),
    )
  })

  it('a timer that fires may add and remove others', () => {
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
    assert.deepEqual(fired, [1, 2])
    assert.equal(timers.size, 0)
    assert.equal(timers.next, Infinity)
  })

  it('a removed timer can be set again', () => {
    const fired: number[] = []
    const timers = new Timers()
    const node = new Node(1, fired)
    timers.add(node, 5)
    timers.remove(node)
    timers.remove(node)
    timers.add(node, 9)
    timers.fire(8)
    assert.deepEqual(fired, [])
    timers.fire(9)
    assert.deepEqual(fired, [1])
    assert.equal(node.index, -1)
  })
})
