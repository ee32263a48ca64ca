// polyphony: structured concurrency for Node.js. This file is the list of public names, and the map of the house:
//
//   core/     fibers, the run queue, switchpoints, the stop ladder, the tree, blocks. Knows no I/O and no Node module.
//             Read op (what a wait is), step (running a fiber), gate and stop (signals), tree (ends), in this order.
//   view/     the live tree as data and as text
//   time/     sleep, after, every, throttlers, throttled loops
//   sync/     what fibers share: messages, queues, locks, conditions, events, resource pools
//   interop/  promises
//   node/     the backend on Node's event loop; main, run, exit codes, reports
//   io/       standard input ('polyphony/io')
//   testing/  virtual clock, seeded scheduler, explorer, stop-everywhere ('polyphony/testing')
//
// Each room imports only from those above it in this list; testing imports core and view only.

export {
  type Backend,
  BadArgument,
  BadState,
  BadYield,
  type Body,
  Cancel,
  cancelAfter,
  createLocal,
  DeadlockError,
  type ErrorLike,
  ensure,
  errorFiber,
  Fiber,
  type FiberEnd,
  FiberStopped,
  isStop,
  type Local,
  Mailbox,
  moveOnAfter,
  NonErrorThrown,
  NotInFiber,
  type Op,
  type Outcome,
  type Phase,
  PolyphonyError,
  type Report,
  type Routine,
  type RuntimeStats,
  receive,
  receiveAllPending,
  type Spin,
  type SpinOptions,
  type State,
  Stop,
  type StopOptions,
  type Switchpoint,
  scope,
  shield,
  snooze,
  spin,
  suppressedErrors,
  suspend,
  type TapEvent,
  type TapListener,
  type Timeout,
  tap,
  transfer,
  tryReceive,
} from './core/index.js'
export { type UntilOptions, until, use } from './interop/index.js'
export { exit, fiberTree, main, printTree, type Running, run, runtimeStats } from './node/index.js'
export {
  Call,
  Condition,
  type ConditionStats,
  call,
  END,
  Event,
  type EventOptions,
  type EventStats,
  type Iterates,
  Mutex,
  type MutexOptions,
  type MutexStats,
  PoolClosed,
  type PoolOptions,
  type PoolSettings,
  type PoolStats,
  Queue,
  QueueClosed,
  type QueueOptions,
  type QueueStats,
  ResourcePool,
  receiveLoop,
  Semaphore,
  type SemaphoreOptions,
  type SemaphoreStats,
  type Source,
  TimedOut,
} from './sync/index.js'
export {
  after,
  every,
  type Pace,
  type Rate,
  sleep,
  spinLoop,
  Throttler,
  type ThrottlerStats,
  throttledLoop,
} from './time/index.js'
export type { FiberView } from './view/index.js'
