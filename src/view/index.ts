// The live tree of fibers, as data and as text.

export { type FiberView, formatTrees, viewTrees } from './tree.js'
