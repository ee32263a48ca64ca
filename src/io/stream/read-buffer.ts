// What has been received and not yet taken. Bytes become text only when a line is whole, so a character that was split
// between two chunks is decoded correctly. Knows no stream and no fiber.
//
//              from
//               v
//   chunks   [ 'tea\ncaf\xc3' ][ '\xa9 au l' ][ 'ait\nmilk\n' ]
//                \___ searched: no end of line ___/  the line ends here, 'milk\n' stays
//
// Where lines are short, many become text at once: a window of whole lines, all in the first chunk. Lines are cut from it,
// and the bytes are dropped when they are next looked at (`catchUp`). Lines that are not plain ASCII are decoded one by one.

import { isAscii } from 'node:buffer'

const LINE_FEED = 10
const CARRIAGE_RETURN = 13
/** So many bytes become text at once. A line that is kept keeps the text that it was cut from: that is why not more. */
export const WINDOW = 4096
/** From so many chunks on, small ones are put together: one for each byte of a slow sender would take too much. */
const CROWD = 1024
const SMALL = 1024

export class ReadBuffer {
  private chunks: Buffer[] = []
  /** Where the first chunk begins: what is before has been taken. */
  private from = 0
  /** So many chunks, from the first on, hold no end of line: a long line is searched once, not once for each chunk. */
  private searched = 0
  /** What was looked for last, and how many chunks, from the first on, do not hold it. */
  private sought: Buffer | null = null
  private soughtIn = 0
  /** How many bytes are here, those of the window included. */
  private count = 0
  /** A view of the first chunk was handed out. */
  private isShared = false

  /** The window: whole lines, whose bytes begin at `from`, one character for each byte; those before `at` have been taken. */
  private text = ''
  private at = 0
  /** Where in it the next character is that takes more than one byte: its line has to be decoded. */
  private wide = Infinity
  private wides: WideFinder | null = null

  constructor(
    /** Gets chunks that were used up, and of which there is no other view: their memory can serve again. */
    private recycle: ((chunk: Buffer) => void) | null = null,
  ) {}

  /** How many bytes are here. */
  get size(): number {
    if (this.text !== '') this.catchUp()
    return this.count
  }

  /** A chunk that is not empty. */
  push(chunk: Buffer): void {
    const { length } = chunk
    const { chunks } = this
    chunks.push(chunk)
    this.count += length
    if (length < SMALL && chunks.length > CROWD) this.compact()
  }

  /** A chunk that is put before all others. */
  unshift(chunk: Buffer): void {
    if (this.text !== '') this.catchUp()
    const { chunks, from } = this
    if (from > 0) chunks[0] = (chunks[0] as Buffer).subarray(from)
    chunks.unshift(chunk)
    this.from = this.searched = this.soughtIn = 0
    this.count += chunk.length
    this.recycle = null // which memory is whose is not known any more
  }

