// Connections of every kind, for tests that must hold for all: by TCP, a Unix socket and TLS, with wires and as Node makes sockets.
// One end is a stream, the other a socket of Node's.

import { type Socket as NetSocket, connect as netConnect } from 'node:net'
import { connect as tlsConnect } from 'node:tls'
import { type ConnectOptions, connect, type ListenOptions, type Server, type Socket } from 'polyphony/io'
import { wires } from '#io/net/wire'
import { type Op, type Routine, test, until, use } from '../../prelude.js'
import { accepted, folder, listening, opened, placeOf, real } from '../real.js'
import { ca, clean, local } from '../tls.js'

export type Transport = 'TCP' | 'Unix' | 'TLS'

export interface Kind {
  readonly name: string
  readonly transport: Transport
  /** Whether accepted connections are wires. */
  readonly isShared: boolean
}

export const KINDS: Kind[] = [
  { name: 'TCP', transport: 'TCP', isShared: true },
  { name: 'TCP as Node makes it', transport: 'TCP', isShared: false },
  { name: 'a Unix socket', transport: 'Unix', isShared: true },
  { name: 'a Unix socket as Node makes it', transport: 'Unix', isShared: false },
  { name: 'TLS', transport: 'TLS', isShared: false },
]

/** A server of this kind. */
export function* serverOf({ transport, isShared }: Kind, options: ListenOptions = {}): Routine<Server> {
  wires.work = isShared ? undefined : false
  yield* use(wires, () => void (wires.work = undefined))
  return yield* listening({
    ...(transport === 'Unix' ? { path: `${yield* folder()}/s` } : {}),
    ...(transport === 'TLS' ? { tls: local } : {}),
    ...options,
  })
}

/** Where a server can be reached by `connect`. */
export function targetOf(server: Server, { transport }: Kind): ConnectOptions {
  return { ...placeOf(server), ...(transport === 'TLS' ? { tls: { ca } } : {}) }
}

/** A connection to a server: the stream that it accepts, and a socket of Node's. The second reads nothing by itself. */
export function* ends(server: Server, kind: Kind): Routine<[Socket, NetSocket]> {
  const peer = yield* nodePeer(server, kind)
  return [yield* accepted(server), peer]
}

/** A socket of Node's that is connected, and reads nothing by itself. */
export function* nodePeer(server: Server, { transport }: Kind): Routine<NetSocket> {
  const target = { allowHalfOpen: true, ...placeOf(server) }
  const plain = netConnect(target)
  const socket = transport === 'TLS' ? tlsConnect({ socket: plain, ca, servername: 'localhost' }) : plain
  const event = transport === 'TLS' ? 'secureConnect' : 'connect'
  yield* use(socket, () => {
    socket.destroy()
    plain.destroy()
  })
  yield* until(new Promise<void>((resolve, reject) => socket.once(event, resolve).once('error', reject)))
  socket.on('error', () => {}).pause()
  plain.on('error', () => {})
  return socket
}

/** Both ends as streams, the accepted one first. */
export function* streams(server: Server, kind: Kind): Routine<[Socket, Socket]> {
  const client = yield* opened(connect(targetOf(server, kind)) as Op<Socket>)
  return [yield* accepted(server), client]
}

/** Resets a connection; with TLS, the one beneath. A Unix socket cannot be reset. */
export function reset(peer: NetSocket): void {
  const { _parent } = peer as unknown as { _parent?: NetSocket }
  ;(_parent ?? peer).resetAndDestroy()
}

/** Writes, and waits until the system has taken it. */
export const sent = (peer: NetSocket, bytes: string | Buffer): Op<unknown> =>
  until(new Promise((resolve) => peer.write(bytes, resolve)))

interface KindsOptions {
  kinds?: Kind[]
  options?: ListenOptions
}
type KindBody = (server: Server, kind: Kind) => Routine<unknown>

/** A test for each kind, with a server. Afterwards nothing is open. */
export function forEveryKind(
  name: string,
  body: KindBody,
  { kinds = KINDS, options = {} }: KindsOptions = {},
): void {
  for (const kind of kinds) test(`${kind.name}: ${name}`, () => real(() => withServer(kind, options, body)))
}

/** The same on the virtual clock: what waits for a time waits until nothing else happens. */
export function onVirtualClock(
  name: string,
  body: KindBody,
  { kinds = KINDS, options = {} }: KindsOptions = {},
): void {
  for (const kind of kinds) test(`${kind.name}: ${name}`, () => clean(() => withServer(kind, options, body)))
}

function* withServer(kind: Kind, options: ListenOptions, body: KindBody): Routine<void> {
  yield* body(yield* serverOf(kind, options), kind)
}
