// Proco ('polyphony/proco'): items from many submitters, handled one by one or in batches by a few handlers.
//
//   submissions -> front ( lanes -> batches ) -> transport ( crew: handlers in fibers )
//                    futures  <-  outcomes  <------+

export type { Work } from './batch.js'
export type { Awaitable } from './dual.js'
export { Killed, MissingResult, NotRunning } from './errors.js'
export type { Executor, ProcoState } from './executor.js'
export type { Future, FutureState } from './future.js'
export type { Distribution } from './histogram.js'
export type { SubmitOptions } from './limits.js'
export type { Logger } from './log.js'
export type { ProcoOptions } from './options.js'
export { Proco } from './proco.js'
export type { ProcoStats } from './stats.js'
export type { Handler, Mode, ProcoClass, ProcoTemplate, Results } from './types.js'
