// What stays in memory: a million of this and that.

import { describe } from '../prelude.js'
import { ends, lines, runFile } from './run.js'

const node = ['--expose-gc']
const heap = (kind: string) => () => runFile('heap', { args: [kind], node, limit: 180_000 })

describe('memory', { concurrency: 1 }, () => {
  for (const [kind, promise] of Object.entries({
    spins: 'a finished child is forgotten at once: a million spins, flat heap',
    unawaited: 'children that no fiber awaits are forgotten too',
    sleeps: 'a million sleeps that were stopped leave nothing behind',
    timeouts: 'a million time-outs that did not fire leave nothing behind',
    ended: 'a million time-outs around sleeps that ended first leave nothing behind',
    expired: 'a million time-outs that cut a sleep leave nothing behind',
    messages: 'a million messages that were received leave nothing behind',
    restarts: 'a million restarts leave nothing behind',
    selects: 'a million times selected together with others, a fiber keeps nothing of it',
    promises: 'a million waits for a promise that never ends leave nothing behind',
    awaiters: 'a million awaiters that were stopped leave nothing behind',
  })) {
    ends(promise, heap(kind), { stdout: 'flat\n' })
  }
  ends('a million sleeping fibers fit into 1 GB, and end when they are stopped', heap('sleepers'), {
    stdout: lines('less than 1 GB', '1 fiber, 0 timers left'),
  })
  ends('dead fibers and their results are collected', heap('dead'), { stdout: 'collected\n' })
  ends(
    'a supervisor keeps nothing of a hundred thousand children that have ended',
    () => runFile('supervised-heap', { node, limit: 60_000 }),
    { stdout: lines('flat', 'collected') },
  )
  ends(
    'many items, with failures and cancels at random: the counts add up, and the heap is flat (a million: npm run test:soak)',
    () => runFile('proco-soak', { args: ['50000'], node, limit: 60_000 }),
    { stdout: /\nall items, 1 fiber, 0 timers left\n$/ },
  )
  ends(
    'a fiber, its message, its error and the reason of its stop are forgotten while others live',
    `
    import { setFlagsFromString } from 'node:v8'
    import { runInNewContext } from 'node:vm'
    import { receive, run, sleep, snooze, spin } from 'polyphony'
    setFlagsFromString('--expose-gc')
    const gc = runInNewContext('gc')
    const refs = []
    const keep = (thing) => { refs.push(new WeakRef(thing)); return thing }
    const living = run(function* () {
      const reader = spin(function* () { yield* receive(); yield* sleep() })
      yield* snooze()
      reader.send(keep({}))
      for (let i = 0; i < 10; i++) keep(spin(function* () { yield* snooze() }))
      let struck = keep(spin(function* () { try { yield* sleep() } catch {} }))
      let stopped = keep(spin(() => sleep()))
      yield* snooze()
      struck.raise(keep(new Error('struck')))
      stopped.stop(keep({}), { reason: keep({}) })
      struck = stopped = null
      yield* sleep()
    })
    for (let i = 0; i < 10; i++) { await new Promise((done) => setTimeout(done, 5)); gc() }
    console.log(refs.length, refs.filter((ref) => ref.deref() !== undefined).length)
    await living.stop()`,
    { stdout: '16 0\n' },
  )
})
