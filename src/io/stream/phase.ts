// The states of a stream: of its read side, of its write side, and of the whole. The values are disjoint, so that the
// compiler tells one kind from another.
//
//   read side    paused <-> flowing -> over | broken
//   write side   open <-> full -> ending -> ended
//   whole        live -> draining -> closing -> cut -> closed      closed here: after everything was sent, or at once
//                     -> gone -> closed                closed by the other side: what has arrived can still be read
//                     -> detached                      given back to Node

// ---- the read side

export const PAUSED = 0
export const FLOWING = 1
/** The other side has ended: nothing follows what has arrived. */
export const OVER = 2
/** No more can arrive, and there was no end. */
export const BROKEN = 3
export type ReadState = typeof PAUSED | typeof FLOWING | typeof OVER | typeof BROKEN

// ---- the write side

export const OPEN = 10
/** Until `drained`, whatever the channel answers to later chunks. */
export const FULL = 11
export const ENDING = 12
export const ENDED = 13
export type WriteState = typeof OPEN | typeof FULL | typeof ENDING | typeof ENDED

// ---- the whole

export const LIVE = 20
/** Closed by the other side: what has arrived can still be read. */
export const GONE = 21
/** By `close`: writes that wait for room are handed over first. */
export const DRAINING = 22
/** By `close`: what was written is being sent. */
export const CLOSING = 23
/** By `destroy`: what was not sent is lost. */
export const CUT = 24
export const CLOSED = 25
/** The socket beneath was given back to Node. */
export const DETACHED = 26
export type Phase =
  | typeof LIVE
  | typeof GONE
  | typeof DRAINING
  | typeof CLOSING
  | typeof CUT
  | typeof CLOSED
  | typeof DETACHED
