// S49: fibers that never wait, one kind for each argument, must not keep timers and sockets from their turn.

import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import {
  Fiber,
  main,
  moveOnAfter,
  receive,
  runtimeStats,
  shield,
  sleep,
  snooze,
  spin,
  suspend,
  throttledLoop,
  until,
} from 'polyphony'

const ROUND_TRIPS = 20
const SLEEPS = 40

const hogs: Record<string, () => void> = {
  /** Each lets the others run, but there is always another. */
  snooze() {
    for (let i = 0; i < 3; i++) {
      spin(function* () {
        for (;;) yield* snooze()
      })
    }
  },
  /** Two fibers wake each other for ever. */
  schedule() {
    const pair: Fiber[] = []
    for (const other of [1, 0]) {
      pair.push(
        spin(function* () {
          for (;;) {
            pair[other]?.schedule()
            yield* suspend()
          }
        }),
      )
    }
  },
  /** There is always another message. */
  messages() {
    const reader: Fiber = spin(function* () {
      for (;;) {
        yield* receive()
        reader.send(1)
      }
    })
    reader.send(1)
  },
  /** A wait that is over before it began. */
  ready() {
    const dead = spin(() => 1)
    spin(function* () {
      for (;;) yield* dead.join()
    })
  },
  /** Each wait takes a turn of the microtask queue, which Node empties before anything else. */
  promise() {
    spin(function* () {
      for (;;) yield* until(Promise.resolve())
    })
  },
  /** Blocks around a wait that is always ready. */
  block() {
    const dead = spin(() => 1)
    spin(function* () {
      for (;;) yield* moveOnAfter(1000, () => shield(() => dead.join()))
    })
  },
  /** Blocks around nothing. */
  'empty-block'() {
    spin(function* () {
      for (;;) yield* moveOnAfter(1000, () => 1)
    })
  },
  /** A loop that is always due. */
  loop() {
    spin(() => throttledLoop({ interval: 0 }, () => {}))
  },
  /** Fibers that make fibers. */
  spin() {
    spin(function again(): void {
      Fiber.current.parent?.spin(again)
    })
  },
  /** A fiber that always has children to wait for; they end at once. */
  children() {
    spin(function* () {
      for (;;) {
        for (let i = 0; i < 10; i++) spin(() => i)
        yield* Fiber.current.joinChildren()
      }
    })
  },
  /** Thousands of timers that are due at the same moment, again and again. */
  timers() {
    const tick = function* () {
      for (;;) yield* sleep(1)
    }
    for (let i = 0; i < 5000; i++) spin(tick)
  },
  /** Steps that each take a few milliseconds. */
  slow() {
    for (let i = 0; i < 3; i++) {
      spin(function* () {
        for (;;) {
          for (const end = performance.now() + 3; performance.now() < end; );
          yield* snooze()
        }
      })
    }
  },
}

const TURNS = 200
/** The most steps between two turns of the event loop, seen from setImmediate. */
function mostSteps(): Promise<number> {
  let most = 0
  let turns = 0
  let before = runtimeStats().switches
  return new Promise((resolve) => {
    const look = () => {
      const { switches } = runtimeStats()
      most = Math.max(most, switches - before)
      before = switches
      if (++turns < TURNS) setImmediate(look)
      else resolve(most)
    }
    setImmediate(look)
  })
}

main(function* () {
  const server = createServer((socket) => socket.pipe(socket)).listen(0, '127.0.0.1')
  yield* until(once(server, 'listening'))
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  yield* until(once(socket, 'connect'))
  const kind = process.argv[2] as string
  hogs[kind]?.()

  const most = yield* until(mostSteps())
  // A timer that rings is a turn of the loop as well, which setImmediate does not see.
  const allowed = ['block', 'empty-block', 'timers'].includes(kind) ? 2 * 1024 : 1024
  console.log(`steps: at most ${most <= allowed ? '1,024' : most} between two turns of the event loop`)

  for (let i = 0; i < ROUND_TRIPS; i++) {
    socket.write('ping')
    yield* until(once(socket, 'data'))
  }
  console.log('socket: all round trips')

  // How late a timer is, in CPU time of this process: on a busy machine it may be late because the process does not run.
  let latest = 0
  for (let i = 0; i < SLEEPS; i++) {
    const before = process.cpuUsage()
    yield* sleep(5)
    const { user, system } = process.cpuUsage(before)
    latest = Math.max(latest, (user + system) / 1000 - 5)
  }
  console.log('timer: all fired')
  // 10 ms plus the longest steps is the promise; the rest is room for the threads of the engine.
  console.log(latest < 250 ? 'timer: in time' : `timer: ${latest} ms late`)
  socket.destroy()
  server.close()
})
