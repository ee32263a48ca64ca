// A stopwatch on the clock of the current runtime, which in these tests is virtual.

import { Fiber } from 'polyphony'

/** Milliseconds since this call. */
export function clock(): () => number {
  const { runtime } = Fiber.current as unknown as { runtime: { now(): number } }
  const start = runtime.now()
  return () => runtime.now() - start
}
