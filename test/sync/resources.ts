// Resources that count themselves: how many there are, how many there have been, and whether two fibers share one.

import assert from 'node:assert/strict'

export interface Thing {
  readonly id: number
  state: 'alive' | 'dead'
  users: number
}

export class Factory {
  readonly things: Thing[] = []
  alive = 0
  most = 0

  readonly make = (): Thing => {
    const thing: Thing = { id: this.things.length + 1, state: 'alive', users: 0 }
    this.things.push(thing)
    this.most = Math.max(this.most, ++this.alive)
    return thing
  }
  readonly end = (thing: Thing): void => {
    assert.equal(thing.state, 'alive', 'a resource was destroyed twice')
    assert.equal(thing.users, 0, 'a resource was destroyed while in use')
    thing.state = 'dead'
    this.alive--
  }
  /** Around the use of one: no other fiber may have it. */
  begin(thing: Thing): void {
    assert.equal(thing.state, 'alive', 'a dead resource was handed out')
    assert.equal(++thing.users, 1, 'two fibers have the same resource')
  }
  finish(thing: Thing): void {
    thing.users--
  }
}
