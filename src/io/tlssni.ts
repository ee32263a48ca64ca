// SNI: the certificate that fits the name a client asks for. A table, or a function, which runs on a fiber of its own and may
// wait: it reads files, asks a database. If the client hangs up meanwhile, the fiber is stopped.

import { type SecureContext, TLSSocket } from 'node:tls'
import {
  BadArgument,
  check,
  type Fiber,
  isStop,
  NonErrorThrown,
  onEnd,
  type Routine,
  type Runtime,
  runBody,
  show,
  spinRoot,
} from '../core/index.js'
import { contextOf, type Sni, type TlsContext } from './tlsoptions.js'

/** Node asks by a callback. */
type Answer = (error: Error | null, context?: SecureContext) => void
export type SniCallback = (this: unknown, servername: string, answer: Answer) => void

/** A client can ask for any bytes; what is no name of a host is not shown as it is. */
function printable(servername: string): string {
  return /^[\w.-]+$/.test(servername) ? servername : show(servername)
}

/** What those who look need to know. */
export interface Asked {
  readonly runtime: Runtime
  /** The call that it was given to, for errors. */
  readonly where: string
  /** Those who look for a certificate now. */
  readonly searchers: Set<Fiber>
  /** Nobody else hears of errors: they are reported. */
  readonly isAlone: boolean
}

/** The contexts of a table are made at once, so that a bad certificate is known before somebody asks for it. */
export function sniOf(sni: Sni, asked: Asked): SniCallback {
  const { where } = asked
  if (typeof sni === 'function') {
    check.body(sni, `sni of ${where}`)
    return askOnFiber(sni, asked)
  }
  if (typeof sni !== 'object' || sni === null) {
    throw new BadArgument(
      `sni of ${where} must be certificates by name, or a function that finds them; got ${show(sni)}`,
    )
  }
  const table = new Map(
    Object.entries(sni).map(([name, options]) => [
      name.toLowerCase(),
      contextOf(options, `sni ${show(name)} of ${where}`),
    ]),
  )
  return (servername, answer) => {
    const name = servername.toLowerCase()
    answer(null, table.get(name) ?? table.get(name.replace(/^[^.]+/, '*')))
  }
}

function askOnFiber(sni: (servername: string) => unknown, asked: Asked): SniCallback {
  const { runtime, where, searchers, isAlone } = asked
  function* find(servername: string, answer: Answer): Routine<void> {
    const what = `sni(${show(servername)}) of ${where}`
    try {
      const found = (yield* runBody(sni, servername)) as TlsContext | null | undefined
      answer(null, found == null ? undefined : contextOf(found, what))
    } catch (error) {
      if (isStop(error)) throw error
      if (isAlone) runtime.uncaught(error, `${what} failed`)
      answer(error instanceof Error ? error : new NonErrorThrown(error, what))
    }
  }
  // Node calls it as a method of the socket: that is how the fiber learns of a hang-up.
  return function (this: unknown, servername, answer) {
    const fiber = spinRoot(runtime, () => find(servername, answer), {
      name: `sni ${printable(servername)}`,
      link: false,
    })
    onEnd(fiber, () => searchers.delete(fiber))
    searchers.add(fiber)
    if (this instanceof TLSSocket) this.once('close', () => fiber.stop(undefined, { reason: 'hung up' }))
  }
}
