// Signals: the name comes back in full, and the compiler knows which ones can come.

import { awaitSignal, type Fiber, main, type Op, type SignalName, sleep, trap } from 'polyphony'
import { expectType } from './equal.js'

expectType<Op<'SIGINT' | 'SIGTERM'>>()(awaitSignal('INT', 'SIGTERM'))
expectType<SignalName<'usr2'>>()('SIGUSR2' as const)
const remove: () => void = trap('HUP', () => {})
remove()

declare const watcher: Fiber<void, 'SIGHUP' | 'SIGTERM'>
for (const name of ['HUP', 'TERM'] as const) trap(name, (signal) => watcher.send(signal))

trap('int', function* (signal) {
  yield* sleep(1)
  expectType<'SIGINT'>()(signal)
  // @ts-expect-error: what comes back is the full name
  return signal === 'INT'
})
declare const any: string
trap(any, (signal) => console.log(signal.length))
main(function* () {
  const signal = yield* awaitSignal(any)
  console.log(signal.toLowerCase())
})

// @ts-expect-error: a handler must not be async
trap('HUP', async () => {})
// @ts-expect-error: no such option
main(() => {}, { tree: 'SIGUSR2' })
main(() => {}, { treeOn: 'SIGUSR2', grace: 10, context: true })
