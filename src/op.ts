// polyphony/op: parts to write ops of your own. The queues, locks, pools, streams and executors of this package are made of
// the same parts. The guide is docs/guides/ops.md.
//
//   an op            BaseOp; IdleOp for new work, OutsideOp for work outside; op() for a generator function
//   its answer       settle, fail; LATER from abort
//   fibers in line   Waiters
//   a block          hold: a body that has something in hand
//   the end          onEnd, addCleanup: called when a fiber or scope is over; nursery: told of the end of each child
//   the world        fiber.runtime: the clock, timers, what holds the process, reports
//   arguments        check, show

export {
  type Attempt,
  addCleanup,
  attempt,
  BaseOp,
  type Check,
  type Checks,
  check,
  disown,
  type EndMoment,
  fail,
  type Holdable,
  hold,
  IdleOp,
  LATER,
  type NurseryEvents,
  nursery,
  OutsideOp,
  onAbort,
  onEnd,
  op,
  type Result,
  type Returned,
  Ring,
  type Runtime,
  runBody,
  runningFiber,
  runReturned,
  settle,
  show,
  spinRoot,
  type TimerNode,
  timeLeft,
  Waiter,
  Waiters,
} from './core/index.js'
