// How often a whole number was seen, in buckets that are an eighth of a power of two wide: what is read from it is at
// most an eighth too high. Recording costs a few nanoseconds and no memory.

/** A summary of what was recorded. */
export interface Distribution {
  /** How many were recorded. */
  readonly count: number
  /** Their mean. */
  readonly mean: number
  /** The greatest. */
  readonly max: number
  /** Half of them were not above this; an eighth off at most. */
  readonly p50: number
  /** 99 of 100 were not above this; an eighth off at most. */
  readonly p99: number
}

/** 8 for each power of two, up to 2 ** 32; what is more is in the last one. */
const SIZE = 30 * 8

export class Histogram {
  private readonly buckets = new Uint32Array(SIZE)
  private count = 0
  private sum = 0
  private max = 0

  /** Records a number, as if it had been seen so many times. */
  record(value: number, times = 1): void {
    const n = value > 0 ? Math.floor(value) : 0
    const index = n < 2 ** 32 ? bucketOf(n) : SIZE - 1
    this.buckets[index] = (this.buckets[index] as number) + times
    this.count += times
    this.sum += n * times
    if (n > this.max) this.max = n
  }

  /** The summary, each figure divided by `unit`. */
  read(unit = 1): Distribution {
    const { count, sum, max } = this
    return {
      count,
      mean: count === 0 ? 0 : sum / count / unit,
      max: max / unit,
      p50: this.quantile(0.5) / unit,
      p99: this.quantile(0.99) / unit,
    }
  }

  private quantile(share: number): number {
    let left = Math.ceil(this.count * share)
    if (left === 0) return 0
    for (let i = 0; i < SIZE; i++) {
      left -= this.buckets[i] as number
      if (left <= 0) return i === SIZE - 1 ? this.max : Math.min(topOf(i), this.max)
    }
    return this.max
  }
}

/** Up to 15 each number has a bucket of its own; above, the three bits after the first tell which eighth it is. */
function bucketOf(n: number): number {
  if (n < 16) return n
  const shift = 28 - Math.clz32(n)
  return shift * 8 + (n >>> shift)
}

/** The greatest number in a bucket. */
function topOf(index: number): number {
  if (index < 16) return index
  const shift = (index >> 3) - 1
  return (8 + (index & 7) + 1) * 2 ** shift - 1
}
