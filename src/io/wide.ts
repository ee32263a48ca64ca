// Where text is not plain ASCII. Looks at four bytes at once: most text is plain for long stretches, and to make strings of
// plain text is many times quicker than to decode it.

import { isAscii } from 'node:buffer'

/** One of four bytes is beyond ASCII. */
const BEYOND = 0x80808080

export class WideFinder {
  private chunk: Buffer | null = null
  /** The memory of the chunk, four bytes at a time; null if it is all plain. */
  private words: Uint32Array | null = null

  /** Where in this chunk the first byte beyond ASCII is, from here to the end; Infinity if there is none. */
  find(chunk: Buffer, from: number, end: number): number {
    if (chunk !== this.chunk) this.open(chunk)
    const { words } = this
    if (words === null) return Infinity
    const { byteOffset } = chunk
    let at = from
    for (; at < end && ((byteOffset + at) & 3) !== 0; at++) if ((chunk[at] as number) > 127) return at
    let word = (byteOffset + at) >> 2
    const last = (byteOffset + end) >> 2
    while (word < last && ((words[word] as number) & BEYOND) === 0) word++
    for (at = Math.max(at, word * 4 - byteOffset); at < end; at++) if ((chunk[at] as number) > 127) return at
    return Infinity
  }

  private open(chunk: Buffer): void {
    const { buffer } = chunk
    this.chunk = chunk
    this.words = isAscii(chunk) ? null : new Uint32Array(buffer, 0, buffer.byteLength >> 2)
  }

  /** It holds no chunk any more. */
  close(): void {
    this.chunk = this.words = null
  }
}
