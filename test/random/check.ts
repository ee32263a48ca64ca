// The two properties, and what is printed when one fails.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import { predict } from './model.js'
import { type Program, print, programs } from './program.js'
import { reduce } from './reduce.js'
import { run } from './run.js'

/** The first line in which two transcripts differ, with what came before. */
function difference(real: string[], expected: string[]): string {
  const at = real.findIndex((line, i) => line !== expected[i])
  const i = at < 0 ? real.length : at
  const before = real.slice(Math.max(0, i - 8), i).map((line) => `      ${line}`)
  return [...before, `real  ${real[i] ?? '(nothing more)'}`, `model ${expected[i] ?? '(nothing more)'}`].join(
    '\n',
  )
}

/** First come, first served: the library does, line by line, what the model says. */
export async function agrees(program: Program): Promise<void> {
  const { transcript } = await run(program)
  const expected = predict(program)
  if (transcript.join('\n') !== expected.join('\n')) assert.fail(difference(transcript, expected))
}

/** In any order, every rule is kept. */
export async function keepsRules(program: Program, seed?: number): Promise<void> {
  const { broken } = await run(program, seed)
  if (broken.length > 0) assert.fail(broken.join('\n'))
}

const anySeed = fc.option(fc.nat({ max: 1_000_000 }), { nil: undefined, freq: 4 })

export const properties = {
  model: fc.asyncProperty(programs('exact'), agrees),
  rules: fc.asyncProperty(programs('all'), anySeed, keepsRules),
  constructs: fc.asyncProperty(programs('constructs'), anySeed, keepsRules),
}
export type Property = keyof typeof properties

/** Which rule a failure is about, so that a smaller program fails for the same reason. */
function ruleOf(error: Error | undefined): string | undefined {
  return /^(S\w+|stats):/.exec(error?.message ?? '')?.[1]
}

export interface CheckOptions {
  runs: number
  seed?: number
  path?: string
}

/** Runs so many random programs; throws with the smallest one found that fails. */
export async function check(property: Property, options: CheckOptions): Promise<void> {
  const details = await fc.check(properties[property] as fc.IAsyncProperty<any>, {
    numRuns: options.runs,
    seed: options.seed,
    path: options.path,
  })
  if (!details.failed) return
  const [found, seed] = details.counterexample as [Program, number | undefined]
  const failure = async (program: Program) => {
    try {
      await (property === 'model' ? agrees(program) : keepsRules(program, seed))
    } catch (error) {
      return error as Error
    }
    return undefined
  }
  const rule = ruleOf(await failure(found))
  const program = await reduce(found, async (smaller) => {
    const error = await failure(smaller)
    return error !== undefined && ruleOf(error) === rule
  })
  const error = (await failure(program)) as Error
  const shuffled = seed === undefined ? '' : `, ${seed}`
  throw new Error(
    `${property === 'model' ? 'the library and the model differ' : 'a rule was broken'}:\n\n` +
      `${error instanceof assert.AssertionError ? error.message : error.stack}\n\n` +
      `in this program${seed === undefined ? '' : `, shuffled with seed ${seed}`}:\n\n${print(program)}\n\n` +
      `as a test:\n\ntest('...', () => ${property === 'model' ? 'agrees' : 'keepsRules'}(${JSON.stringify(program)}${shuffled}))\n\n` +
      `again: npm run test:random -- --only ${property} --seed ${details.seed} --path ${details.counterexamplePath}\n`,
  )
}
