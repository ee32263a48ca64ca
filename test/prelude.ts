// What nearly every test file needs, from one place.

import assert from 'node:assert/strict'
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { test as nodeTest, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Fiber, type Op, type Routine, sleep, snooze, spin, suppressedErrors, until } from 'polyphony'
import { virtual } from 'polyphony/testing'

export { after as afterAll, before as beforeAll, describe, mock, type TestContext } from 'node:test'
export * from 'polyphony'
export * from 'polyphony/testing'
export { assert }

const GeneratorFunction = Object.getPrototypeOf(function* () {})

type Body = ((context: TestContext) => unknown) | (() => Routine<unknown>)
interface Options {
  concurrency?: number
  timeout?: number
}

/** As node:test's, but a generator function is a fiber on the virtual clock, which may leave nothing behind. */
export function test(name: string, body: Body): void
export function test(name: string, options: Options, body: Body): void
export function test(name: string, options: Options | Body, body: Body = options as Body): void {
  const isFiber = Object.getPrototypeOf(body) === GeneratorFunction
  const whole = async (context: TestContext) => {
    if (isFiber) return void (await virtual(body as () => Routine<unknown>, { onReport() {} })) // see `reports`
    const result = await (body as (context: TestContext) => unknown)(context)
    assert.ok(!isOp(result), 'the body gave an op, which does not run by itself: write function*')
  }
  nodeTest(name, body === options ? {} : (options as Options), whole)
}

/** Waits, so many milliseconds or for ever, and does `last` however the wait ends: `try { sleep } finally { last }`. */
export function* waits(last: () => unknown, ms?: number): Routine<void> {
  try {
    yield* ms === undefined ? sleep() : sleep(ms)
  } finally {
    const more = last()
    if (isOp(more)) yield* more
  }
}

function isOp(value: unknown): value is Op<unknown> {
  return typeof value === 'object' && value !== null && Symbol.iterator in value
}

/** A fiber that has begun to wait. Its error does not reach the test. */
export function* started<T>(body: () => Op<T>, options: { grace?: number } = {}): Routine<Fiber<T>> {
  const fiber = spin({ link: false, ...options }, body) as Fiber<T>
  yield* sleep(1)
  return fiber
}

/** Takes its own return back, so many times: forced in vain, it is abandoned in the end (S19). */
export function* neverLetsGo(onYield?: unknown, times = Infinity): Routine<void> {
  for (let i = 0; i < times; i++) {
    // biome-ignore lint/suspicious/noConfusingLabels: a plain `continue` would be taken for a useless one
    hold: try {
      if (typeof onYield === 'function') onYield()
      yield* sleep()
    } finally {
      // biome-ignore lint/correctness/noUnsafeFinally: that is the point
      break hold
    }
  }
}

/** How many listeners wait for the end of a fiber: awaiters, callers, locks and whatever else it is to tell. */
export function endListeners(fiber: Fiber<any, any>): number {
  let count = 0
  for (let node = (fiber as any).lastListener; node !== null; node = node.before) count++
  return count
}

/** The runtime of the fiber that runs. */
export const runtime = (): any => (Fiber.current as any).runtime

/** Milliseconds on the clock of this world. */
export const now = (): number => runtime().now()

/** What was reported in this virtual world so far: `kind: message`. */
export const reports = (): string[] =>
  runtime().backend.reports.map((each: any) => `${each.kind}: ${each.message}`)

/** What an op throws. */
export function* thrownBy(op: Op<unknown>): Routine<any> {
  try {
    yield* op
  } catch (error) {
    return error
  }
  return assert.fail('nothing was thrown')
}

/** Turns of the event loop, which async code waits for. */
export async function turns(n = 1): Promise<void> {
  for (let i = 0; i < n; i++) await new Promise<void>((resolve) => setImmediate(resolve))
}

/** A turn of the event loop, which a fiber waits for. */
export const turn = (): Op<void> => until(turns(1))

/** Whether a wait that began at `start` hangs: so long that no machine is that slow. The only use of the clock here. */
const hangs = (start: number) => performance.now() - start > 30_000

/** Waits until a condition holds, looking once in each turn of the event loop: a fact and not the clock ends the wait. */
export function* eventually(isSo: () => boolean): Routine<void> {
  for (const start = performance.now(); !isSo(); yield* turn()) assert.ok(!hangs(start), `never: ${isSo}`)
}

/** The same for async code; false if the condition never holds. */
export async function comesTrue(isSo: () => boolean): Promise<boolean> {
  for (const start = performance.now(); !isSo(); await turns()) if (hangs(start)) return false
  return true
}

/** Waits until these fibers wait for something. */
export function* untilWaiting(...fibers: Fiber<any>[]): Routine<void> {
  for (const fiber of fibers) yield* eventually(() => fiber.state === 'waiting')
}

/** A body that fails after a while. */
export function* failAfter(ms: number, error: Error): Routine<never> {
  yield* sleep(ms)
  throw error
}

/** How often a fiber of this world was resumed so far. */
export function switches(): number {
  return (Fiber.current as any).runtime.stats().switches
}

/** An error with everything that it carries in `suppressed`. */
export function whole(error: unknown): unknown[] {
  return [error, ...suppressedErrors(error).flatMap(whole)]
}

/** Numbers from 0 (included) to 1; the same seed gives the same ones. */
export function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

/** Runs a program given as text in a process of its own; one that hangs has the code null. */
export function program(source: string, env: Record<string, string> = {}): Promise<Ended> {
  const child = spawn(process.execPath, ['--input-type=module', '--max-old-space-size=300', '-e', source], {
    cwd: fileURLToPath(new URL('../../', import.meta.url)),
    env: { PATH: process.env.PATH, ...env },
    timeout: 20_000,
    killSignal: 'SIGKILL',
  })
  return ended(child)
}

/** What a process has printed when it is over. */
export function ended(child: ChildProcessWithoutNullStreams): Promise<Ended> {
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })
}

/** A body that fails at its second turn. */
export function* failing(message: string): Routine<never> {
  yield* snooze()
  throw new Error(message)
}
