// Buffers that are lent to the bodies of loops and come back, so that a loop allocates nothing for a chunk.
// One whose body was cut does not come back: somebody may still hold it, such as a write that is underway. Nor does one whose body
// went on after a write was cut, by a time-out or a race.

const SIZE = 64 * 1024
/** So many there are at the most. When a burst comes faster than fibers run, each chunk gets memory of its own size instead. */
const MOST = 32

/** A buffer and the last view of it: chunks of a protocol are often equally long. */
export class Lent {
  private readonly memory = Buffer.allocUnsafeSlow(SIZE)
  private view = this.memory

  /** The bytes, here. */
  hold(bytes: Buffer): Buffer {
    const { length } = bytes
    if (this.view.length !== length) this.view = this.memory.subarray(0, length)
    this.view.set(bytes)
    return this.view
  }
}

const free: Lent[] = []
let count = 0

/** How many writes were left by their fibers so far. What they write is sent all the same, so its memory is in use. */
export let cutWrites = 0

export function writeWasCut(): void {
  cutWrites++
}

/** A buffer for these bytes, or null if there is none: then they need one of their own. */
export function lend(bytes: Buffer): Lent | null {
  if (bytes.length > SIZE) return null
  const lent = free.pop()
  if (lent !== undefined) return lent
  if (count === MOST) return null
  count++
  return new Lent()
}

export function giveBack(lent: Lent): void {
  free.push(lent)
}

/** It does not come back. */
export function loseLent(): void {
  count--
}
