// What has been received and not yet taken. Bytes become text only when a line is whole, so a character that was
// split between two chunks comes out right. They are taken before they become text, which may fail: a line can be longer
// than the longest string (about half a gigabyte). Then that line is lost, and nothing else. Knows no stream and no fiber.
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

  push(chunk: Buffer): void {
    this.chunks.push(chunk)
  }

  /** The next bytes, as they came; undefined if there are none. */
  chunk(): Buffer | undefined {
    const chunk = this.chunks[0]?.subarray(this.from)
    this.dropFirst()
    return chunk
  }

  /** The next line without its `\n` or `\r\n`; undefined if none is whole. */
  line(): string | undefined {
    for (; this.searched < this.chunks.length; this.searched++) {
      const chunk = this.chunks[this.searched] as Buffer
      const end = chunk.indexOf(LINE_FEED, this.searched === 0 ? this.from : 0)
      if (end >= 0) return this.cut(end)
    }
    return undefined
  }

  /** All that is left, when no more can come: a last line may lack its end. */
  lastLine(): string | undefined {
    if (this.chunks.length === 0) return undefined
    const { chunks, from } = this
    const [first] = chunks as [Buffer]
    this.chunks = []
    this.from = 0
    this.searched = 0
    return (chunks.length === 1 ? first : Buffer.concat(chunks)).toString('utf8', from)
  }

  /** Takes the line that ends at `end` of the chunk being searched. */
  private cut(end: number): string {
    const { from } = this
    const before = this.searched > 0 ? this.chunks.splice(0, this.searched) : null
    const last = this.chunks[0] as Buffer
    this.searched = 0
    if (end + 1 < last.length) this.from = end + 1
    else this.dropFirst()
    if (before === null) return text(last, from, end)
    const bytes = Buffer.concat([...before, last.subarray(0, end)])
    return text(bytes, from, bytes.length)
  }

  private dropFirst(): void {
    this.chunks.shift()
    this.from = 0
    this.searched = Math.max(0, this.searched - 1)
  }
}

function text(bytes: Buffer, from: number, end: number): string {
  return bytes.toString('utf8', from, bytes[end - 1] === CARRIAGE_RETURN ? end - 1 : end)
}
