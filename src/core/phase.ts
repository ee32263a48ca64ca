// The small integers that describe a fiber: what it is doing (state), how far its end has come (phase),
// and what it will find when it is resumed (how). One field each, never several booleans.

/** State: what the fiber is doing now. */
export const RUNNABLE = 0
export const RUNNING = 1
export const WAITING = 2
export const DEAD = 3
export const STATES = ['runnable', 'running', 'waiting', 'dead'] as const
/** What a fiber is doing now. */
export type State = (typeof STATES)[number]

// Phase: how far the end of a region (a fiber or a block) has come. See "Phases" in docs/semantics.md.
//
//   live -> requested -> unwinding -> forced -> closing -> over
//
/** Nobody has asked it to end. */
export const LIVE = 0
/** A stop, expiry or child error is waiting for a switchpoint to strike at. */
export const REQUESTED = 1
/** The signal was thrown; cleanup runs and may wait until the deadline. */
export const UNWINDING = 2
/** The deadline has passed: every yield is answered by return(). */
export const FORCED = 3
/** The body is over; children are still dying. */
export const CLOSING = 4
/** Nothing is left. */
export const OVER = 5
export const PHASES = ['live', 'requested', 'unwinding', 'forced', 'closing', 'dead'] as const
/** How far the end of a fiber has come (S15). */
export type Phase = (typeof PHASES)[number]

/** How: what `value` means. While alive it is the answer to the current op, after the body it is the outcome. */
export const NONE = 0
export const VALUE = 1
export const ERROR = 2
/** Alive: a signal is to be chosen and thrown. Ended: the fiber was stopped. */
export const SIGNAL = 3
export const STOPPED = 3
export const ABANDONED = 4
/** Alive: the op is being aborted. It may still settle, but must not be aborted again (S35). */
export const ABORTING = 5

/** Ops that may finish at once before a fiber has to let the others run (S50). */
export const BUDGET = 128
/** Refused idle ops before a swallowed stop is forced (S17). */
export const SWALLOWS = 3
/** Forced yields before a generator is abandoned (S19). */
export const FORCED_YIELDS = 100
/** Milliseconds that cleanup may take unless told otherwise (S18). */
export const GRACE = 5000
