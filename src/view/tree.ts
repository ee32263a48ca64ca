// The live tree, as data (viewTrees) and as text (formatTrees). It only reads: no fiber is asked or held up.

import { type Fiber, opSite, type Phase, type Runtime, type State } from '../core/index.js'

/** How many levels are drawn. */
const MAX_DEPTH = 100

/**
 * One fiber in the live tree. `kind`, `resource` and `holder` tell what it waits for:
 *
 * | kind | the wait | resource | holder |
 * |---|---|---|---|
 * | `accept` | for a connection | the server | |
 * | `action` | for the callback of an `action` | | |
 * | `await` | for other fibers to end: `await`, `join`, `stop`, `Fiber.await`, `Fiber.select` | | the fiber, if it is one |
 * | `bind` | for a UDP socket to be opened | | |
 * | `call` | for the answer to a `call` | | the fiber called |
 * | `children` | at the end of a `scope`, for its children | | |
 * | `close` | for a stream or UDP socket to be closed | the stream, the socket | |
 * | `compression` | for zlib | | |
 * | `condition` | for a `Condition` | the condition | |
 * | `connect` | for a connection to a server | | |
 * | `emitter` | for an event of an emitter or event target: `once`, `on` | the emitter | |
 * | `event` | for an `Event` | the event | |
 * | `executor` | for a result, room or the end of an executor, or in one for items | the executor, the future | |
 * | `file` | for an operation on a file | | |
 * | `gone` | for the other side of a stream to go away | the stream | |
 * | `item` | for the next item of an async iterable, or for the turn to take one | the source | |
 * | `listen` | for a server to be opened | | |
 * | `lock` | for a `Mutex` | the mutex | its holder |
 * | `lookup` | for the address of a host | | |
 * | `mailbox` | for room in the mailbox of a fiber | the mailbox | that fiber |
 * | `members` | in a combinator for its members: `all`, `any`, `race`, `forEach` | | |
 * | `permit` | for a `Semaphore` | the semaphore | |
 * | `pool` | for a resource of a pool, or for the end of the pool | the pool | |
 * | `process` | for a process to start or to end | the process | |
 * | `promise` | for a promise | | |
 * | `queue` | for an item of a `Queue`, or for room in it | the queue | |
 * | `read` | for bytes, lines or datagrams | the stream, the socket | |
 * | `receive` | for a message | | |
 * | `signal` | for a signal of the process | | |
 * | `sleep` | for time to pass: `sleep`, rounds of loops | | |
 * | `snooze` | for other runnable fibers; seen by `tap` only | | |
 * | `supervise` | for the children of a supervisor | | |
 * | `suspend` | for `schedule` or `transfer` | | |
 * | `throttler` | for a `Throttler` | the throttler | |
 * | `write` | for bytes or datagrams to be sent | the stream, the socket | |
 * | `op` | for an op of your own that does not say more | | |
 *
 * An op of your own says it with `kind`, `resource` and `waitsOn` of `BaseOp` (`polyphony/op`).
 */
export interface FiberView {
  /** As in `fiber.id`. */
  readonly id: number
  /** As in `fiber.name`. */
  readonly name: string
  /** As in `fiber.state`. */
  readonly state: State
  /** As in `fiber.phase`. */
  readonly phase: Phase
  /** The id of its parent; undefined for a root. */
  readonly parent: number | undefined
  /** As in `fiber.incarnation`. */
  readonly incarnation: number
  /** How many messages wait in its mailbox. */
  readonly mailbox: number
  /** A description of what it waits for. */
  readonly waitsFor: string | undefined
  /** The kind of wait, as in the table above. */
  readonly kind: string | undefined
  /** The name of the mutex, queue, pool or other named object that it waits for. */
  readonly resource: string | undefined
  /** The id of the fiber that it awaits or has called, or that holds the lock it waits for. */
  readonly holder: number | undefined
  /** When the wait began, on the runtime's clock. Known with a meter, in debug mode and on the virtual clock. */
  readonly since: number | undefined
  /** Where the op it waits for was made; only in debug mode. */
  readonly site?: string
  /** Its children, oldest first. */
  readonly children: FiberView[]
}

/** The trees of a runtime, one for each root. */
export function viewTrees(runtime: Runtime): FiberView[] {
  return [...runtime.roots].map(viewFiber)
}

/** One tree. A work list instead of recursion, since trees may be deep. */
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
  const { id, name, state, phase, waitsFor, incarnation } = fiber
  const op = waitsFor === undefined ? null : fiber.op
  const view = {
    id,
    name,
    state,
    phase,
    parent: fiber.parent?.id,
    incarnation,
    mailbox: fiber.mailboxSize,
    waitsFor,
    kind: op?.kind,
    resource: nameOf(op?.resource),
    holder: op?.waitsOn?.id,
    since: op === null || fiber.since === 0 ? undefined : fiber.since,
    children: [],
  }
  const site = op === null ? undefined : opSite(op, fiber)
  return site === undefined ? view : { ...view, site }
}

/** The name of a resource, which may be an object of any library. */
function nameOf(resource: object | null | undefined): string | undefined {
  const name = (resource as { name?: unknown } | null | undefined)?.name
  return typeof name === 'string' ? name : undefined
}

/** The trees as lines of text. Long lists of children and very deep trees are cut. */
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

/** Escapes control characters, which would break the drawing. */
function oneLine(name: string): string {
  return /[\p{Cc}]/u.test(name) ? JSON.stringify(name) : name
}
