// What TLS may be told, on both sides, and the checks. Node makes a context of certificates and keys; ours are kept with the
// options they were made of, so that an answer that is given again and again is parsed once.

import { isIP } from 'node:net'
import {
  createSecureContext,
  type PeerCertificate,
  type SecureContext,
  type SecureContextOptions,
} from 'node:tls'
import { BadArgument, check, isGeneratorFunction, type Op, show } from '../core/index.js'
import { IOError, reasonOf } from './errors.js'

/** Certificates, keys and versions, as Node's `tls.createSecureContext` takes them. */
export interface TlsContext
  extends Pick<
    SecureContextOptions,
    | 'ca'
    | 'cert'
    | 'ciphers'
    | 'crl'
    | 'dhparam'
    | 'ecdhCurve'
    | 'honorCipherOrder'
    | 'key'
    | 'maxVersion'
    | 'minVersion'
    | 'passphrase'
    | 'pfx'
    | 'secureOptions'
    | 'sigalgs'
  > {}

/** How a client speaks TLS. */
export interface TlsClientOptions extends TlsContext {
  /** The name that the server must prove to have, and that it is told (SNI); default: the host. */
  servername?: string
  /** Whether a server that cannot prove who it is is refused; default true. */
  rejectUnauthorized?: boolean
  /** The `session` of an earlier stream to the same server: the handshake is shorter. */
  session?: Buffer
  /** A check of the server's name instead of Node's: returns an error, or nothing. */
  checkServerIdentity?: (host: string, certificate: PeerCertificate) => Error | undefined
}

/** Certificates by the name that the client asks for: `{ 'a.example': {...}, '*.b.example': {...} }`. Or a function that
 * finds them, which may be a body that waits. Nothing: those of the server itself. */
export type Sni =
  | Readonly<Record<string, TlsContext>>
  | ((servername: string) => Op<TlsContext | undefined> | TlsContext | undefined)

/** How a server speaks TLS. */
export interface TlsServerOptions extends TlsContext {
  /** Whether clients are asked for a certificate; default false. */
  requestCert?: boolean
  /** Whether a client whose certificate was asked for and is not good is refused; default true. */
  rejectUnauthorized?: boolean
  /** Certificates by name. */
  sni?: Sni
  /** How long a handshake may take, in milliseconds; default 10 seconds. */
  handshakeTimeout?: number
  /** Is told of each handshake that failed; cannot wait. They are counted in `stats()` and harm nobody else. */
  onHandshakeError?: (error: IOError) => void
  /** 48 secret bytes, the same in all processes that are to resume each other's sessions; default: made at random. A `setTls`
   * that changes who is trusted makes new ones, unless it is given some. */
  ticketKeys?: Buffer
  /** For how many seconds a session can be resumed. */
  sessionTimeout?: number
}

const CONTEXT = [
  'ca',
  'cert',
  'ciphers',
  'crl',
  'dhparam',
  'ecdhCurve',
  'honorCipherOrder',
  'key',
  'maxVersion',
  'minVersion',
  'passphrase',
  'pfx',
  'secureOptions',
  'sigalgs',
]
const CLIENT = [...CONTEXT, 'servername', 'rejectUnauthorized', 'session', 'checkServerIdentity']
const SERVER = [
  ...CONTEXT,
  'requestCert',
  'rejectUnauthorized',
  'sni',
  'handshakeTimeout',
  'onHandshakeError',
  'ticketKeys',
  'sessionTimeout',
]

/** The TLS options of a client; undefined: it does not speak TLS. */
export function checkClientTls(
  tls: boolean | TlsClientOptions | undefined,
  alpn: readonly string[] | undefined,
  where: string,
): TlsClientOptions | undefined {
  checkAlpn(tls !== undefined && tls !== false, alpn, where)
  if (tls === undefined || tls === false) return undefined
  if (tls === true) return {}
  check.options(tls, CLIENT, `tls of ${where}`)
  checkName(tls.servername, `servername of ${where}`)
  return tls
}

export function checkServerTls(
  tls: TlsServerOptions | undefined,
  alpn: readonly string[] | undefined,
  where: string,
): void {
  checkAlpn(tls !== undefined, alpn, where)
  if (tls === undefined) return
  check.options(tls, SERVER, `tls of ${where}`)
  const { handshakeTimeout, onHandshakeError } = tls
  if (handshakeTimeout !== undefined) check.timeLimit(handshakeTimeout, `handshakeTimeout of ${where}`)
  if (onHandshakeError !== undefined && !isPlain(onHandshakeError)) {
    throw new BadArgument(
      `onHandshakeError of ${where} must be a function, and no function*: it cannot wait; got ${show(onHandshakeError)}`,
    )
  }
}

function isPlain(listener: unknown): boolean {
  return typeof listener === 'function' && !isGeneratorFunction(listener)
}

function checkAlpn(hasTls: boolean, alpn: readonly string[] | undefined, where: string): void {
  if (alpn === undefined) return
  if (!hasTls) throw new BadArgument(`${where} has alpn but no tls: protocols are agreed on in the handshake`)
  if (Array.isArray(alpn) && alpn.length > 0 && alpn.every(isProtocol)) return
  throw new BadArgument(
    `alpn of ${where} must be a list of protocols such as ['h2', 'http/1.1'], got ${show(alpn)}`,
  )
}

function isProtocol(name: unknown): boolean {
  return typeof name === 'string' && name.length > 0 && name.length < 256
}

function checkName(name: unknown, what: string): void {
  if (name === undefined || (typeof name === 'string' && isIP(name) === 0)) return
  throw new BadArgument(`${what} must be the name of a host, got ${show(name)}`)
}

/** Without what is undefined: Node takes that for an answer. */
export function given<O extends object>(options: O): Partial<O> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Partial<O>
}

const contexts = new WeakMap<TlsContext, SecureContext>()

/** What Node makes of it; the same object gives the same context. */
export function contextOf(options: TlsContext, where: string): SecureContext {
  check.options(options, CONTEXT, where)
  let context = contexts.get(options)
  if (context === undefined) {
    context = tried(() => createSecureContext(given(options)), where)
    contexts.set(options, context)
  }
  return context
}

/** What Node says of certificates and keys that are no good, in our words. */
export function tried<T>(make: () => T, where: string): T {
  try {
    return make()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const message = `${where} cannot use what it was given for TLS: ${reasonOf(error)}`
    if (code?.startsWith('ERR_INVALID') || code?.startsWith('ERR_TLS')) {
      throw new BadArgument(message, { cause: error })
    }
    throw new IOError(`${message}. Certificates and keys are given in PEM format.`, error)
  }
}
