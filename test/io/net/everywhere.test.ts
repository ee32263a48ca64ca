// Whatever ends a fiber, its connections are closed: no descriptor and no place in a server stays. Tables of what opens a
// connection and what ends its fiber, trouble at every switchpoint, and thousands of connects that are cut at random.

import type { Socket as NetSocket } from 'node:net'
import { connect, type Server, type Socket } from 'polyphony/io'
import {
  assert,
  describe,
  ensure,
  eventually,
  type Fiber,
  type Op,
  type Routine,
  random,
  scope,
  sleep,
  snooze,
  spin,
  suspend,
  tap,
  test,
  until,
  use,
} from '../../prelude.js'
import { descriptors, disturb, Trouble } from '../../shared/outside.js'
import { isGone, opened } from '../real.js'
import { KINDS, type Kind, nodePeer, onVirtualClock, serverOf, targetOf } from './ends.js'

const COUNT = 20

/** What ends fibers that wait at a gate. */
const ENDINGS: Record<string, { grace?: number; strike?: (fiber: Fiber) => Op<unknown>; pause: Pause }> = {
  'its end': { pause: (gate) => until(gate) },
  'an error': {
    *pause(gate) {
      yield* until(gate)
      throw new Trouble('as the test asks')
    },
  },
  'a stop': { pause: suspend, strike: (fiber) => fiber.stop() },
  'a stop whose grace runs out': {
    grace: 20,
    pause: () => ensure(suspend, () => sleep()),
    strike: (fiber) => fiber.stop(),
  },
  'a kill': { pause: suspend, strike: (fiber) => fiber.kill() },
}
type Pause = (gate: Promise<void>) => Op<unknown>

/** Ways to have a connection in a fiber. Each waits while it has it, with the op that it is given. */
const OPENINGS: Record<string, (server: Server, kind: Kind, pause: () => Op<unknown>) => Routine<unknown>> = {
  *'connect()'(server, kind, pause) {
    yield* connect(targetOf(server, kind))
    yield* pause()
  },
  *'use(yield* connect())'(server, kind, pause) {
    yield* use(yield* connect(targetOf(server, kind)))
    yield* pause()
  },
  *'connect() in a scope'(server, kind, pause) {
    yield* scope(function* () {
      yield* connect(targetOf(server, kind))
      yield* pause()
    })
  },
  *'connect() and a finally that closes'(server, kind, pause) {
    const socket = yield* connect(targetOf(server, kind))
    try {
      yield* pause()
    } finally {
      yield* socket.close()
    }
  },
  *'connect() with a body'(server, kind, pause) {
    yield* connect(targetOf(server, kind), pause)
  },
  *'connect() with a body that has written much'(server, kind, pause) {
    yield* connect(targetOf(server, kind), function* (socket: Socket) {
      socket.tryWrite(Buffer.alloc(500_000))
      yield* pause()
    })
  },
}

/** Handlers of an accept loop. */
const HANDLERS: Record<string, (socket: Socket, pause: () => Op<unknown>) => Routine<unknown>> = {
  *reads(socket, pause) {
    spin(() => socket.readAll())
    yield* pause()
  },
  *writes(socket, pause) {
    spin(() => socket.write(Buffer.alloc(4_000_000))) // the peer does not read
    yield* pause()
  },
  *'has written'(socket, pause) {
    socket.tryWrite(Buffer.alloc(4_000_000))
    yield* pause()
  },
  *'spins children'(socket, pause) {
    for (let i = 0; i < 3; i++)
      spin(() =>
        ensure(
          () => socket.gone(),
          () => snooze(),
        ),
      )
    yield* pause()
  },
  *'throws at once'(socket) {
    socket.tryWrite('x')
    throw new Trouble('as the test asks')
  },
}

/** Runs fibers up to the gate, ends them, and waits until the descriptors are those from before. */
function* endAll(
  fibers: () => Fiber<any>[],
  isReady: () => boolean,
  { strike }: (typeof ENDINGS)[string],
  open: () => void,
  before: number,
): Routine<void> {
  const all = fibers()
  yield* eventually(isReady)
  if (strike === undefined) open()
  else for (const fiber of all) spin(() => strike(fiber))
  for (const fiber of all) yield* fiber.join()
  yield* eventually(() => descriptors() <= before)
}

