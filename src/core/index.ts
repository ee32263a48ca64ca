// The core's public face for the other rooms of the house. Users import from 'polyphony'.

export { onAbort } from './abort.js'
export type { Backend, Context, Report } from './backend.js'
export {
  type Body,
  checkBody,
  isGenerator,
  isGeneratorFunction,
  isPlainGenerator,
  nameOf,
  nextOf,
  type Refused,
  type Result,
  type Returned,
  repeatable,
  returnOf,
  runBody,
  runnerOf,
  runReturned,
  throwOf,
} from './body.js'
export { addCleanup, endedInOrder, removeCleanup } from './cleanup.js'
export type { Supervisor } from './cold.js'
export { debugging, opEntered, opSite, rememberOp, shared, userStack } from './debug.js'
export {
  BadArgument,
  BadState,
  BadYield,
  Cancel,
  DeadlockError,
  type ErrorLike,
  errorFiber,
  FiberStopped,
  isStop,
  leaveBody,
  markReceived,
  NonErrorThrown,
  NotInFiber,
  PolyphonyError,
  Stop,
  show,
  suppressedErrors,
} from './errors.js'
export { Fiber, type FiberEnd, type StopOptions } from './fiber.js'
export { HOLD, isForced, notInFiber, unwindingRegion } from './gate.js'
export { createLocal, type Local } from './local.js'
export { deliver, Mailbox, receive, receiveAllPending, tryReceive } from './mailbox.js'
export { failureOf } from './observe.js'
export {
  BaseOp,
  DONE,
  doneIn,
  enteredTwice,
  fail,
  freePass,
  LATER,
  LateOp,
  type Op,
  type Routine,
  type Switchpoint,
  settle,
} from './op.js'
export { checkGrace, checkMs, checkName, checkOptions } from './options.js'
export { makeOutcome, type Outcome } from './outcome.js'
export { ABORTING, ERROR, type Phase, type State } from './phase.js'
export { Region } from './region.js'
export type { RestartOptions } from './restart.js'
export { Ring } from './ring.js'
export { baton } from './runqueue.js'
export { type Policy, type Probe, Runtime, type RuntimeStats, runtimes } from './runtime.js'
export { scope } from './scope.js'
export {
  checkSignal,
  innermostOwner,
  type RunOptions,
  type Spin,
  type SpinOptions,
  spin,
  spinRoot,
} from './spin.js'
export { endForGood, queueError } from './stop.js'
export { isSuspended, Snooze, snooze, suspend, transfer } from './suspend.js'
export { type TapEvent, type TapListener, tap } from './tap.js'
export { cancelAfter, ensure, moveOnAfter, shield, type Timeout, Wall } from './timeout.js'
export { type TimerNode, Timers } from './timers.js'
export { keepBeside, type Observer, observe, unobserve } from './tree.js'
export { Place, Waiters } from './waiters.js'
