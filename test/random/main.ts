// npm run test:random -- [--runs 2000] [--seed n] [--path p] [--only model|rules]

import { parseArgs } from 'node:util'
import { check, type Property, properties } from './check.js'

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '2000' },
    seed: { type: 'string' },
    path: { type: 'string' },
    only: { type: 'string' },
  },
})
/** So many at once, then a line that says how far it has come. */
const STRETCH = 5000
const runs = Number(values.runs)
const chosen = Object.keys(properties).filter((name) => values.only === undefined || values.only === name)
if (!(runs > 0) || chosen.length === 0) {
  console.error('npm run test:random -- [--runs 2000] [--seed n] [--path p] [--only model|rules]')
  process.exit(2)
}
const seed = values.seed === undefined ? Date.now() & 0x7fffffff : Number(values.seed)

try {
  for (const property of chosen as Property[]) {
    if (values.path !== undefined) await check(property, { runs: 1, seed, path: values.path })
    for (let done = 0; done < runs && values.path === undefined; ) {
      const stretch = Math.min(STRETCH, runs - done)
      await check(property, { runs: stretch, seed: seed + done })
      done += stretch
      console.log(`${property}: ${done} of ${runs} programs, seed ${seed}`)
    }
  }
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
}
