// The live tree of fibers, as data and as text: for `printTree`, the deadlock report, and tools.

export { type FiberView, formatTrees, viewTrees } from './tree.js'
