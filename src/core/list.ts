// The intrusive list used for children of a fiber, listeners to its end, and fibers in line. The links are in the nodes, so
// adding and removing need no search and no allocation.
//
//   null <- A <-> B <-> C -> null        linked through `before` and `after`; the holder keeps the last one
//                       ^ last
//
// A node is in one list at a time. `append` and `remove` return the new last node, which the holder stores.

/** A node of a list. */
export interface Linked<N> {
  before: N | null
  after: N | null
}

/** Adds a node after `last`, the last node of the list. */
export function append<N extends Linked<N>>(last: N | null, node: N): N {
  node.before = last
  node.after = null
  if (last !== null) last.after = node
  return node
}

/** Removes a node, if it is in the list, and returns the new last node. The removed node keeps no links. */
export function remove<N extends Linked<N>>(last: N | null, node: N): N | null {
  const { before, after } = node
  if (before !== null) before.after = after
  if (after !== null) after.before = before
  node.before = null
  node.after = null
  return last === node ? before : last
}

export function firstOf<N extends Linked<N>>(last: N | null): N | null {
  let node = last
  while (node !== null && node.before !== null) node = node.before
  return node
}

/** The nodes as they are now, the last one first. */
export function listBackwards<N extends Linked<N>>(last: N | null): N[] {
  const nodes: N[] = []
  for (let node = last; node !== null; node = node.before) nodes.push(node)
  return nodes
}
