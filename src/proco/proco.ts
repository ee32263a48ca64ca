// `Proco`: a chain of options, each of whose steps is a template that can be kept; and the class.

import { Executor } from './executor.js'
import { checkOption, OPTION_NAMES, type ProcoOptions } from './options.js'
import type { ProcoClass } from './types.js'

/** A template: nothing but options, and the ways to say more. Never changed. */
function template(options: ProcoOptions): object {
  const chain: Record<string, unknown> = {
    new: (overrides?: ProcoOptions) => new Executor(overrides, options, 'Proco.new()'),
  }
  for (const key of OPTION_NAMES) {
    if (key === 'name') continue // it is what functions have; new({ name }) says it
    chain[key] = (value: unknown) => template({ ...options, [key]: checkOption(key, value, 'Proco') })
  }
  return Object.freeze(chain)
}

/**
 * Makes executors: by a chain of options that ends in `new()`, or by `new Proco(options)`.
 *
 * ```ts
 * const proco = Proco.interval(50).batch(true).new<string, number>()
 * // The same as: new Proco<string, number>({ interval: 50, batch: true })
 * proco.start((words) => words.length)
 * console.log(yield* all([proco.submit('one'), proco.submit('two')])) // [ 2, 2 ]
 * yield* proco.exit()
 * ```
 */
export const Proco = Object.assign(Executor, template({})) as unknown as ProcoClass
