// Timers: all timers of a runtime in one binary heap, over a single timer of the backend. Each node has its index in the
// heap, so removing a time-out that did not fire needs no search. Equal times fire in the order they were set (S68).

/** A timer: a sleep, a time limit, a deadline. It is its own node in the heap, so setting one allocates nothing. */
export interface TimerNode {
  /** When it fires, on the runtime's clock. Set by `addTimer`; initially 0. */
  time: number
  /** Breaks ties between equal times. Set by `addTimer`; initially 0. */
  seq: number
  /** Its index in the heap; -1 while it is not set, and initially. */
  index: number
  /** Called when it is due. Must not throw. */
  fire(): void
}

export class Timers {
  private heap: TimerNode[] = []
  private seq = 0
  /** How often a timer was added or removed. */
  changes = 0

  get size(): number {
    return this.heap.length
  }

  /** The time of the next timer, Infinity if there is none. */
  get next(): number {
    return this.heap.length > 0 ? (this.heap[0] as TimerNode).time : Infinity
  }

  add(node: TimerNode, time: number): void {
    this.changes++
    node.time = time
    node.seq = this.seq++
    this.heap.push(node)
    this.up(node, this.heap.length - 1)
  }

  remove(node: TimerNode): void {
    const index = node.index
    if (index < 0) return
    this.changes++
    node.index = -1
    const last = this.heap.pop() as TimerNode
    if (last === node) return
    this.down(last, index)
    if (last.index === index) this.up(last, index)
  }

  /** Fires the timers that are due, at most `most`. */
  fire(now: number, most = Infinity): void {
    for (let fired = 0; fired < most && this.next <= now; fired++) {
      const node = this.heap[0] as TimerNode
      this.remove(node)
      node.fire()
    }
  }

  private up(node: TimerNode, index: number): void {
    const heap = this.heap
    while (index > 0) {
      const parentIndex = (index - 1) >> 1
      const parent = heap[parentIndex] as TimerNode
      if (before(parent, node)) break
      heap[index] = parent
      parent.index = index
      index = parentIndex
    }
    heap[index] = node
    node.index = index
  }

  private down(node: TimerNode, index: number): void {
    const heap = this.heap
    const length = heap.length
    for (;;) {
      let childIndex = 2 * index + 1
      if (childIndex >= length) break
      let child = heap[childIndex] as TimerNode
      const rightIndex = childIndex + 1
      if (rightIndex < length && before(heap[rightIndex] as TimerNode, child)) {
        childIndex = rightIndex
        child = heap[childIndex] as TimerNode
      }
      if (before(node, child)) break
      heap[index] = child
      child.index = index
      index = childIndex
    }
    heap[index] = node
    node.index = index
  }
}

function before(a: TimerNode, b: TimerNode): boolean {
  return a.time < b.time || (a.time === b.time && a.seq < b.seq)
}
