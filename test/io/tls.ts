// What the tests of TLS need: certificates for tests only (test/fixtures/tls), and a look at what is left behind.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { type Op, type Routine, spin, until } from 'polyphony'
import {
  type ListenOptions,
  listen,
  type TlsServer,
  type TlsServerOptions,
  type TlsSocket,
} from 'polyphony/io'
import { leaks, virtual } from 'polyphony/testing'

const place = new URL('../../../test/fixtures/tls/', import.meta.url)

/** The path of one of them. */
export function fixture(name: string): string {
  return fileURLToPath(new URL(name, place))
}

export interface Pair {
  cert: Buffer
  key: Buffer
}

/** A certificate and its key: local (localhost), renewed (the same), a (a.example), b (*.b.example), client, expired, self. */
export function pair(name: string): Pair {
  return { cert: readFileSync(fixture(`${name}.pem`)), key: readFileSync(fixture(`${name}.key`)) }
}

/** Who vouches for all of them but self. */
export const ca = readFileSync(fixture('ca.pem'))

/** Runs a test; when it is over, no descriptor, fiber, timer or wait is left. */
export async function clean(body: () => Routine<void>): Promise<void> {
  const look = () => ({ ...leaks(), descriptors: descriptors() })
  const before = look()
  await virtual(body)
  for (let turns = 0; turns < 5000 && !isDeepStrictEqual(look(), before); turns++) await turn()
  assert.deepEqual(look(), before)
}

/** How many are open: sockets and files. */
export function descriptors(): number {
  return readdirSync('/proc/self/fd').length
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Lets the event loop turn until it is so. */
export function* eventually(isSo: () => boolean): Routine<void> {
  for (let turns = 0; !isSo(); turns++) {
    assert.ok(turns < 200_000, `it did not happen: ${isSo}`)
    yield* until(turn())
  }
}

/** A server on a port of 127.0.0.1 that runs this body for each connection. */
export function* serving(
  tls: TlsServerOptions,
  body: (socket: TlsSocket) => Op<unknown>,
  options: ListenOptions = {},
): Routine<TlsServer> {
  const server = yield* listen({ host: '127.0.0.1', port: 0, ...options, tls })
  spin('server', () => server.acceptLoop(body))
  return server
}

/** Sends back what comes, until the end. */
export function* echo(socket: TlsSocket): Routine<void> {
  yield* socket.readLoop((chunk) => socket.write(chunk))
}
