// SNI: the certificate that fits the name a client asks for. A table, or a function, which runs on a fiber of its own and may
// wait: it reads files, asks a database. If the client hangs up meanwhile, the fiber is stopped.

import { type SecureContext, TLSSocket } from 'node:tls'
import {
  BadArgument,
  checkBody,
  isStop,
  NonErrorThrown,
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

/** The contexts of a table are made at once, so that a bad certificate is known before somebody asks for it. */
export function sniOf(sni: Sni, runtime: Runtime, where: string): SniCallback {
  if (typeof sni === 'function') {
    checkBody(sni, `sni of ${where}`)
    return askOnFiber(sni, runtime, where)
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

/** Node calls its callback as a method of the socket: that is how the fiber learns of a hang-up. */
function askOnFiber(sni: (servername: string) => unknown, runtime: Runtime, where: string): SniCallback {
  return function (this: unknown, servername, answer) {
    const fiber = spinRoot(runtime, () => find(sni, servername, answer, where), { name: `sni ${servername}` })
    fiber.coldRecord().isolated = true
    if (this instanceof TLSSocket) this.once('close', () => fiber.stop(undefined, { reason: 'hung up' }))
  }
}

function* find(
  sni: (servername: string) => unknown,
  servername: string,
  answer: Answer,
  where: string,
): Routine<void> {
  const what = `sni(${show(servername)}) of ${where}`
  try {
    const found = (yield* runBody(sni, servername)) as TlsContext | null | undefined
    answer(null, found == null ? undefined : contextOf(found, what))
  } catch (error) {
    if (isStop(error)) throw error
    answer(error instanceof Error ? error : new NonErrorThrown(error, what))
  }
}
