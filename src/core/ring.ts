// A ring buffer that doubles: the run queue and the mailboxes.
//
//      head           head+size
//       v                v
//   [ . A B C D E F G H  . . . ]      index & mask wraps around; the length is a power of two
//
// Filled with undefined from the start, so that every ring has the same kind of elements and the code
// that all of them share stays fast.

export class Ring<T> {
  private items: (T | undefined)[]
  private mask: number
  private head = 0
  size = 0

  constructor(capacity = 8) {
    this.items = new Array<T | undefined>(capacity).fill(undefined)
    this.mask = capacity - 1
  }

  push(item: T): void {
    if (this.size > this.mask) this.grow()
    this.items[(this.head + this.size) & this.mask] = item
    this.size++
  }

  unshift(item: T): void {
    if (this.size > this.mask) this.grow()
    this.head = (this.head - 1) & this.mask
    this.items[this.head] = item
    this.size++
  }

  /** The oldest item; only when `size > 0`. */
  shift(): T {
    const item = this.items[this.head] as T
    this.items[this.head] = undefined
    this.head = (this.head + 1) & this.mask
    this.size--
    return item
  }

  at(index: number): T {
    return this.items[(this.head + index) & this.mask] as T
  }

  /** Takes the item at `index` out of the middle. Slow; for schedules that tests choose, and for `delete`. */
  take(index: number): T {
    const item = this.at(index)
    for (let i = index; i > 0; i--) this.items[(this.head + i) & this.mask] = this.at(i - 1)
    this.shift()
    return item
  }

  /** Takes the item at `index` and puts the oldest in its place: as fast as `shift`, where order does not matter. */
  pick(index: number): T {
    const item = this.at(index)
    this.items[(this.head + index) & this.mask] = this.at(0)
    this.shift()
    return item
  }

  /** Takes `item` out, wherever it is. */
  delete(item: T): boolean {
    for (let i = 0; i < this.size; i++) {
      if (this.at(i) !== item) continue
      this.take(i)
      return true
    }
    return false
  }

  clear(): void {
    while (this.size > 0) this.shift()
  }

  private grow(): void {
    const items = new Array<T | undefined>((this.mask + 1) * 2).fill(undefined)
    for (let i = 0; i < this.size; i++) items[i] = this.at(i)
    this.items = items
    this.mask = items.length - 1
    this.head = 0
  }
}
