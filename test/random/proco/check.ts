// Many random lives of an executor; what is printed when one goes wrong.

import { inspect } from 'node:util'
import fc from 'fast-check'
import type { CheckOptions } from '../check.js'
import { plans } from './plan.js'
import { play } from './play.js'

const anySeed = fc.option(fc.nat({ max: 1_000_000 }), { nil: undefined, freq: 4 })

export async function checkProco({ runs, seed, path }: CheckOptions): Promise<void> {
  const property = fc.asyncProperty(plans, anySeed, play)
  const details = await fc.check(property, { numRuns: runs, seed, path })
  if (!details.failed) return
  const [plan, shuffle] = details.counterexample as Parameters<typeof play>
  const error = details.errorInstance as Error | null
  const all = { depth: Infinity, breakLength: 110 }
  throw new Error(
    `an executor broke a promise:\n\n${error?.stack}\n\nin this life:\n\n` +
      `await play(${inspect(plan, all)}, ${shuffle})\n\n` +
      `again: npm run test:random -- --only proco --seed ${details.seed} --path ${details.counterexamplePath}\n`,
  )
}
