// Calls that nest deeper than the stack allows end in an error that says so, whatever they consist of.

import { describe } from '../prelude.js'
import { ends, runFile } from './run.js'

const KINDS: Record<string, string> = {
  'yield* of generators': 'go()',
  scope: 'scope(go)',
  moveOnAfter: 'moveOnAfter(1000, go)',
  cancelAfter: 'cancelAfter(1000, go)',
  shield: 'shield(go)',
  ensure: 'ensure(go, () => {})',
  'a semaphore': 'semaphore.acquire(go)',
  'a pool': 'pool.acquire(go)',
}

describe('an overflow of the stack, the first error of its process, is thrown, and nothing is left', {
  concurrency: 2,
}, () => {
  for (const [kind, call] of Object.entries(KINDS)) {
    ends(
      kind,
      `
      import { cancelAfter, ensure, moveOnAfter, ResourcePool, run, runtimeStats, scope, Semaphore, shield } from 'polyphony'
      const semaphore = new Semaphore(1e6)
      const pool = new ResourcePool({ limit: 1 }, () => 'resource')
      let open = 0
      function* go() {
        open++
        try { yield* ${call} } finally { open-- }
      }
      for (let i = 0; i < 3; i++) {
        await run(go).catch((error) => console.log(error.name, /nest too deeply/.test(error.message), error.suppressed))
        const { fibers, timers } = runtimeStats()
        console.log(open, fibers, timers, semaphore.available, pool.stats().inUse)
      }`,
      { stdout: 'RangeError true undefined\n0 0 0 1000000 0\n'.repeat(3) },
    )
  }
})

describe('an overflow leaves and loses nothing, wherever the stack ends', { concurrency: 2 }, () => {
  const kinds = [
    'scope',
    'shield',
    'moveOnAfter',
    'cancelAfter',
    'ensure',
    'mutex',
    'semaphore',
    'pool',
    'key',
  ]
  for (const kind of kinds) {
    for (const size of [230, 330]) {
      const node = [`--stack-size=${size}`]
      ends(`${kind}, ${size} kB`, () => runFile('overflow', { node, args: [kind] }), { stdout: '40 of 40\n' })
    }
  }
})
