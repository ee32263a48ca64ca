// Node: the real backend, main() and run().

export { toAsyncIterable } from './iterable.js'
export { exit, main } from './main.js'
export { fiberTree, printTree, type Running, run, runtimeStats } from './run.js'
