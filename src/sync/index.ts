// Sync: fibers that share things. Each piece is fair (S52) and hands over directly (S36).

export { Condition, type ConditionStats } from './condition.js'
export { PoolClosed, QueueClosed, TimedOut } from './errors.js'
export { Event, type EventOptions, type EventStats } from './event.js'
export { call, receiveLoop } from './messages.js'
export { Mutex, type MutexOptions, type MutexStats } from './mutex.js'
export { type PoolOptions, type PoolSettings, ResourcePool } from './pool.js'
export type { PoolStats } from './pool-state.js'
export { checkBodyOrAsync, isAsync, PromiseOp } from './promise-op.js'
export { Queue, type QueueOptions, type QueueStats } from './queue.js'
export { Semaphore, type SemaphoreOptions, type SemaphoreStats } from './semaphore.js'
export { END, HAS_CLOSED, type Iterates, type Source } from './source.js'
