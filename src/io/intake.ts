// What has been received and not yet taken. Bytes become text only when a line is whole, so a character that was
// split between two chunks comes out right. Knows no stream and no fiber.
//
//              from
//               v
//   chunks   [ 'tea\ncaf\xc3' ][ '\xa9 au l' ][ 'ait\nmilk\n' ]
//                \___ searched: no end of line ___/  the line ends here, 'milk\n' stays

const LINE_FEED = 10
const CARRIAGE_RETURN = 13

export class Intake {
  private chunks: Buffer[] = []
  /** Where the first chunk begins: what is before has been taken. */
  private from = 0
  /** So many chunks, from the first on, hold no end of line: a long line is searched once, not once for each chunk. */
  private searched = 0
  /** How many bytes are here. */
  size = 0

  push(chunk: Buffer): void {
    if (chunk.length === 0) return
    this.chunks.push(chunk)
    this.size += chunk.length
  }

  /** The next bytes, as they came, `max` at the most; undefined if there are none. */
  chunk(max = Infinity): Buffer | undefined {
    const first = this.chunks[0]
    if (first === undefined) return undefined
    const end = Math.min(first.length, this.from + max)
    const bytes = first.subarray(this.from, end)
    this.size -= bytes.length
    if (end < first.length) this.from = end
    else this.dropFirst()
    return bytes
  }

  /** Exactly so many bytes, in one piece; there must be as many. */
  bytes(count: number): Buffer {
    const first = this.chunk(count) ?? Buffer.alloc(0)
    if (first.length === count) return first
    const parts = [first]
    for (let left = count - first.length; left > 0; ) {
      const part = this.chunk(left) as Buffer
      parts.push(part)
      left -= part.length
    }
    return Buffer.concat(parts, count)
  }

  /** The next line without its `\n` or `\r\n`; undefined if none is whole, or it is longer than `limit` bytes. */
  line(limit = Infinity): string | undefined {
    for (; this.searched < this.chunks.length; this.searched++) {
      const chunk = this.chunks[this.searched] as Buffer
      const end = chunk.indexOf(LINE_FEED, this.searched === 0 ? this.from : 0)
      if (end >= 0) return this.lengthTo(end) > limit ? undefined : this.cut(end)
    }
    return undefined
  }

  /** All that is left, when no more can come: a last line may lack its end. */
  lastLine(): string | undefined {
    return this.size === 0 ? undefined : this.bytes(this.size).toString('utf8')
  }

  /** How many bytes to the end of this delimiter, itself included; -1 if it has not come. */
  find(delimiter: Buffer): number {
    if (this.chunks.length > 1) this.join()
    const at = this.chunks[0]?.indexOf(delimiter, this.from) ?? -1
    return at < 0 ? -1 : at + delimiter.length - this.from
  }

  /** One chunk of many: what is looked for may be cut between two. */
  private join(): void {
    const all = this.bytes(this.size)
    this.chunks = []
    this.push(all)
  }

  /** Takes the line that ends at `end` of the chunk being searched. */
  private cut(end: number): string {
    const { from } = this
    const before = this.searched > 0 ? this.chunks.splice(0, this.searched) : null
    const last = this.chunks[0] as Buffer
    this.searched = 0
    if (end + 1 < last.length) this.from = end + 1
    else this.dropFirst()
    if (before === null) {
      this.size -= end + 1 - from
      return text(last, from, end)
    }
    const bytes = Buffer.concat([...before, last.subarray(0, end)])
    this.size -= bytes.length + 1 - from
    return text(bytes, from, bytes.length)
  }

  /** How many bytes are before `end` of the chunk being searched. */
  private lengthTo(end: number): number {
    let length = end - this.from
    for (let i = 0; i < this.searched; i++) length += (this.chunks[i] as Buffer).length
    return length
  }

  private dropFirst(): void {
    this.chunks.shift()
    this.from = 0
    this.searched = Math.max(0, this.searched - 1)
  }
}

function text(bytes: Buffer, from: number, end: number): string {
  return bytes.toString('utf8', from, end > from && bytes[end - 1] === CARRIAGE_RETURN ? end - 1 : end)
}
