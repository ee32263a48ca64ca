// Sync: fibers that share things. Each piece is fair (S52) and hands over directly (S36).

export { QueueClosed, TimedOut } from './errors.js'
export { Call, call, receiveLoop } from './messages.js'
export { END, type Iterates, type Source } from './source.js'