function gateOf(): { gate: Promise<void>; open: () => void } {
  let open!: () => void
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  return { gate, open }
}

const kinds = KINDS.filter(({ name }) => name !== 'a Unix socket as Node makes it')

for (const [how, ending] of Object.entries(ENDINGS)) {
  describe(`after ${how}`, () => {
    for (const [what, opening] of Object.entries(OPENINGS)) {
      onVirtualClock(
        `nothing is left of ${what}`,
        function* (server, kind) {
          const serving = spin({ link: false }, () =>
            server.acceptLoop((socket) => socket.readAll(), { onError() {} }),
          )
          yield* snooze()
          const before = descriptors()
          const { gate, open } = gateOf()
          let ready = 0
          const pause = () => {
            ready++
            return ending.pause(gate)
          }
          const { grace } = ending
          const fibers = () =>
            Array.from({ length: COUNT }, () =>
              spin({ link: false, ...(grace && { grace }) }, () => opening(server, kind, pause)),
            )
          yield* endAll(fibers, () => ready === COUNT, ending, open, before)
          yield* eventually(() => server.stats().open === 0)
          assert.equal(server.stats().connections, COUNT)
          yield* server.close()
          yield* serving
        },
        { kinds },
      )
    }

    onVirtualClock(
      'nothing is left of accept()',
      function* (server, kind) {
        const peers = yield* peersOf(server, kind)
        yield* eventually(() => server.stats().backlog === COUNT)
        const before = descriptors() - COUNT
        const { gate, open } = gateOf()
        let ready = 0
        const { grace } = ending
        const body = function* (i: number): Routine<void> {
          if (i % 2 === 0) yield* server.accept()
          else server.tryAccept()
          ready++
          yield* ending.pause(gate)
        }
        const fibers = () =>
          Array.from({ length: COUNT }, (_, i) => spin({ link: false, ...(grace && { grace }) }, body, i))
        yield* endAll(fibers, () => ready === COUNT, ending, open, before)
        for (const peer of peers) peer.destroy()
      },
      { kinds },
    )

    for (const [what, handler] of Object.entries(HANDLERS)) {
      onVirtualClock(
        `nothing is left of an accept loop whose handler ${what}`,
        function* (server, kind) {
          const { gate, open } = gateOf()
          let ready = 0
          const pause = () => {
            ready++
            return ending.pause(gate)
          }
          const { grace } = ending
          const peers = yield* peersOf(server, kind)
          yield* eventually(() => server.stats().backlog === COUNT)
          const before = descriptors() - COUNT
          const loop = () => [
            spin({ link: false, ...(grace && { grace }) }, () =>
              server.acceptLoop((socket) => handler(socket, pause), { onError() {} }),
            ),
          ]
          const isReady = () => (what === 'throws at once' ? server.stats().backlog === 0 : ready === COUNT)
          const opens = () => {
            open()
            server.destroy()
          }
          yield* endAll(loop, isReady, ending, opens, before)
          assert.equal(server.stats().open, 0)
          for (const peer of peers) peer.destroy()
        },
        { kinds },
      )
    }
  })
}

function* peersOf(server: Server, kind: Kind): Routine<NetSocket[]> {
  const peers: NetSocket[] = []
  for (let i = 0; i < COUNT; i++) peers.push(yield* nodePeer(server, kind))
  return peers
}

onVirtualClock(
  'nothing is left of connections whose handlers were killed before they began',
  function* (server, kind) {
    const before = descriptors()
    const untap = tap((event, fiber) => {
      if (event === 'schedule' && fiber.name.startsWith('conn#')) fiber.kill()
    })
    yield* use(untap, () => void untap())
    const loop = spin({ link: false }, () => server.acceptLoop(() => assert.fail('it was killed')))
    const peers = yield* peersOf(server, kind)
    yield* eventually(() => server.stats().connections === COUNT && server.stats().open === 0)
    for (const peer of peers) peer.destroy()
    yield* eventually(() => descriptors() <= before)
    yield* loop.stop()
  },
  { kinds },
)

