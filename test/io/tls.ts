// What the tests of TLS need: certificates for tests only (test/fixtures/tls), and a server that is closed with its fiber.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Op, type Routine, spin } from 'polyphony'
import {
  connect,
  type ListenOptions,
  listen,
  type TlsClientOptions,
  type TlsServer,
  type TlsServerOptions,
  type TlsSocket,
} from 'polyphony/io'
import { test, turns, virtual } from '../prelude.js'
import { held, untilHeld } from '../shared/outside.js'
import { opened } from './real.js'

const place = new URL('../../../test/fixtures/tls/', import.meta.url)

/** The path of a fixture. */
export function fixture(name: string): string {
  return fileURLToPath(new URL(name, place))
}

/** A certificate and its key: local (localhost), renewed (the same), a (a.example), b (*.b.example), client, expired, self. */
export function pair(name: string): { cert: Buffer; key: Buffer } {
  return { cert: readFileSync(fixture(`${name}.pem`)), key: readFileSync(fixture(`${name}.key`)) }
}

/** The issuer of all of them but self. */
export const ca = readFileSync(fixture('ca.pem'))
export const host = '127.0.0.1'
export const local = pair('local')

/** Runs a body on the virtual clock; afterwards nothing that it opened is open. */
export async function clean(body: () => Routine<void>): Promise<void> {
  await turns(3)
  const before = held()
  await virtual(body)
  await untilHeld(before)
}

/** Declares a test whose body runs in `clean`. */
export const tlsTest = (name: string, body: () => Routine<void>): void => test(name, () => clean(body))

/** A server on a port of 127.0.0.1 that runs this body for each connection. */
export function* serving(
  tls: TlsServerOptions = local,
  body: (socket: TlsSocket) => Op<unknown> = echo,
  options: ListenOptions = {},
): Routine<TlsServer> {
  const place = options.path === undefined ? { host } : {}
  const server = yield* opened(listen({ ...place, ...options, tls }))
  spin('server', () => server.acceptLoop(body))
  return server
}

/** A client that trusts the issuer of the certificates. */
export const client = (
  { port }: { port: number },
  tls: TlsClientOptions = {},
  alpn?: string[],
): Routine<TlsSocket> => opened(connect({ host, port, tls: { ca, ...tls }, ...(alpn && { alpn }) }))

/** What the server says to a client. */
export function* said(server: TlsServer, tls: TlsClientOptions = {}): Routine<string> {
  const socket = yield* client(server, tls)
  const text = `${yield* socket.readAll()}`
  yield* socket.close()
  return text
}

/** Sends back what comes, until the end. */
export function* echo(socket: TlsSocket): Routine<void> {
  yield* socket.readLoop((chunk) => socket.write(chunk))
}
