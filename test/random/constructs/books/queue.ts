// The book of a queue: every item, and where it is.

import type { Op, Queue, Routine } from 'polyphony'
import { Book, type Desk, Line } from './book.js'

type ItemState = 'pushing' | 'in' | 'out' | 'refused'

export class QueueBook extends Book {
  private readonly states = new Map<string, ItemState>()
  private before: string[] = []
  private accepted = 0
  private taken = 0
  private readonly pushers: Line
  private readonly shifters: Line

  constructor(
    name: string,
    desk: Desk,
    private readonly queue: Queue<string>,
  ) {
    super(name, desk)
    this.pushers = new Line(name, desk, () => (queue as any).pushers)
    this.shifters = new Line(name, desk, () => (queue as any).shifters)
  }

  private get content(): string[] {
    const { items } = this.queue as any
    return Array.from({ length: items.size }, (_, i) => items.at(i))
  }

  *push(item: string): Routine<void> {
    this.states.set(item, 'pushing')
    const number = this.pushers.joins()
    let isIn = false
    try {
      yield* this.desk.wait('op', this.queue.push(item))
      isIn = true
      this.accepts(item)
      this.pushers.served(number)
    } finally {
      this.pushers.left()
      if (!isIn) this.refuses(item)
    }
  }
  private accepts(item: string): void {
    this.accepted++
    if (this.states.get(item) !== 'out') this.states.set(item, 'in')
  }
  private refuses(item: string): void {
    this.expect(this.states.get(item) !== 'out', 'S34', `${item} was refused, and taken`)
    this.states.set(item, 'refused')
  }
  tryPush(item: string): boolean {
    this.states.set(item, 'refused')
    const isIn = this.queue.tryPush(item)
    if (isIn) {
      this.states.set(item, 'in')
      this.accepts(item)
    }
    return isIn
  }
  unshift(item: string): void {
    this.states.set(item, 'in')
    this.before = []
    this.queue.unshift(item)
    this.accepts(item)
  }

  private takes<T>(item: T): T {
    const state = this.states.get(item as string)
    this.expect(state === 'in' || state === 'pushing', 'S34', `${item} came out, and was ${state}`)
    this.states.set(item as string, 'out')
    this.taken++
    return item
  }
  *shift(op: Op<any> = this.queue.shift()): Routine<any> {
    const number = this.shifters.joins()
    try {
      const item = yield* this.desk.wait('idle', op)
      if (typeof item === 'string') this.takes(item)
      this.shifters.served(number)
      return item
    } finally {
      this.shifters.left()
    }
  }
  iterate() {
    return { next: () => this.shift(this.queue.iterate().next()) }
  }
  tryShift(): string | undefined {
    const item = this.queue.tryShift()
    return item === undefined ? item : this.takes(item)
  }
  shiftAll(): string[] {
    return this.queue.shiftAll().map((item) => this.takes(item))
  }
  clear(): void {
    for (const item of this.content) this.states.set(item, 'out')
    this.queue.clear()
    this.before = []
    this.cleared = this.queue.stats().pushed - this.queue.stats().shifted - this.queue.size
  }
  private cleared = 0
  set capacity(capacity: number) {
    this.queue.capacity = capacity
  }
  [Symbol.dispose](): void {
    this.queue[Symbol.dispose]()
  }

  quiet(): void {
    const { size, capacity, shifting, pushing, pushed, shifted, closed } = this.queue.stats()
    const { content } = this
    this.expect(
      shifting === 0 || (size === 0 && !closed),
      'S36',
      `${shifting} wait for an item, ${size} are there`,
    )
    this.expect(
      pushing === 0 || (size >= capacity && !closed),
      'S36',
      `${pushing} wait for room, ${size} are there`,
    )
    this.expect(
      pushed === this.accepted && shifted === this.taken,
      'stats',
      `${pushed} pushed, ${shifted} shifted`,
    )
    this.expect(size === content.length && pushed - shifted - this.cleared === size, 'stats', `${size} items`)
    for (const item of content) {
      const state = this.states.get(item)
      this.expect(state === 'in', 'S34', `${item} is in it, and was ${state}`)
    }
    for (const [item, state] of this.states) {
      if (state === 'in') this.expect(content.includes(item), 'S34', `${item} was lost`)
    }
    const kept = this.before.filter((item) => content.includes(item))
    const inOrder =
      kept.every((item, i) => content[i] === item) &&
      this.before.slice(-kept.length || Infinity).every((item, i) => kept[i] === item)
    this.expect(inOrder, 'S52', `[${this.before}] became [${content}]`)
    this.before = content
  }
  end(): void {
    this.quiet()
    const { shifting, pushing } = this.queue.stats()
    this.expect(shifting + pushing === 0, 'S01', 'somebody still waits')
  }
}
