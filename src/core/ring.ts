// A ring buffer that doubles when it is full: for mailboxes, pending errors, queues.
//
//      head           head+size
//       v                v
//   [ . A B C D E F G H  . . . ]      index & mask wraps around; the length is a power of two
//
// Filled with undefined from the start, so that all rings have the same elements kind in V8 and the shared code stays fast.

/**
 * A first-in, first-out buffer: `push` and `shift` take constant time, unlike those of an array.
 *
 * ```ts
 * const ring = new Ring<string>()
 * ring.push('b')
 * ring.push('c')
 * ring.unshift('a')
 * console.log(ring.shift(), ring.shift(), ring.size) // a b 1
 * ```
 */
export class Ring<T> {
  private items: (T | undefined)[]
  private mask: number
  private head = 0
  /** The number of items. */
  size = 0

  constructor(capacity = 8) {
    this.items = new Array<T | undefined>(capacity).fill(undefined)
    this.mask = capacity - 1
  }

  /** Adds an item at the end. */
  push(item: T): void {
    if (this.size > this.mask) this.grow()
    this.items[(this.head + this.size) & this.mask] = item
    this.size++
  }

  /** Removes and returns the oldest item; only when `size > 0`. */
  shift(): T {
    const item = this.items[this.head] as T
    this.items[this.head] = undefined
    this.head = (this.head + 1) & this.mask
    this.size--
    return item
  }

  /** The item at `index`, counted from the oldest; only when `index < size`. */
  at(index: number): T {
    return this.items[(this.head + index) & this.mask] as T
  }

  /** Removes the item at `index`; linear in its distance from the nearer end. */
  remove(index: number): void {
    const { head, items, mask, size } = this
    if (index < size / 2) {
      for (let i = index; i > 0; i--) items[(head + i) & mask] = items[(head + i - 1) & mask]
      this.shift()
      return
    }
    for (let i = index; i < size - 1; i++) items[(head + i) & mask] = items[(head + i + 1) & mask]
    items[(head + size - 1) & mask] = undefined
    this.size--
  }

  private grow(): void {
    const items = new Array<T | undefined>((this.mask + 1) * 2).fill(undefined)
    for (let i = 0; i < this.size; i++) items[i] = this.items[(this.head + i) & this.mask]
    this.items = items
    this.mask = items.length - 1
    this.head = 0
  }

  /** Adds an item before the oldest. */
  unshift(item: T): void {
    if (this.size > this.mask) this.grow()
    this.head = (this.head - 1) & this.mask
    this.items[this.head] = item
    this.size++
  }

  /** Removes the oldest occurrence of an item. False if there is none. Linear in the size. */
  delete(item: T): boolean {
    for (let i = 0; i < this.size; i++) {
      if (!Object.is(this.at(i), item)) continue
      this.remove(i)
      return true
    }
    return false
  }
}
