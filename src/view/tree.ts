// The live tree, as data and as text.

import { type Fiber, opSite, type Phase, type Runtime, type State } from '../core/index.js'

/** How many levels are drawn. */
const MAX_DEPTH = 100

/** One fiber in the live tree. */
export interface FiberView {
  /** As in `fiber.id`. */
  readonly id: number
  /** As in `fiber.name`. */
  readonly name: string
  /** What it is doing now. */
  readonly state: State
  /** How far its end has come. */
  readonly phase: Phase
  /** What it waits for. */
  readonly waitsFor: string | undefined
  /** Where the op it waits for was made; only in debug mode. */
  readonly site?: string
  /** Its children, oldest first. */
  readonly children: FiberView[]
}

/** The trees of a runtime, one for each root. */
export function viewTrees(runtime: Runtime): FiberView[] {
  return [...runtime.roots].map(viewFiber)
}

/** One tree. A list of work, not recursion: trees may be deep. */
function viewFiber(root: Fiber): FiberView {
  const top = viewOne(root)
  const work: [Fiber, FiberView][] = [[root, top]]
  for (let next = work.pop(); next !== undefined; next = work.pop()) {
    const [fiber, view] = next
    for (const child of fiber.children) {
      const childView = viewOne(child)
      view.children.push(childView)
      work.push([child, childView])
    }
  }
  return top
}

function viewOne(fiber: Fiber): FiberView {
  const { id, name, state, phase, waitsFor } = fiber
  const view = { id, name, state, phase, waitsFor, children: [] }
  const site = fiber.op === null ? undefined : opSite(fiber.op)
  return site === undefined ? view : { ...view, site }
}

/** The trees as lines of text. Long families and very deep trees are cut. */
export function formatTrees(trees: readonly FiberView[], maxChildren = 50): string {
  const lines: string[] = []
  for (const tree of trees) draw(tree, '', '', lines, maxChildren)
  return lines.join('\n')
}

function draw(view: FiberView, lead: string, indent: string, lines: string[], maxChildren: number): void {
  const doing =
    view.waitsFor !== undefined
      ? `waiting for ${view.waitsFor}`
      : view.phase === 'closing'
        ? 'over, waiting for its children'
        : view.state
  const phase = view.phase === 'live' || view.phase === 'closing' ? '' : ` [${view.phase}]`
  const site = view.site === undefined ? '' : `  ${view.site.split('\n')[0]?.trim()}`
  lines.push(`${lead}${oneLine(view.name)}  ${doing}${phase}${site}`)
  const shown = view.children.slice(0, maxChildren)
  const hidden = view.children.length - shown.length
  if (indent.length / 3 > MAX_DEPTH && shown.length > 0) {
    lines.push(`${indent}└─ ... and deeper`)
    return
  }
  shown.forEach((child, i) => {
    const isLast = i === shown.length - 1 && hidden === 0
    draw(
      child,
      `${indent}${isLast ? '└─ ' : '├─ '}`,
      `${indent}${isLast ? '   ' : '│  '}`,
      lines,
      maxChildren,
    )
  })
  if (hidden > 0) lines.push(`${indent}└─ ... and ${hidden} more`)
}

/** A name that breaks the lines would break the drawing. */
function oneLine(name: string): string {
  return /[\p{Cc}]/u.test(name) ? JSON.stringify(name) : name
}
