// Signals that cannot be listened to.

import { assert, awaitSignal, describe, test, trap } from '../prelude.js'
import { ends, lines, program } from '../programs/run.js'
import { listeners } from './play.js'

describe('what cannot be listened to is refused in a sentence', () => {
  const nothing = () => {}
  const rows: [() => unknown, RegExp][] = [
    [
      () => trap('KILL', nothing),
      /^trap\(\) cannot listen to SIGKILL: the system never lets a process hear of it/,
    ],
    [() => trap('sigstop', nothing), /^trap\(\) cannot listen to SIGSTOP: the system never lets/],
    [
      () => trap('USR1', nothing),
      /^trap\(\) cannot listen to SIGUSR1: Node keeps it for its debugger. SIGUSR2 is free/,
    ],
    [() => trap('SEGV', nothing), /^trap\(\) cannot listen to SIGSEGV: it means that the process is broken/],
    [() => trap('INTR', nothing), /^trap\(\) knows no signal "INTR"\. Often used are SIGINT \(Ctrl-C\)/],
    [() => trap('toString', nothing), /^trap\(\) knows no signal "toString"/],
    [() => trap(2 as any, nothing), /^trap\(\) needs the name of a signal, such as 'SIGINT', got 2/],
    [() => trap('QUIT', (async () => {}) as any), /^trap\(\) was given the async/],
    [() => trap('QUIT', undefined as any), /^trap\(\) needs a function\*/],
    [() => awaitSignal('USR1'), /^awaitSignal\(\) cannot listen to SIGUSR1/],
    [() => (awaitSignal as any)(), /^awaitSignal\(\) needs at least one signal/],
  ]
  for (const [call, message] of rows) {
    test(String(message), () => {
      const before = listeners()
      assert.throws(call, { code: 'BAD_ARGUMENT', message })
      assert.equal(listeners(), before)
    })
  }
})

describe('in a process of its own', { concurrency: 2 }, () => {
  const refused = (what: string) =>
    `BAD_STATE ${what} was used in a worker thread, where no signal ever arrives. ` +
    'Listen in the main thread and send a message'
  ends(
    'signals do not arrive in worker threads, and a listener there is refused',
    `
    import { Worker } from 'node:worker_threads'
    const source = \`
      import('polyphony').then(({ awaitSignal, main, run, trap }) => {
        for (const listen of [() => trap('INT', () => {}), () => awaitSignal('INT')]) {
          try { listen() } catch (error) { console.log(error.code, error.message) }
        }
        main(() => console.log(process.listenerCount('SIGINT')))
      })\`
    new Worker(source, { eval: true })`,
    { stdout: lines(refused('trap()'), refused('awaitSignal()'), '0') },
  )

  const treeOn = `
    import { main } from 'polyphony'
    try { main(() => {}, { treeOn: 'USR3' }) } catch (error) { console.log(error.message) }`
  ends('the treeOn of main() names a signal that exists', treeOn, {
    stdout: lines(
      'the treeOn of main() knows no signal "USR3". Often used are SIGINT (Ctrl-C), SIGTERM, SIGHUP and SIGUSR2',
    ),
  })
  ends('so does POLYPHONY_TREE_SIGNAL', () => program(treeOn, { POLYPHONY_TREE_SIGNAL: 'kill' }), {
    stdout: /^POLYPHONY_TREE_SIGNAL cannot listen to SIGKILL: /,
  })
})
