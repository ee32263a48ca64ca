// Time: sleeping, and loops that wait between rounds. The heap of timers is in core, where deadlines need it.

export { type Backoff, type BackoffOptions, readBackoff } from './backoff.js'
export { after, every, type Pace, spinLoop, throttledLoop } from './loops.js'
export { now } from './now.js'
export { sleep } from './sleep.js'
export { type Rate, Throttler, type ThrottlerStats } from './throttler.js'
