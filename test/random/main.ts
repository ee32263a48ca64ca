// npm run test:random -- [--runs 2000] [--seed n] [--path p] [--only model|rules|constructs|proco]

import { type CheckOptions, check, type Property, properties } from './check.js'
import { checkProco } from './proco/check.js'

const scripts = new URL('../../../scripts/args.js', import.meta.url)
const { oneOf, readArgs, refuse, wholeNumber } = await import(scripts.href)

/** So many at once, then a line that says how far it has come. */
const STRETCH = 5000
const MAX_SEED = 0x7fffffff

const { values } = readArgs(
  'npm run test:random -- [--runs 2000] [--seed n] [--path p] [--only model|rules|constructs|proco]',
  {
    runs: { type: 'string', default: '2000' },
    seed: { type: 'string' },
    path: { type: 'string' },
    only: { type: 'string' },
  },
)
const runs: number = wholeNumber('--runs', values.runs, 1)
const seed: number = wholeNumber('--seed', values.seed, 0, MAX_SEED) ?? Math.floor(Math.random() * MAX_SEED)
const names = [...Object.keys(properties), 'proco']
oneOf('--only', values.only, names)
if (values.path !== undefined && (values.seed === undefined || !/^\d+(:\d+)*$/.test(values.path)))
  refuse('--path is what a failure printed, such as 12:0:3, and goes with the --seed printed there')
const chosen = names.filter((name) => values.only === undefined || values.only === name)

function checkOne(name: string, options: CheckOptions): Promise<void> {
  return name === 'proco' ? checkProco(options) : check(name as Property, options)
}

try {
  for (const property of chosen) {
    if (values.path !== undefined) await checkOne(property, { runs: 1, seed, path: values.path })
    for (let done = 0; done < runs && values.path === undefined; ) {
      const stretch = Math.min(STRETCH, runs - done)
      await checkOne(property, { runs: stretch, seed: (seed + done) & MAX_SEED })
      done += stretch
      console.log(`${property}: ${done} of ${runs} programs, seed ${seed}`)
    }
  }
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
}
