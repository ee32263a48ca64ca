// What an executor tells its logger: info when it starts and ends, debug at each dispatch, error and warn when handlers
// fail. A logger that fails is reported, and harms nobody (S70).

import { type Runtime, show } from '../core/index.js'
import type { Front } from './front.js'
import type { Setup } from './options.js'

/** What a logger must have; `console` does, and pino and winston. */
export interface Logger {
  /** Each dispatch. */
  debug(message: string): unknown
  /** Start, exit and kill, with counts. */
  info(message: string): unknown
  /** A handler that returned too few results, or too many. */
  warn(message: string): unknown
  /** A handler that failed. */
  error(message: string): unknown
}
export type Level = keyof Logger

export class Log {
  constructor(
    private readonly logger: Logger | undefined,
    private readonly label: string,
    private readonly runtime: Runtime,
  ) {}

  started(setup: Setup): void {
    const { threads, queues, queueSize, interval, batch, batchSize, results } = setup
    const pace = interval > 0 ? `, every ${interval} ms` : ''
    const most = batchSize < Infinity ? ` of at most ${batchSize}` : ''
    const how = batch ? `, in batches${most}${results === 'each' ? ' with a result for each item' : ''}` : ''
    this.say(
      'info',
      `started: ${plural(threads, 'thread')}, ${plural(queues, 'queue')} of ${queueSize}${pace}${how}`,
    )
  }
  exiting({ depth }: Front): void {
    this.say('info', `exiting: ${plural(depth, 'item')} to go`)
  }
  ended(how: string, { counts }: Front): void {
    const { accepted, done, failed, cancelled } = counts
    this.say('info', `${how}: ${accepted} accepted, ${done} done, ${failed} failed, ${cancelled} cancelled`)
  }
  dispatched(size: number, queue: number): void {
    if (this.logger !== undefined) this.say('debug', `dispatched ${plural(size, 'item')} of queue ${queue}`)
  }
  failed(error: unknown, size: number): void {
    if (this.logger !== undefined)
      this.say('error', `the handler failed with ${plural(size, 'item')}: ${show(error)}`)
  }
  /** An error that no item can have any more: all have their outcomes. */
  lost(error: unknown): void {
    const message = `a handler failed when all its items had an outcome: ${show(error)}`
    if (this.logger !== undefined) this.say('error', message)
    else this.runtime.report({ kind: 'unobserved', message: `${this.label}: ${message}`, error })
  }
  mismatch(given: number, size: number): void {
    this.say('warn', `the handler returned ${plural(given, 'result')} for ${plural(size, 'item')}`)
  }

  private say(level: Level, message: string): void {
    if (this.logger === undefined) return
    try {
      this.logger[level](`${this.label}: ${message}`)
    } catch (error) {
      this.runtime.uncaught(error, `the logger of ${this.label} failed`)
    }
  }
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
