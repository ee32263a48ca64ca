// What goes wrong in a handshake, in sentences: what happened, and what to do about it. The code is Node's.

import { IOError, reasonOf } from './errors.js'

/** What a client can do. */
const CLIENT: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED:
    'The certificate must be renewed by those who run the server; look at the clock here, too.',
  CERT_NOT_YET_VALID: 'Look at the clock of this machine.',
  CERT_REVOKED: 'It was withdrawn; the server needs a new one.',
  ECONNRESET: 'It hung up in the middle of the handshake: perhaps it does not speak TLS.',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'If it is the right server, say by what name it is known: tls: { servername }.',
}
const UNKNOWN_ISSUER =
  'Nobody known here vouches for it. If it is to be trusted, give the certificate of its issuer: tls: { ca }.'

/** By the names of OpenSSL; either side may say them, in its own words or in an alert. */
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
    'The server asks for a certificate of the client: tls: { cert, key }.',
  ],
  [
    /ALERT_(UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_UNKNOWN|CERTIFICATE_EXPIRED)/,
    'The other side did not accept the certificate.',
  ],
]

/** A failed `connect`. */
export function clientError(cause: unknown, what: string): IOError {
  const { code = '', syscall } = (cause ?? {}) as NodeJS.ErrnoException
  // Refused, unreachable: it never came to a handshake.
  const advice = syscall === 'connect' || syscall === 'getaddrinfo' ? undefined : (CLIENT[code] ?? hint(code))
  return told(cause, what, advice)
}

/** A failed handshake of a server. */
export function serverError(cause: unknown, peer: string, refusal: string | undefined): IOError {
  if (refusal !== undefined) {
    const why = Object.assign(new Error('its certificate was not accepted'), { code: refusal })
    return told(why, `handshake with ${peer}`, 'See ca: it must vouch for the certificates of clients.')
  }
  const { code = '' } = (cause ?? {}) as NodeJS.ErrnoException
  return told(cause, `handshake with ${peer}`, hint(code))
}

export function handshakeTimeout(peer: string, ms: number): IOError {
  const cause = Object.assign(new Error(`it took longer than ${ms} ms`), {
    code: 'ERR_TLS_HANDSHAKE_TIMEOUT',
  })
  return told(cause, `handshake with ${peer}`, undefined)
}

function hint(code: string): string | undefined {
  return PATTERNS.find(([pattern]) => pattern.test(code))?.[1]
}

function told(cause: unknown, what: string, advice: string | undefined): IOError {
  const message = `${what} failed: ${reasonOf(cause)}`
  return new IOError(advice === undefined ? message : `${message}. ${advice}`, cause)
}
