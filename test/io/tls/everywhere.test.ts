// Descriptors after every kind of end: UDP sockets, and both sides of TLS connections. Each row runs in twenty fibers.

import { connect, listen, type TlsServer, udp } from 'polyphony/io'
import {
  describe,
  eventually,
  type Fiber,
  type Op,
  type Routine,
  shield,
  sleep,
  spin,
  use,
} from '../../prelude.js'
import { opened } from '../real.js'
import { ca, host, local, tlsTest } from '../tls.js'

const FIBERS = 20

/** Something that a fiber opens; `ready` is called when it is open, and `wait` holds the fiber. */
type Opening = (server: TlsServer, ready: () => void, wait: () => Op<unknown>) => Routine<void>

const connecting = (port: number) => connect({ host, port, tls: { ca } })

const openings: [what: string, open: Opening][] = [
  [
    'udp()',
    function* (_, ready, wait) {
      yield* udp({ host })
      ready()
      yield* wait()
    },
  ],
  [
    'udp(options, body)',
    function* (_, ready, wait) {
      yield* udp({ host }, function* () {
        ready()
        yield* wait()
      })
    },
  ],
  [
    'udp(), detached, with finally { close() }',
    function* (_, ready, wait) {
      const socket = yield* udp({ host, detached: true })
      try {
        ready()
        yield* wait()
      } finally {
        yield* socket.close()
      }
    },
  ],
  [
    'use(connect({ tls }))',
    function* ({ port }, ready, wait) {
      yield* use(yield* connecting(port))
      ready()
      yield* wait()
    },
  ],
  [
    'connect({ tls }) with finally { close() }',
    function* ({ port }, ready, wait) {
      const socket = yield* connecting(port)
      try {
        ready()
        yield* wait()
      } finally {
        yield* socket.close()
      }
    },
  ],
  [
    'accept() with finally { close() }',
    function* (server, ready, wait) {
      yield* opened(connecting(server.port))
      const socket = yield* server.accept()
      try {
        ready()
        yield* wait()
      } finally {
        yield* socket!.close()
      }
    },
  ],
]

const ends: [how: string, wait: () => Op<unknown>, end: (fiber: Fiber) => unknown][] = [
  ['its end', () => sleep(10), () => {}],
  ['an error', () => sleep(), (fiber) => fiber.raise(new Error('no'))],
  ['a stop', () => sleep(), (fiber) => fiber.stop()],
  ['a grace that is over', () => shield(() => sleep()), (fiber) => fiber.stop(undefined, { grace: 10 })],
  ['a kill', () => sleep(), (fiber) => fiber.kill()],
]

for (const [what, open] of openings) {
  describe(`${what} leaves no descriptor open after`, () => {
    for (const [how, wait, end] of ends) {
      // tlsTest counts the descriptors before and afterwards.
      tlsTest(how, function* () {
        const server = yield* opened(listen({ host, tls: local }))
        let ready = 0
        const fibers = Array.from({ length: FIBERS }, () =>
          spin({ link: false }, () => open(server, () => ready++, wait)),
        )
        yield* eventually(() => ready === FIBERS)
        for (const fiber of fibers) end(fiber)
        for (const fiber of fibers) yield* fiber.join()
      })
    }
  })
}
