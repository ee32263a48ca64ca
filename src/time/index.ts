// Time: sleeping, and loops that wait between rounds. The heap of timers is in core, where deadlines need it.

export { after, every, type Pace, spinLoop, throttledLoop } from './loops.js'
export { sleep } from './sleep.js'
export { type Rate, Throttler, type ThrottlerStats } from './throttler.js'
