// Overflows of the stack at many depths, since where exactly the stack ends decides what is cut. Prints what was left or lost.

import {
  cancelAfter,
  ensure,
  type Fiber,
  Mutex,
  moveOnAfter,
  type Op,
  ResourcePool,
  run,
  runtimeStats,
  Semaphore,
  scope,
  shield,
} from 'polyphony'
import { BaseOp, hold, settle } from 'polyphony/op'

type Body = () => Generator<any, unknown>

const mutex = new Mutex()
const semaphore = new Semaphore(1e6)
const pool = new ResourcePool({ limit: 1 }, () => 'resource')

/** Something that is counted, and takes calls of its own to give back. */
class Key extends BaseOp<void> {
  readonly where = 'key'
  readonly taking = this.droppable()
  held = 0
  enter(fiber: Fiber): void {
    settle(fiber, this, undefined)
    this.held++
  }
  abort(): void {}
  override late(): void {
    this.held--
  }
  giveBack(calls = 8): void {
    if (calls > 0) this.giveBack(calls - 1)
    else this.held--
  }
  describe(): string {
    return 'a key'
  }
}
const key = new Key()

const KINDS: Record<string, (body: Body) => Op<unknown>> = {
  scope,
  shield,
  moveOnAfter: (body) => moveOnAfter(1000, body),
  cancelAfter: (body) => cancelAfter(1000, body),
  ensure: (body) => ensure(body, () => {}),
  mutex: (body) => mutex.synchronize(body),
  semaphore: (body) => semaphore.acquire(body),
  pool: (body) => pool.acquire(body),
  key: (body) => hold(key, body),
}
const DEPTHS = 40
let open = 0

function* beneath(levels: number, body: Body): Generator<any, unknown> {
  return levels > 0 ? yield* beneath(levels - 1, body) : yield* body()
}

const call = KINDS[process.argv[2] as string] as (body: Body) => Op<unknown>

function* go(): Generator<any, unknown> {
  open++
  try {
    return yield* call(go)
  } finally {
    open--
  }
}

let clean = 0
for (let depth = 0; depth < DEPTHS; depth++) {
  const error: any = await run(() => beneath(depth, go)).catch((error) => error)
  const isSaid = error instanceof RangeError && error.message.includes('nest too deeply')
  const { fibers, timers } = runtimeStats()
  const left = [open, fibers, timers, mutex.isLocked, semaphore.inUse, pool.stats().inUse, key.held]
  if (isSaid && left.every((number) => Number(number) === 0)) clean++
  else console.log(`${depth} calls deep: ${isSaid ? 'left behind' : error.stack}`, left)
}
console.log(`${clean} of ${DEPTHS}`)
