// Node: the real backend, main() and run(), signals.

export { awaitSignal } from './await-signal.js'
export { toAsyncIterable } from './iterable.js'
export { exit, type MainOptions, main } from './main.js'
export { exitSilently } from './report.js'
export { fiberTree, meter, nodeRuntime, printTree, type Running, run, runtimeStats } from './run.js'
export type { SignalName } from './signals.js'
export { trap } from './trap.js'
