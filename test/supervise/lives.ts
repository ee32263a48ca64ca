// Children that the tests of this room supervise.

import { ensure, Fiber, type Routine, runtime, sleep, tap, waits } from '../prelude.js'

/** The kinds of what was reported in this world, in order. */
export const kinds = (): string[] => runtime().backend.reports.map(({ kind }: { kind: string }) => kind)

/** Fails so many times, then gives a value; counts its lives. */
export function flaky(failures: number, ms = 1): { lives: number; body: () => Routine<string> } {
  const state = {
    lives: 0,
    *body(): Routine<string> {
      const life = ++state.lives
      yield* sleep(ms)
      if (life <= failures) throw new Error(`life ${life}`)
      return 'well'
    },
  }
  return state
}

/**
 * The log of a server says +name as it is spun or started again. That order is promised (S42); in which order the
 * bodies take their first steps is up to the scheduler.
 */
tap((event, fiber: any) => {
  if (event !== 'spin' && event !== 'restart') return
  if (fiber.body === server || fiber.body === failsOnce) fiber.args[1].push(`+${fiber.args[0]}`)
})

/** Runs for ever; its log says when it starts and ends. */
export function* server(name: string, log: string[], cleanup = 0): Routine<void> {
  yield* ensure(
    () => sleep(),
    function* () {
      if (cleanup > 0) yield* sleep(cleanup)
      log.push(`-${name}`)
    },
  )
}

/** Runs until `ms` have passed, then fails, in its first life; in later ones it runs for ever. */
export function* failsOnce(name: string, log: string[], ms: number): Routine<void> {
  if (Fiber.current.incarnation === 1) {
    yield* sleep(ms)
    log.push(`!${name}`)
    throw new Error(name)
  }
  yield* ensure(
    () => sleep(),
    () => void log.push(`-${name}`),
  )
}

/** Runs for ever; its cleanup takes so long, and fails. */
export function failsAtEnd(error: Error, ms = 0): Routine<void> {
  return waits(function* () {
    if (ms > 0) yield* sleep(ms)
    throw error
  })
}

/** A child that needs so long to clean up. */
export function slow(name: string, log: string[], ms: number, grace?: number) {
  return { name, body: server, args: [name, log, ms], grace }
}
