// Time: sleeping, loops that wait between rounds, throttlers, waits between tries. The heap of timers is in core, where
// deadlines need it.

export { BACKOFF_OPTIONS, type Backoff, type BackoffOptions, readBackoff } from './backoff.js'
export { after, every, type Pace, spinLoop, throttledLoop } from './loops.js'
export { now, sleep } from './sleep.js'
export { type Rate, Throttler, type ThrottlerStats } from './throttler.js'
