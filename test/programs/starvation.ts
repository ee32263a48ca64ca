// S49: fibers that never wait, one kind for each argument, must not keep timers and sockets from their turn.

import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import {
  Fiber,
  main,
  moveOnAfter,
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

main(function* () {
  const server = createServer((socket) => socket.pipe(socket)).listen(0, '127.0.0.1')
  yield* until(once(server, 'listening'))
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  yield* until(once(socket, 'connect'))
  hogs[process.argv[2] as string]?.()

  for (let i = 0; i < ROUND_TRIPS; i++) {
    socket.write('ping')
    yield* until(once(socket, 'data'))
  }
  console.log('socket: all round trips')

  let latest = 0
  for (let i = 0; i < SLEEPS; i++) {
    const due = performance.now() + 5
    yield* sleep(5)
    latest = Math.max(latest, performance.now() - due)
  }
  console.log('timer: all fired')
  // 10 ms plus the longest steps is the promise; the rest is room for a busy machine.
  console.log(latest < 250 ? 'timer: in time' : `timer: ${latest} ms late`)
  socket.destroy()
  server.close()
})
