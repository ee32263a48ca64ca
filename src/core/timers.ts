// All time of a runtime in one binary heap, over a single timer of the backend. The place of a node is kept
// in the node, so taking out a time-out that did not fire costs a few steps and no search.
// Equal times fire in the order they were set (S68).

/** Something that wants to be called at a time: a sleep, a block with a time limit, a grace deadline. */
export interface TimerNode {
  /** When, on the backend's clock. */
  time: number
  /** Breaks ties between equal times. */
  seq: number
  /** Place in the heap, -1 while not in it. */
  index: number
  fire(): void
}

export class Timers {
  private heap: TimerNode[] = []
  private seq = 0

  get size(): number {
    return this.heap.length
  }

  /** The time of the next timer, Infinity if there is none. */
  get next(): number {
    return this.heap.length > 0 ? (this.heap[0] as TimerNode).time : Infinity
  }

  add(node: TimerNode, time: number): void {
    node.time = time
    node.seq = this.seq++
    this.heap.push(node)
    this.up(node, this.heap.length - 1)
  }

  remove(node: TimerNode): void {
    const index = node.index
    if (index < 0) return
    node.index = -1
    const last = this.heap.pop() as TimerNode
    if (last === node) return
    this.down(last, index)
    if (last.index === index) this.up(last, index)
  }

  /** Fires the timers that are due, but not more than `most`. */
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
