// The states of a stream: of what comes, of what goes, and of the whole.
//
//   inflow    paused <-> flowing -> over | broken
//   outflow   open <-> full -> ending -> ended
//   phase     live -> closing -> cut -> closed      by us: after all is sent, or at once
//                  -> gone -> closed                by the other side: what has come can still be read

export const PAUSED = 0
export const FLOWING = 1
/** The other side has ended: after what has come there is nothing more. */
export const OVER = 2
/** No more can come, and there was no end. */
export const BROKEN = 3

export const OPEN = 0
/** Until `drained`, whatever the channel says to later chunks. */
export const FULL = 1
export const ENDING = 2
export const ENDED = 3

export const LIVE = 0
/** Closed by the other side: what has come can still be read. */
export const GONE = 1
/** By `close`: what was written is being sent. */
export const CLOSING = 2
/** By `destroy`: what was not sent is lost. */
export const CUT = 3
export const CLOSED = 4
