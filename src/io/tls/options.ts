// The options of TLS, on both sides: their checks, the contexts that Node makes of certificates and keys, and errors in words.
// A context is kept with the options it was made of, so that an answer of `sni` that is given again is parsed once.

import { isIP } from 'node:net'
import {
  createSecureContext,
  type PeerCertificate,
  type SecureContext,
  type SecureContextOptions,
} from 'node:tls'
import { BadArgument, check, type Op, show } from '../../core/index.js'
import { IOError, reasonOf } from '../errors.js'

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

/** TLS options of a client. */
export interface TlsClientOptions extends TlsContext {
  /** The name that the certificate of the server must have, and that is sent to the server (SNI); default: the host. */
  servername?: string
  /** Whether a server without a trusted certificate for its name is refused; default true. */
  rejectUnauthorized?: boolean
  /** The `session` of an earlier stream to the same server: the handshake is shorter. */
  session?: Buffer
  /** Replaces Node's check of the server's name: returns an error, or undefined. */
  checkServerIdentity?: (host: string, certificate: PeerCertificate) => Error | undefined
}

/** Certificates by the name that the client asks for: `{ 'a.example': {...}, '*.b.example': {...} }`. Or a function that
 * finds them, which may be a body that waits. For other names, and if it returns undefined, the server's own are used. */
export type Sni =
  | Readonly<Record<string, TlsContext>>
  | ((servername: string) => Op<TlsContext | undefined> | TlsContext | undefined)

/** TLS options of a server. */
export interface TlsServerOptions extends TlsContext {
  /** Whether clients are asked for a certificate; default false. */
  requestCert?: boolean
  /** With `requestCert`: whether a client without a trusted certificate is refused; default true. */
  rejectUnauthorized?: boolean
  /** Certificates by name. */
  sni?: Sni
  /** How long a handshake may take, in milliseconds; default 10,000. */
  handshakeTimeout?: number
  /** Called with the error of each handshake that failed. A plain function: it cannot wait. `stats()` counts them. */
  onHandshakeError?: (error: IOError) => void
  /** 48 secret bytes, the same in all processes that are to resume each other's sessions; default: random. A `setTls`
   * that changes which clients are trusted makes new ones, unless it is given some. */
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

/** Checks and returns the TLS options of a client; undefined if it does not speak TLS. */
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

/** Checks the TLS options of a server. */
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
      `onHandshakeError of ${where} needs a plain function, no function* or async function: it cannot wait; got ${show(onHandshakeError)}`,
    )
  }
}

/** Whether it is a function, and no generator function or async function. */
function isPlain(listener: unknown): boolean {
  return Object.prototype.toString.call(listener) === '[object Function]'
}

function checkAlpn(hasTls: boolean, alpn: readonly string[] | undefined, where: string): void {
  if (alpn === undefined) return
  if (!hasTls)
    throw new BadArgument(`${where} has alpn but no tls: the protocol is agreed on in the handshake of TLS`)
  if (Array.isArray(alpn) && alpn.length > 0 && alpn.every(isProtocol)) return
  throw new BadArgument(
    `alpn of ${where} needs a list of protocols such as ['h2', 'http/1.1'], got ${show(alpn)}`,
  )
}

function isProtocol(name: unknown): boolean {
  return typeof name === 'string' && name.length > 0 && name.length < 256
}

function checkName(name: unknown, what: string): void {
  if (name === undefined || (typeof name === 'string' && isIP(name) === 0)) return
  throw new BadArgument(`${what} needs the name of a host and no address, got ${show(name)}`)
}

/** The options without those that are undefined, which Node does not take as left out. */
export function given<O extends object>(options: O): Partial<O> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Partial<O>
}

const contexts = new WeakMap<TlsContext, SecureContext>()

/** The context of certificates and keys; the same object gives the same context. */
export function contextOf(options: TlsContext, where: string): SecureContext {
  check.options(options, CONTEXT, where)
  let context = contexts.get(options)
  if (context === undefined) {
    context = tried(() => createSecureContext(given(options)), where)
    contexts.set(options, context)
  }
  return context
}