  /** The next bytes, as they came, `max` at the most; undefined if there are none. */
  chunk(max = Infinity): Buffer | undefined {
    if (this.text !== '') this.catchUp()
    const first = this.chunks[0]
    if (first === undefined) return undefined
    const bytes = first.subarray(this.from, Math.min(first.length, this.from + max))
    this.isShared = true
    this.drop(bytes.length)
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

  /** Everything is forgotten. Gives how many bytes that were. */
  clear(): number {
    const { size } = this
    this.chunks = []
    this.isShared = false
    this.from = this.searched = this.soughtIn = this.count = 0
    return size
  }

  /** The next line, if it can be had quickly: it is short, and whole in the first chunk. */
  readyLine(): string | undefined {
    if (this.at === this.text.length && !this.decode()) return undefined
    const { text, at } = this
    const end = text.indexOf('\n', at)
    this.at = end + 1
    const stop = end > at && text.charCodeAt(end - 1) === CARRIAGE_RETURN ? end - 1 : end
    return this.wide < end ? this.wideLine(at, stop) : text.slice(at, stop)
  }

  private wideLine(at: number, end: number): string {
    const { from } = this
    this.findWide(end)
    return (this.chunks[0] as Buffer).toString('utf8', from + at, from + end)
  }

  private findWide(at: number): void {
    const { from } = this
    this.wides ??= new WideFinder()
    this.wide = this.wides.find(this.chunks[0] as Buffer, from + at, from + this.text.length) - from
  }

  /** The next line without its `\n` or `\r\n`; undefined if none is whole, or it is longer than `limit` bytes. */
  line(limit = Infinity): string | undefined {
    const ready = limit < WINDOW ? undefined : this.readyLine()
    if (ready !== undefined) return ready
    if (this.text !== '') this.catchUp()
    for (; this.searched < this.chunks.length; this.searched++) {
      const chunk = this.chunks[this.searched] as Buffer
      const end = chunk.indexOf(LINE_FEED, this.searched === 0 ? this.from : 0)
      if (end >= 0) return this.lengthTo(end) > limit ? undefined : this.cut(end)
    }
    return undefined
  }

  /** All that is left, when no more can come: a last line may lack its end. */
  lastLine(): string | undefined {
    const { size } = this
    return size === 0 ? undefined : this.bytes(size).toString('utf8')
  }

  /** How many bytes to the end of this delimiter, itself included; -1 if it has not come. Looks at each chunk once. */
  find(delimiter: Buffer): number {
    if (this.text !== '') this.catchUp()
    const { chunks } = this
    if (delimiter !== this.sought) {
      this.sought = delimiter
      this.soughtIn = 0
    }
    let before = this.count - this.bytesFrom(this.soughtIn)
    for (; this.soughtIn < chunks.length; this.soughtIn++) {
      const chunk = chunks[this.soughtIn] as Buffer
      const start = this.soughtIn === 0 ? this.from : 0
      const seam = before === 0 || delimiter.length === 1 ? -1 : this.findAcross(this.soughtIn, delimiter)
      if (seam >= 0) return before + seam
      const at = chunk.indexOf(delimiter, start)
      if (at >= 0) return before + at - start + delimiter.length
      before += chunk.length - start
    }
    return -1
  }

  /** Where in this chunk a delimiter ends that began before it; -1 if none did. */
  private findAcross(index: number, delimiter: Buffer): number {
    const reach = delimiter.length - 1
    const parts = [(this.chunks[index] as Buffer).subarray(0, reach)]
    let tail = 0
    for (let i = index - 1; i >= 0 && tail < reach; i--) {
      const chunk = this.chunks[i] as Buffer
      const part = chunk.subarray(Math.max(i === 0 ? this.from : 0, chunk.length - (reach - tail)))
      tail += part.length
      parts.unshift(part)
    }
    const at = Buffer.concat(parts).indexOf(delimiter)
    return at < 0 ? -1 : at + delimiter.length - tail
  }

  /** Opens the next window. False: there is no end of line near. */
  private decode(): boolean {
    if (this.text !== '') this.catchUp()
    const first = this.chunks[0]
    if (first === undefined || this.searched > 0) return false
    const end = first.lastIndexOf(LINE_FEED, this.from + WINDOW - 1) + 1
    if (end <= this.from) return false
    this.text = first.toString('latin1', this.from, end)
    this.findWide(0)
    return true
  }

  /** Closes the window: the bytes of the lines that were taken from it are gone. */
  private catchUp(): void {
    const { at } = this
    this.text = ''
    this.at = 0
    this.drop(at)
  }

  /** Takes the line that ends at `end` of the chunk being searched. */
  private cut(end: number): string {
    const { from } = this
    const before = this.searched > 0 ? this.chunks.splice(0, this.searched) : null
    const last = this.chunks[0] as Buffer
    this.soughtIn = Math.max(0, this.soughtIn - this.searched)
    this.searched = 0
    if (before === null) {
      try {
        return text(last, from, end) // may fail: it can be longer than the longest string. Then it is lost, and nothing else
      } finally {
        this.drop(end + 1 - from)
      }
    }
    before[0] = (before[0] as Buffer).subarray(from)
    const bytes = Buffer.concat([...before, last.subarray(0, end)])
    for (const chunk of before) this.done(chunk)
    this.count -= bytes.length - end
    this.from = 0
    this.drop(end + 1)
    return text(bytes, 0, bytes.length)
  }

  /** How many bytes are before `end` of the chunk being searched. */
  private lengthTo(end: number): number {
    let length = end - this.from
    for (let i = 0; i < this.searched; i++) length += (this.chunks[i] as Buffer).length
    return length
  }

  /** How many bytes are in this chunk and those after it. */
  private bytesFrom(index: number): number {
    let count = 0
    for (let i = index; i < this.chunks.length; i++) count += (this.chunks[i] as Buffer).length
    return index === 0 ? count - this.from : count
  }

  /** So many bytes of the first chunk are gone. */
  private drop(count: number): void {
    this.count -= count
    this.from += count
    const first = this.chunks[0] as Buffer
    if (this.from < first.length) return
    this.chunks.shift()
    this.done(first)
    this.from = 0
    if (this.searched > 0) this.searched--
    if (this.soughtIn > 0) this.soughtIn--
  }

  /** A chunk that was the first is used up. */
  private done(chunk: Buffer): void {
    if (this.recycle !== null && !this.isShared) this.recycle(chunk)
    this.isShared = false
    this.wides?.close()
  }

  /** Makes one chunk of the later half. Each byte is moved a few times at the most, however many come. */
  private compact(): void {
    const { chunks } = this
    const start = chunks.length >> 1
    const { length } = chunks
    chunks.push(Buffer.concat(chunks.splice(start)))
    const now = (place: number) => (place >= length ? start + 1 : Math.min(place, start))
    this.searched = now(this.searched)
    this.soughtIn = now(this.soughtIn)
  }
}

function text(bytes: Buffer, from: number, end: number): string {
  return bytes.toString('utf8', from, end > from && bytes[end - 1] === CARRIAGE_RETURN ? end - 1 : end)
}

// Where text is not plain ASCII. Looks at four bytes at once: most text is plain for long stretches, and to make strings of
// plain text is many times quicker than to decode it.

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
