// What a stream is built on: a channel acts and reports, and never waits. A socket, a file, a pair in memory and any stream of Node
// are channels. All calls return at once and the answers go to the receiver, as completions do, so another backend can be put
// underneath without a change above.
//
//   fibers  --ops-->  [ Stream ]  --resume, write, end, close-->  [ Channel ]  -->  the world
//                     [        ]  <--received, drained, ended---  [         ]

/** What can be written. A string is sent as UTF-8. */
export type Chunk = string | Uint8Array

/** Transports bytes, and reports what happens to its receiver. */
export interface Channel {
  /** Its name in the tree and in errors: 'tcp 127.0.0.1:80', 'stdin'. */
  readonly name: string
  /** Whether its waits are for the outside: then they hold the process, and are no deadlock (S64). */
  readonly isOutside: boolean
  /** Whether waiting for its bytes is waiting for new work, which is never cleanup (S17): standard input. */
  readonly isIdle: boolean
  /** An operation in progress cannot be taken back, as in a file: a stopped fiber waits for its end (S35). */
  readonly isPatient: boolean
  /** An end may not be the last: more may follow later, as in a file that grows. */
  readonly canGrow: boolean
  /** How many bytes may be held unread before the channel is paused; 0: it reads only while a fiber waits for bytes. */
  readonly readAhead: number
  /** How many milliseconds an orderly close may take before the stream is destroyed. */
  readonly closeTimeout?: number
  /** Bytes that were written and that the system has not yet taken, if the channel can tell. */
  readonly unsent?: number
  /** Asks for bytes, until `pause` or until `received` answers false. */
  resume(): void
  /** No more bytes for now. */
  pause(): void
  /** Takes a chunk to be sent after those before it. True: there is room for more, and the chunk may be reused. False:
   * `drained` follows, or `failed`. */
  write(chunk: Chunk): boolean
  /** Nothing more will be written: tells the other side when all is sent, then `finished`. */
  end(): void
  /** The stream begins to close: from now on all that arrives is discarded, and must not hold up what is written. */
  discard?(): void
  /** Sends what was written, then closes: `closed`. */
  close(): void
  /** Closes at once; what was not sent is lost. `closed` follows. */
  destroy(): void
}

/** What a channel reports to; a `Stream` is one. */
export interface Receiver {
  /** Bytes have arrived. They may be kept if they are `owned`, else they are valid until this returns. False: no more now. */
  received(bytes: Buffer, isOwned: boolean): boolean
  /** The other side has ended. */
  ended(): void
  /** What was written is on its way: all of it, or `upTo` so many of the bytes and characters that were ever written. */
  drained(upTo?: number): void
  /** What was written and is not yet on its way cannot be sent; the stream lives on. False: no fiber waited for it. */
  refused(error: unknown): boolean
  /** After `end`: all of it is sent. */
  finished(): void
  /** The channel is broken. */
  failed(error: unknown): void
  /** The channel is closed, by either side; with an error if that went wrong. */
  closed(error?: unknown): void
}

/** A channel with the properties that most channels have. */
export abstract class BaseChannel implements Channel {
  abstract readonly name: string
  declare readonly isOutside: boolean
  declare readonly isIdle: boolean
  declare readonly isPatient: boolean
  declare readonly canGrow: boolean
  declare readonly readAhead: number
  declare readonly closeTimeout: number
  abstract resume(): void
  abstract pause(): void
  abstract write(chunk: Chunk): boolean
  abstract end(): void
  discard?(): void
  abstract close(): void
  abstract destroy(): void
}
Object.assign(BaseChannel.prototype, {
  isOutside: true,
  isIdle: false,
  isPatient: false,
  canGrow: false,
  readAhead: 64 * 1024,
  closeTimeout: Infinity,
})
