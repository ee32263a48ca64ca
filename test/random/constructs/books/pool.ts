// The book of a pool: its resources, each with one user at a time.

import { Fiber, type Op, type ResourcePool } from 'polyphony'
import type { Resource } from '../shop.js'
import { Book, type Desk, Line } from './book.js'

export class PoolBook extends Book {
  private readonly line: Line

  constructor(
    name: string,
    desk: Desk,
    private readonly pool: ResourcePool<Resource>,
    private readonly made: Resource[],
  ) {
    super(name, desk)
    this.line = new Line(name, desk, () => (pool as any).state.line)
  }

  acquire(body: (resource: Resource) => Op<unknown>): Op<unknown> {
    const number = this.line.joins(this.made.some(({ user }) => user === Fiber.current))
    const book = this
    return this.pool.acquire(function* (resource) {
      const fiber = Fiber.current
      const { user } = resource
      book.expect(
        user === null || user === fiber,
        'S34',
        `${resource.id} went to ${fiber.name}, and ${user?.name} has it`,
      )
      book.expect(
        resource.state === 'alive',
        'S34',
        `${resource.id} was handed out, and is ${resource.state}`,
      )
      book.expect(
        user === fiber || !resource.isDiscarded,
        'S34',
        `${resource.id} was handed out, and was discarded`,
      )
      book.line.served(number)
      resource.user = fiber
      try {
        return yield* body(resource)
      } finally {
        book.expect(resource.state === 'alive', 'S34', `${resource.id} was destroyed while it was used`)
        resource.user = user
      }
    })
  }
  discard(resource: Resource): boolean {
    resource.isDiscarded = true
    return this.pool.discard(resource)
  }
  fill(): Op<void> {
    return this.pool.fill()
  }
  get isClosed(): boolean {
    return this.pool.isClosed
  }
  close(): Op<void> {
    return this.desk.wait('op', this.pool.close())
  }
  get isEmpty(): boolean {
    return this.pool.size === 0
  }

  quiet(): void {
    const { limit, size, inUse, idle, creating, destroying, waiting, created, destroyed } = this.pool.stats()
    const count = (is: (resource: Resource) => boolean) => this.made.filter(is).length
    const used = count(({ user, isChecked }) => user !== null || isChecked)
    const dying = count(({ state }) => state === 'dying')
    const left = count(({ state }) => state !== 'dead')
    this.expect(
      size <= limit && size === inUse + idle + creating + destroying,
      'stats',
      `${size} of ${limit} resources`,
    )
    this.expect(
      waiting === 0 || (size === limit && idle === 0 && !this.isClosed),
      'S36',
      `${waiting} wait, ${size} are there, ${idle} idle`,
    )
    this.expect(
      created - destroyed === left,
      'S34',
      `${created} created, ${destroyed} destroyed, ${left} left`,
    )
    this.expect(
      inUse === used && destroying === dying && idle === left - used - dying,
      'stats',
      `${inUse} in use, not ${used}; ${destroying} being destroyed, not ${dying}`,
    )
  }
  end(): void {
    this.quiet()
    const { size, waiting, created, destroyed } = this.pool.stats()
    this.expect(size === 0 && waiting === 0 && created === destroyed, 'S01', `${size} resources are left`)
  }
}
