// What does a wait cost inside a block that lies under some calls? `deep.js` asks for calls between the fiber and its wait; here
// the calls are outside of a `moveOnAfter` or a `scope`, and the wait is right inside of it, or a few calls further in. The last
// ones are messages between two fibers, both of which wait in such a place (decision 0015).
import { Fiber, moveOnAfter, receive, run, scope, snooze, spin } from '../../dist/index.js'

const DEPTHS = [0, 3, 10]
const INSIDE = 3

function* waits(n) {
  for (let i = 0; i < n; i++) yield* snooze()
}
function* limited(n) {
  yield* moveOnAfter(600_000, () => waits(n))
}
function* scoped(n) {
  yield* scope(() => waits(n))
}
function* limitedAndDeep(n) {
  yield* moveOnAfter(600_000, () => descend(INSIDE, n, waits))
}
function* descend(depth, n, block) {
  if (depth > 0) yield* descend(depth - 1, n, block)
  else yield* block(n)
}

/** async: the same calls. There is no block: a time limit stands beside what it limits, and costs its waits nothing. */
async function asyncDescend(depth, n) {
  if (depth > 0) await asyncDescend(depth - 1, n)
  else for (let i = 0; i < n; i++) await null
}

function* echo(n) {
  const asker = yield* receive()
  for (let i = 0; i < n; i += 2) asker.send(yield* receive())
}
function* limitedEcho(n) {
  yield* moveOnAfter(600_000, () => echo(n))
}
function* ask(echoing, n) {
  for (let i = 0; i < n; i += 2) {
    echoing.send(i)
    yield* receive()
  }
}
function* exchange(depth, n) {
  const echoing = spin(descend, depth, n, limitedEcho)
  echoing.send(Fiber.current)
  yield* descend(depth, n, function* limitedAsk() {
    yield* moveOnAfter(600_000, () => ask(echoing, n))
  })
}

const row = (name, block, depth, inside = 0) => ({
  name: `wait ${inside > 0 ? `${inside} calls ` : ''}inside ${name}, under ${depth} calls`,
  detail: true,
  ours: (n) => run(() => descend(depth, n, block)),
  async: (n) => asyncDescend(depth + inside, n),
})

export const rows = [
  ...DEPTHS.map((depth) => row('moveOnAfter', limited, depth)),
  ...DEPTHS.map((depth) => row('scope', scoped, depth)),
  ...DEPTHS.map((depth) => row('moveOnAfter', limitedAndDeep, depth, INSIDE)),
  ...DEPTHS.map((depth) => ({
    name: `message inside moveOnAfter, under ${depth} calls`,
    detail: true,
    multiple: 2,
    ours: (n) => run(() => exchange(depth, n)),
  })),
]