/** Makes something of certificates and keys; if Node refuses them, the error names the call. */
export function tried<T>(make: () => T, where: string): T {
  try {
    return make()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const message = `${where} cannot use its options for TLS: ${reasonOf(error)}`
    if (code?.startsWith('ERR_INVALID') || code?.startsWith('ERR_TLS')) {
      throw new BadArgument(message, { cause: error })
    }
    throw new IOError(`${message}. Certificates and keys must be in PEM format, and fit each other.`, error)
  }
}

// ---- errors of handshakes: what happened, and what to do about it. The code is that of Node.

/** Advice for clients, by code. */
const ADVICE: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'The certificate of the server must be renewed, or the clock of this machine is wrong.',
  CERT_NOT_YET_VALID: 'Check the clock of this machine.',
  CERT_REVOKED: 'The server needs a new certificate.',
  ECONNRESET: 'The server hung up in the middle of the handshake: perhaps it does not speak TLS.',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'If it is the right server, give the name in its certificate: tls: { servername }.',
}
const UNKNOWN_ISSUER =
  'Its issuer is not trusted here. If it should be, give the certificate of the issuer: tls: { ca }.'

/** Advice for both sides, by the names of OpenSSL's errors and alerts. */
const PATTERNS: readonly [RegExp, string][] = [
  [/SELF_SIGNED|UNABLE_TO_(GET_ISSUER|VERIFY_LEAF)/, UNKNOWN_ISSUER],
  [
    /WRONG_VERSION_NUMBER|HTTP_REQUEST|PACKET_LENGTH_TOO_LONG|BAD_RECORD_TYPE|UNEXPECTED_RECORD/,
    'The other side does not speak TLS here.',
  ],
  [
    /PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL|NO_PROTOCOLS_AVAILABLE|VERSION_TOO_LOW/,
    'The two sides have no version of TLS in common: see minVersion and maxVersion.',
  ],
  [/NO_APPLICATION_PROTOCOL/, 'The two sides have no protocol in common: see alpn.'],
  [
    /HANDSHAKE_FAILURE|NO_SHARED_CIPHER/,
    'The two sides have no cipher in common, or the server has no certificate for this name.',
  ],
  [
    /CERTIFICATE_REQUIRED|DID_NOT_RETURN_A_CERTIFICATE/,
    'The server requires a certificate of the client: tls: { cert, key }.',
  ],
  [
    /ALERT_(UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_UNKNOWN|CERTIFICATE_EXPIRED)/,
    'The other side did not accept the certificate.',
  ],
]

/** The error of a failed `connect`. */
export function clientError(cause: unknown, what: string): IOError {
  const { code = '', syscall } = (cause ?? {}) as NodeJS.ErrnoException
  // Refused or unreachable: there was no handshake.
  const advice = syscall === 'connect' || syscall === 'getaddrinfo' ? undefined : (ADVICE[code] ?? hint(code))
  return failure(cause, what, advice)
}

/** The error of a failed handshake of a server. `refusal`: why the certificate of the client is not trusted. */
export function serverError(cause: unknown, peer: string, refusal: string | undefined): IOError {
  if (refusal !== undefined) {
    const why = Object.assign(new Error('the certificate of the client was not accepted'), { code: refusal })
    return failure(
      why,
      `handshake with ${peer}`,
      'See ca: it must have the issuer of the certificates of clients.',
    )
  }
  const { code = '' } = (cause ?? {}) as NodeJS.ErrnoException
  return failure(cause, `handshake with ${peer}`, hint(code))
}

/** The error of a handshake that was not finished in time. */
export function handshakeTimeout(peer: string, ms: number): IOError {
  const cause = Object.assign(new Error(`it was not finished after ${ms} ms`), {
    code: 'ERR_TLS_HANDSHAKE_TIMEOUT',
  })
  return failure(cause, `handshake with ${peer}`, undefined)
}

function hint(code: string): string | undefined {
  return PATTERNS.find(([pattern]) => pattern.test(code))?.[1]
}

function failure(cause: unknown, what: string, advice: string | undefined): IOError {
  const message = `${what} failed: ${reasonOf(cause)}`
  return new IOError(advice === undefined ? message : `${message}. ${advice}`, cause)
}