onVirtualClock(
  'connects that are stopped or killed at random leave nothing',
  function* (server, kind) {
    const chance = random(4711)
    const serving = spin({ link: false }, () =>
      server.acceptLoop((socket) => socket.readAll(), { onError() {} }),
    )
    yield* snooze()
    const before = descriptors()
    const batches = kind.transport === 'TLS' ? 3 : 30
    let made = 0
    for (let batch = 0; batch < batches; batch++) {
      const fibers = Array.from({ length: 100 }, () =>
        spin({ link: false }, function* () {
          const target = targetOf(server, kind)
          if (chance() < 0.3) return yield* connect(target, () => suspend())
          if (chance() < 0.5) yield* scope(() => connect(target))
          else yield* connect(target)
          made++
          return yield* suspend()
        }),
      )
      const strikes = fibers.map((fiber) =>
        spin(function* () {
          for (let turn = Math.floor(chance() ** 2 * 40); turn > 0; turn--) yield* until(Promise.resolve())
          if (chance() < 0.3) yield* sleep(Math.floor(chance() * 3))
          yield* chance() < 0.5 ? fiber.stop() : fiber.kill()
        }),
      )
      for (const strike of strikes) yield* strike
      yield* eventually(() => descriptors() <= before)
    }
    assert.ok(made > 10 && made < batches * 100, `${made} connections were made`)
    yield* eventually(() => server.stats().open === 0 && server.stats().backlog === 0)
    yield* server.close()
    yield* serving
  },
  { kinds },
)

describe('at every switchpoint', () => {
  /** That the other side is gone is no fault of a scenario that was cut. */
  function* forgiving(body: () => Op<unknown>): Routine<void> {
    try {
      yield* body()
    } catch (error) {
      if (!isGone(error)) throw error
    }
  }

  /** A client beside a fiber that serves; the server is closed with either. */
  function* beside(server: Server, serve: () => Op<unknown>, ask: () => Op<unknown>): Routine<void> {
    const serving = spin({ link: false }, () =>
      ensure(
        () => forgiving(serve),
        () => server.destroy(),
      ),
    )
    yield* ensure(
      () => forgiving(ask),
      function* () {
        yield* server.close()
        yield* serving.join()
      },
    )
  }

  const SCENARIOS: Record<string, (server: Server, kind: Kind) => Routine<unknown>> = {
    *'a handler that watches with gone()'(server, kind) {
      yield* beside(
        server,
        () =>
          server.acceptLoop(function* (socket) {
            const watching = spin(() => socket.gone())
            yield* socket.write('hello\n')
            yield* watching.join()
          }),
        () => connect(targetOf(server, kind), (socket) => socket.gets()),
      )
    },
    *'connections that are detached'(server, kind) {
      const given: NetSocket[] = []
      yield* use(given, () => {
        for (const socket of given) socket.destroy()
      })
      const client = yield* connect(targetOf(server, kind))
      yield* client.write('head\nbody')
      const socket = yield* server.accept()
      yield* socket!.gets()
      given.push(socket!.detach())
      yield* snooze()
      given.push(client.detach())
      yield* snooze()
    },
    *'connect() with a body, and accept()'(server, kind) {
      function* serve(): Routine<void> {
        const socket = yield* server.accept()
        yield* socket!.write('hello\n')
        yield* socket!.readAll()
        yield* socket!.end('bye\n')
      }
      function* converse(socket: Socket): Routine<void> {
        yield* socket.gets()
        yield* socket.end('more\n')
        yield* socket.gets()
      }
      yield* beside(server, serve, () => connect(targetOf(server, kind), converse))
    },
    *'a close that is cut when its time is up'(server, kind) {
      const peer = yield* nodePeer(server, kind)
      const socket = yield* opened(server.accept() as Op<Socket>)
      socket.tryWrite(Buffer.alloc(10_000_000))
      const closing = spin({ link: false }, () => socket.close())
      yield* snooze()
      socket.destroy()
      yield* closing.join()
      peer.destroy()
    },
  }

  for (const [what, scenario] of Object.entries(SCENARIOS)) {
    forEachKind(`of ${what}: all come to an end, and nothing stays open`, scenario)
  }

  function forEachKind(name: string, scenario: (server: Server, kind: Kind) => Routine<unknown>): void {
    for (const kind of KINDS.filter(({ transport }) => transport !== 'TLS')) {
      test(`${kind.name}: ${name}`, async () => {
        const runs = await disturb(function* () {
          yield* scenario(yield* serverOf(kind), kind)
        })
        assert.ok(runs > 20, `${runs} runs`)
      })
    }
  }
})
