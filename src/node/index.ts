// Node: the real backend, main() and run().

export { exit, main } from './main.js'
export { fiberTree, printTree, type Running, run, runtimeStats } from './run.js'
