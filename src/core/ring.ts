// A ring buffer that doubles: mailboxes, and errors that are to be thrown.
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

  /** The oldest item; only when `size > 0`. */
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

  /** Takes out the item at `index`; costs as many steps as there are older ones. */
  remove(index: number): void {
    for (let i = index; i > 0; i--) {
      this.items[(this.head + i) & this.mask] = this.items[(this.head + i - 1) & this.mask]
    }
    this.shift()
  }

  private grow(): void {
    const items = new Array<T | undefined>((this.mask + 1) * 2).fill(undefined)
    for (let i = 0; i < this.size; i++) items[i] = this.items[(this.head + i) & this.mask]
    this.items = items
    this.mask = items.length - 1
    this.head = 0
  }

  /** Puts an item before the oldest. */
  unshift(item: T): void {
    if (this.size > this.mask) this.grow()
    this.head = (this.head - 1) & this.mask
    this.items[this.head] = item
    this.size++
  }

  /** Takes out the oldest item that is this one. False if there is none. Looks at all of them. */
  delete(item: T): boolean {
    for (let i = 0; i < this.size; i++) {
      if (!Object.is(this.at(i), item)) continue
      this.remove(i)
      return true
    }
    return false
  }
}
