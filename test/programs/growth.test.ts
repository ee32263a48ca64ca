// What is done for many children that fail grows with their number, and no faster.

import { describe } from '../prelude.js'
import { ends, runFile } from './run.js'

/** Optimized code is not counted, and code that is thrown away takes its counts with it. */
const node = ['--no-opt', '--no-maglev', '--no-flush-bytecode']

const KINDS = [
  'a scope, all fail',
  'a scope whose body still runs, all fail',
  'a scope, all fail in their cleanup',
  'a scope, one after the other fails',
  'a fiber, all fail',
  'all',
  'allSettled',
  'any',
  'race',
  'forEach',
  'supervise',
  'supervise, one after the other ends, with as many newer children that are not in its list',
  'supervise, the last fails as often, restForOne',
  'Fiber.await',
]

describe('four times as many children that fail cost four times as much', { concurrency: 2 }, () => {
  for (const kind of KINDS) {
    ends(kind, () => runFile('growth', { args: [kind], node, limit: 60_000 }), {
      stdout: 'as many times as much\n',
    })
  }
  ends(
    '20,000 that fail in their cleanup, in one scope: it ends before a hang is assumed, and no error is lost',
    `
    import { run, scope, sleep, spin, suppressedErrors } from 'polyphony'
    const clumsy = function* () { try { yield* sleep() } finally { throw new Error('in cleanup') } }
    const body = function* () {
      for (let i = 0; i < 20_000; i++) spin(clumsy)
      yield* sleep(5)
      throw new Error('first')
    }
    const { error } = await run(() => spin({ link: false }, () => scope(body)).join())
    console.log(error.message, suppressedErrors(error).length)`,
    { stdout: 'first 20000\n' },
  )
})
