// A list of futures that are linked to each other: whoever leaves, leaves from where it stands.
//
//   first <-> future <-> future <-> last

import type { Future } from './future.js'

export class List {
  first: Future<any> | null = null
  private last: Future<any> | null = null
  size = 0

  push(future: Future<any>): void {
    const { last } = this
    future.before = last
    if (last === null) this.first = future
    else last.after = future
    this.last = future
    this.size++
  }

  /** The oldest; only when `size > 0`. */
  shift(): Future<any> {
    const future = this.first as Future<any>
    const { after } = future
    this.first = after
    if (after === null) this.last = null
    else {
      after.before = null
      future.after = null // else whoever keeps a future would keep all that came after it
    }
    this.size--
    return future
  }

  remove(future: Future<any>): void {
    const { before, after } = future
    if (before === null) this.first = after
    else before.after = after
    if (after === null) this.last = before
    else after.before = before
    future.before = null
    future.after = null
    this.size--
  }
}
