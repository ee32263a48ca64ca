// The codes for states, phases, answers, ends, barriers and moments. Each kind is one field of small integers; their values
// and types are disjoint, so that comparing a phase with a state does not compile.

/** What a fiber is doing now. */
export const RUNNABLE = 0
export const RUNNING = 1
export const WAITING = 2
export const DEAD = 3
export type StateCode = typeof RUNNABLE | typeof RUNNING | typeof WAITING | typeof DEAD
export const STATES = ['runnable', 'running', 'waiting', 'dead'] as const
/** What a fiber is doing now. */
export type State = (typeof STATES)[number]

// How far the end of a region (a fiber or a block) has come. See "Phases" in docs/semantics.md.
//
//   live -> requested -> unwinding -> forced -> closing -> over
//
/** No end was requested. */
export const LIVE = 10
/** A stop, an expiry or a child's error waits for a switchpoint where it can be delivered. */
export const REQUESTED = 11
/** The signal was thrown; cleanup runs and may wait until the deadline. */
export const UNWINDING = 12
/** The deadline has passed: every yield is answered by return(). */
export const FORCED = 13
/** The body is over; children are still dying. */
export const CLOSING = 14
/** Nothing is left. */
export const OVER = 15
export type PhaseCode =
  | typeof LIVE
  | typeof REQUESTED
  | typeof UNWINDING
  | typeof FORCED
  | typeof CLOSING
  | typeof OVER
const PHASES = ['live', 'requested', 'unwinding', 'forced', 'closing', 'dead'] as const
/** How far the end of a fiber has come (S15). */
export type Phase = (typeof PHASES)[number]

export function phaseName(phase: PhaseCode): Phase {
  return PHASES[phase - LIVE] as Phase
}

// The answer that a fiber is resumed with, and after its body how it ended: both are in `fiber.how`.
export const NONE = 20
export const VALUE = 21
export const ERROR = 22
/** Alive: a signal is to be chosen and thrown. */
export const SIGNAL = 23
/** Alive: the op is being aborted. It may still settle, but must not be aborted again (S35). */
export const ABORTING = 24
export const STOPPED = 25
export const ABANDONED = 26
/** What answers the op that a living fiber waits in. */
export type AnswerCode = typeof NONE | typeof VALUE | typeof ERROR | typeof SIGNAL | typeof ABORTING
/** How a body ended. */
export type EndCode = typeof VALUE | typeof ERROR | typeof STOPPED | typeof ABANDONED

// What a block keeps out of its body.
export const NO_BARRIER = 30
/** `shield`: stops, and the expiry of outer blocks (S20). */
export const BARS_STOPS = 31
/** The cleanup of `ensure`: everything (S16b). */
export const BARS_ALL = 32
export type Barrier = typeof NO_BARRIER | typeof BARS_STOPS | typeof BARS_ALL

// What `gate` answers an op at a switchpoint.
/** Go on; an op that is ready finishes at once. */
export const PASS = 40
/** Go on, but an op that is ready lets other fibers run first: the budget is spent (S50). */
export const TURN = 41
/** Forced: the op is not entered (S19). */
export const REFUSED = 42
export type Passage = typeof PASS | typeof TURN | typeof REFUSED

// The moments of an end, in their order. A listener is called at one of them (see `tell` in tree.ts).
/** No more code of this incarnation will run; its children may still be ending. */
export const RAN_OUT = 50
/** The incarnation has ended; the fiber may be restarted. */
export const ENDED = 51
/** The fiber is dead. */
export const DIED = 52
export type Moment = typeof RAN_OUT | typeof ENDED | typeof DIED

/** Ops that may finish at once before a fiber has to let other fibers run (S50). */
export const BUDGET = 128
/** Refused idle ops before a swallowed stop is forced (S17). */
export const SWALLOWS = 3
/** Forced yields before a generator is abandoned (S19). */
export const FORCED_YIELDS = 100
/** The default for how long cleanup may wait, in milliseconds (S18). */
export const GRACE = 5000

/** How a fiber ended: what `yield* fiber.join()` returns. */
export type Outcome<T> =
  | { readonly type: 'value'; readonly value: T }
  | { readonly type: 'error'; readonly error: unknown }
  | { readonly type: 'stopped'; readonly value?: unknown }
  | { readonly type: 'abandoned' }

export function makeOutcome<T>(how: AnswerCode | EndCode, value: unknown): Outcome<T> {
  switch (how) {
    case VALUE:
      return { type: 'value', value: value as T }
    case ERROR:
      return { type: 'error', error: value }
    case ABANDONED:
      return { type: 'abandoned' }
    default:
      return { type: 'stopped', value }
  }
}
