// Which listener gets which signal of the process. Each signal has one listener in Node, added while it is needed (S48),
// which passes the signal on to
//
//   takers       traps and fibers in awaitSignal; while there is one, main does not get this signal (S47)
//   else main    which stops (shutdown.ts)
//   observers    the tree dump, in any case (shutdown.ts)

import { constants } from 'node:os'
import { isMainThread } from 'node:worker_threads'
import { BadArgument, BadState, type Fiber, show } from '../core/index.js'
import { nodeRuntime } from './run.js'

/** npm sends its child a signal that the child already got from the terminal: within this time it counts as the same one. */
export const ECHO_MS = 300

/**
 * The full name of a signal: `SignalName<'int'>` is `'SIGINT'`.
 */
export type SignalName<S extends string = string> = S extends string
  ? Uppercase<S> extends `SIG${string}`
    ? Uppercase<S>
    : `SIG${Uppercase<S>}`
  : never

export interface Listener {
  heard(signal: string): void
}

type Rank = 'takers' | 'main' | 'observers'

class Line {
  readonly takers = new Set<Listener>()
  readonly main = new Set<Listener>()
  readonly observers = new Set<Listener>()
  private takenAt = -Infinity

  constructor(readonly signal: string) {}

  get isIdle(): boolean {
    return this.takers.size + this.main.size + this.observers.size === 0
  }

  /** Whether a taker has just got this signal: then main must not treat its echo as another one. */
  isEcho(): boolean {
    return nodeRuntime().now() - this.takenAt <= ECHO_MS
  }

  readonly ring = (): void => {
    const { signal, takers, main, observers } = this
    const isTaken = takers.size > 0
    const hearers = isTaken ? takers : this.isEcho() ? [] : main
    if (isTaken) this.takenAt = nodeRuntime().now()
    for (const listener of [...observers, ...hearers]) listener.heard(signal)
  }
}

const lines = new Map<string, Line>()

function lineOf(signal: string): Line {
  let line = lines.get(signal)
  if (line === undefined) lines.set(signal, (line = new Line(signal)))
  return line
}

export function listen(signal: string, listener: Listener, rank: Rank): void {
  const line = lineOf(signal)
  if (line.isIdle) process.on(signal, line.ring)
  line[rank].add(listener)
}

export function unlisten(signal: string, listener: Listener, rank: Rank): void {
  const line = lineOf(signal)
  if (line[rank].delete(listener) && line.isIdle) process.off(signal, line.ring)
}

/** Whether a trap or a fiber in awaitSignal takes this signal. */
export function isTaken(signal: string): boolean {
  return lineOf(signal).takers.size > 0
}

/** Whether an echo of a signal that a taker got may still come. */
export function isEchoing(signal: string): boolean {
  return lineOf(signal).isEcho()
}

/** @internal S64: a wait for a signal keeps the process alive. In Node, a listener alone does not. */
export function holdFor({ runtime }: Pick<Fiber, 'runtime'>, held: boolean): void {
  runtime.external += held ? 1 : -1
  if (held) runtime.hold()
  else runtime.release()
}

const FATAL = 'it means that the process is broken, and Node cannot run any code safely after it'
/** Signals that cannot be listened to, and why. */
const UNHEARD: Record<string, string> = {
  SIGKILL: 'the system never lets a process hear of it. SIGTERM asks a program to end',
  SIGSTOP: 'the system never lets a process hear of it. SIGTSTP is what Ctrl-Z sends',
  SIGUSR1: 'Node keeps it for its debugger. SIGUSR2 is free',
  SIGSEGV: FATAL,
  SIGBUS: FATAL,
  SIGFPE: FATAL,
  SIGILL: FATAL,
}

/** The full name of a signal that can be listened to: 'int', 'INT' and 'SIGINT' are the same. */
export function checkSignalName(name: unknown, where: string): string {
  if (typeof name !== 'string') {
    throw new BadArgument(`${where} needs the name of a signal, such as 'SIGINT', got ${show(name)}`)
  }
  const upper = name.toUpperCase()
  const signal = upper.startsWith('SIG') ? upper : `SIG${upper}`
  if (!Object.hasOwn(constants.signals, signal)) {
    throw new BadArgument(
      `${where} knows no signal ${show(name)}. Often used are SIGINT (Ctrl-C), SIGTERM, SIGHUP and SIGUSR2`,
    )
  }
  if (Object.hasOwn(UNHEARD, signal)) {
    throw new BadArgument(`${where} cannot listen to ${signal}: ${UNHEARD[signal]}`)
  }
  return signal
}

/** Node delivers signals to the main thread only. */
export function checkThread(where: string): void {
  if (isMainThread) return
  throw new BadState(
    `${where} was used in a worker thread, where no signal ever arrives. Listen in the main thread and send a message`,
  )
}
