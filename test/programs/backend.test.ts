// Node's event loop under the fibers: how many turns they take, and in which async context.

import { describe } from '../prelude.js'
import { ends } from './run.js'

describe('on the event loop of Node', () => {
  ends(
    'a sleep takes one turn',
    `
    import { main, runtimeStats, sleep } from 'polyphony'
    main(function* () {
      yield* sleep(1)
      const before = runtimeStats().turns
      for (let i = 0; i < 500; i++) yield* sleep(1)
      const turns = runtimeStats().turns - before
      console.log(turns >= 500 && turns < 550 ? 'about 500 turns' : turns)
    })`,
    { stdout: 'about 500 turns\n' },
  )

  ends(
    'S56 main carries no async context, and sees that of no caller',
    `
    import { AsyncLocalStorage } from 'node:async_hooks'
    import { main, run, snooze, spin, until } from 'polyphony'
    const storage = new AsyncLocalStorage()
    storage.run('of main', () => main(function* () {
      yield* snooze()
      const seen = [storage.getStore(), yield* spin(() => storage.getStore())]
      const other = storage.run('of run', () => run(() => storage.getStore()))
      console.log(...seen, yield* until(other), storage.getStore())
    }))`,
    { stdout: 'undefined undefined of run undefined\n' },
  )

  ends(
    'S56 nor that in which the library was imported',
    `
    import { AsyncLocalStorage } from 'node:async_hooks'
    const storage = new AsyncLocalStorage()
    const { run } = await storage.run('of the import', () => import('polyphony'))
    console.log(await run(() => storage.getStore()))`,
    { stdout: 'undefined\n' },
  )

  ends(
    'S56 a fiber that joins the wait of another does not see its async context',
    `
    import { AsyncLocalStorage } from 'node:async_hooks'
    import { run, until } from 'polyphony'
    const storage = new AsyncLocalStorage()
    const turn = () => new Promise((resolve) => setImmediate(resolve))
    const seen = new Set()
    for (let i = 0; i < 100; i++) {
      let resolve
      const promise = new Promise((yes) => { resolve = yes })
      const first = storage.run('of the first', () => run(() => until(promise)))
      await turn()
      await first.stop()
      const second = run(function* () {
        yield* until(promise)
        seen.add(storage.getStore())
      })
      await turn()
      resolve()
      await second
    }
    console.log(...seen)`,
    { stdout: 'undefined\n' },
  )
})
