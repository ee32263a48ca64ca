// What programs that watch their memory share. They are run with --expose-gc.

/** Bytes in use when all that can be collected is. */
export function heapUsed(): number {
  gc?.()
  gc?.()
  return process.memoryUsage().heapUsed
}
