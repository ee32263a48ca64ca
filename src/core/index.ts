// What the core exports to the other rooms. Users import from 'polyphony' and 'polyphony/op'.

export { onAbort } from './abort.js'
export type { Backend, Context, Report } from './backend.js'
export { Block } from './block.js'
export {
  type Body,
  checkBody,
  isGenerator,
  isGeneratorFunction,
  nameOf,
  nextOf,
  op,
  type Refused,
  type Result,
  type Returned,
  Run,
  returnOf,
  runBody,
  runnerOf,
  runReturned,
  throwOf,
} from './body.js'
export { addCleanup, disown, passOn } from './cleanup.js'
export { callout, current } from './current.js'
export { debugging, describe, opEntered, opSite, userStack } from './debug.js'
export {
  addSuppressed,
  BadArgument,
  BadState,
  BadYield,
  Cancel,
  DeadlockError,
  type ErrorClass,
  type ErrorLike,
  errorFiber,
  FiberStopped,
  isStop,
  markReceived,
  NonErrorThrown,
  NotInFiber,
  notInFiber,
  PolyphonyError,
  Stop,
  show,
  suppressedErrors,
  tagError,
} from './errors.js'
export { type Ending, Fiber, type StopOptions, spin, spinRoot } from './fiber.js'
export { type Holdable, HoldBlock, hold } from './hold.js'
export { failureOf, isDead, Watch, type WatchListener } from './join.js'
export { append, type Linked, listBackwards, remove } from './list.js'
export { createLocal, type Local } from './local.js'
export {
  Call,
  type CallWait,
  deliver,
  Mailbox,
  receive,
  receiveAllPending,
  tryReceive,
} from './mailbox.js'
export type { FiberEnd } from './monitor.js'
export {
  answer,
  BaseOp,
  DONE,
  fail,
  IdleOp,
  LateOp,
  type Op,
  type Routine,
  runningFiber,
  SUSPENDED,
  type Switchpoint,
  settle,
  tryFastPath,
} from './op.js'
export {
  type Check,
  type Checks,
  check,
} from './options.js'
export { Attempt, OutsideOp } from './outside.js'
export { hasTraces } from './rare.js'
export { isHeld, isRestarting, type RestartOptions } from './restart.js'
export { Ring } from './ring.js'
export { type Meter, type Policy, type Probe, Runtime, type RuntimeStats, runtimes } from './runtime.js'
export { attempt, type NurseryEvents, nursery, Scope, scope } from './scope.js'
export { RUN_OPTIONS, type RunOptions, type Spin, type SpinOptions } from './spin.js'
export {
  ABORTING,
  BARS_ALL,
  DIED,
  ENDED,
  type EndCode,
  ERROR,
  makeOutcome,
  type Outcome,
  type Phase,
  RAN_OUT,
  type State,
  VALUE,
  WAITING,
} from './state.js'
export { isSuspended, Snooze, snooze, suspend, transfer } from './suspend.js'
export {
  blocksOf,
  graceEnd,
  isForced,
  isUnwinding,
  LATER,
  queueError,
  type Region,
  regionsOf,
  timeLeft,
} from './switchpoint.js'
export { type TapEvent, type TapListener, type TapOptions, tap } from './tap.js'
export { BarrierBlock, cancelAfter, ensure, moveOnAfter, shield, type Timeout } from './timeout.js'
export { type TimerNode, Timers } from './timers.js'
export {
  type EndListener,
  type EndMoment,
  hasRunOut,
  innermostOwner,
  listen,
  type Owner,
  onEnd,
  release,
  type Supervisor,
  unlisten,
} from './tree.js'
export { Waiter, Waiters } from './waiters.js'
