// Buffers that are lent to the bodies of loops and come back, so that a loop allocates nothing for a chunk.
// One whose body was cut does not come back: somebody may still hold it, such as a write that is underway. Nor does one whose body
// went on after a write was cut, by a time-out or a race.

const SIZE = 64 * 1024
/** How many wait here for the next; more are left to the garbage. */
const KEPT = 64

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

/** How many writes were left by their fibers so far. What they write is sent all the same, so its memory is in use. */
export let cutWrites = 0

export function writeWasCut(): void {
  cutWrites++
}

/** A buffer for these bytes, or null if they are too many: then they need one of their own. */
export function lend(bytes: Buffer): Lent | null {
  return bytes.length > SIZE ? null : (free.pop() ?? new Lent())
}

export function giveBack(lent: Lent): void {
  if (free.length < KEPT) free.push(lent)
}
