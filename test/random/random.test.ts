// A few random programs with every run of the suite, always the same ones. Many more: npm run test:random.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { check } from './check.js'
import { checkProco } from './proco/check.js'
import { type Program, print, programs } from './program.js'
import { reduce } from './reduce.js'
import { run, runPrinted } from './run.js'

const RUNS = 500
const SEED = 1

test('random programs do, line by line, what the model of the rules says', () =>
  check('model', { runs: RUNS, seed: SEED }))

test('random programs keep the rules in any order of their fibers', () =>
  check('rules', { runs: RUNS, seed: SEED }))

test('random programs lose and double nothing of what constructs hold, in any order of their fibers', () =>
  check('constructs', { runs: RUNS, seed: SEED }))

test('S78 random lives of an executor: one outcome for each item, and nobody waits for ever', () =>
  checkProco({ runs: RUNS, seed: SEED }))

test('a random program does the same as it is printed, and watched', async () => {
  for (const language of ['all', 'constructs'] as const) {
    for (const program of fc.sample(programs(language), { numRuns: 100, seed: SEED })) {
      assert.deepEqual(await runPrinted(program), (await run(program)).transcript, print(program))
    }
  }
})

test('a failing program is reduced to what makes it fail', async () => {
  const program: Program = [
    { do: 'sleep', ms: 7 },
    {
      do: 'scope',
      body: [
        { do: 'spin', link: false, grace: 5, body: [{ do: 'snooze' }, { do: 'throw' }] },
        { do: 'receive' },
        { do: 'awaitAll', of: [1, 2] },
      ],
    },
  ]
  const fails = async (smaller: Program) => /spin.*throw/s.test(print(smaller))
  assert.deepEqual(await reduce(program, fails), [
    { do: 'spin', link: true, grace: undefined, body: [{ do: 'throw' }] },
  ])
})
