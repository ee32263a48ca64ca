// lookup: from a name to addresses, by the resolver of the system (hosts file, DNS and what else is configured). Its call blocks a
// thread of Node's pool and cannot be cancelled: a fiber that is stopped goes on at once, and the late answer is dropped.

import { lookup as dnsLookup } from 'node:dns'
import { isIP } from 'node:net'
import { type Attempt, BadArgument, check, type Op, OutsideOp, show } from '../../core/index.js'
import { checkHost } from '../checks.js'
import { ioError } from '../errors.js'

/** An address of a host. */
export interface Address {
  /** `'127.0.0.1'`, `'::1'`. */
  readonly address: string
  /** Which kind it is. */
  readonly family: 4 | 6
}

/** How `lookup` looks up a name. */
export interface LookupOptions {
  /** Only addresses of this kind; default: any. */
  family?: 4 | 6
  /** Whether to return all addresses, as an array; default false: the first. */
  all?: boolean
}

class Lookup extends OutsideOp<Address | Address[]> {
  constructor(
    private readonly host: string,
    private readonly options: LookupOptions,
  ) {
    super()
  }

  protected start(attempt: Attempt<Address | Address[]>): void {
    const { host } = this
    const { family, all = false } = this.options
    const literal = isIP(host)
    if (literal !== 0) {
      if (family !== undefined && family !== literal) {
        const cause = Object.assign(new Error(`it is not an IPv${family} address`), { code: 'ENOTFOUND' })
        throw ioError(cause, `${this.describe()} in ${attempt.fiber.path}`)
      }
      const address = { address: host, family: literal as 4 | 6 }
      attempt.settle(all ? [address] : address)
      return
    }
    dnsLookup(host, { family: family ?? 0, all: true }, (error, addresses) => {
      if (error !== null) {
        attempt.fail(ioError(error, `${this.describe()} in ${attempt.fiber.path}`))
      } else attempt.settle(all ? (addresses as Address[]) : (addresses[0] as Address))
    })
  }

  protected cancel(): void {}

  describe(): string {
    return `lookup(${this.host})`
  }
  override get kind(): string {
    return 'lookup'
  }
}

/**
 * The address of a host, or all of them. An address is returned as it is, without a look-up. Throws `IOError` if there is
 * none; its `code` is `ENOTFOUND`, or `EAI_AGAIN` if a later try may succeed.
 *
 * ```ts
 * console.log(yield* lookup('127.0.0.1')) // { address: '127.0.0.1', family: 4 }
 * console.log((yield* lookup('localhost', { all: true })).length > 0) // true
 * ```
 *
 * The resolver of the system runs in a thread of Node's pool, which has four unless `UV_THREADPOOL_SIZE` says
 * otherwise. It cannot be cancelled: a fiber that is stopped goes on at once, and the late answer is dropped.
 */
export function lookup(host: string, options: LookupOptions & { all: true }): Op<Address[]>
export function lookup(host: string, options?: LookupOptions & { all?: false }): Op<Address>
export function lookup(host: string, options?: LookupOptions): Op<Address | Address[]>
export function lookup(host: string, options: LookupOptions = {}): Op<Address | Address[]> {
  checkHost(host, 'lookup()')
  const { family, all } = check.options(options, ['family', 'all'], 'lookup()')
  if (family !== undefined && family !== 4 && family !== 6) {
    throw new BadArgument(`the family of lookup() is 4 or 6, got ${show(family)}`)
  }
  if (all !== undefined && typeof all !== 'boolean') {
    throw new BadArgument(`all of lookup() is true or false, got ${show(all)}`)
  }
  return new Lookup(host, options)
}
