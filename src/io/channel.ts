// What a stream stands on: a channel does, and tells; it never waits. A socket, a file, a pair in memory and any stream of
// Node are channels. All calls return at once and the answers come to the receiver, as completions do, so that
// another kind of backend can be put underneath without anybody above noticing.
//
//   fibers  --ops-->  [ Stream ]  --resume, write, end, close-->  [ Channel ]  -->  the world
//                     [        ]  <--received, drained, ended---  [         ]

/** What can be written. A string is sent as UTF-8. */
export type Chunk = string | Uint8Array

/** A way for bytes. Whoever makes one tells its receiver what happens. */
export interface Channel {
  /** What it is, for the tree and for errors: 'tcp 127.0.0.1:80', 'stdin'. */
  readonly name: string
  /** Whether its waits are for the outside: then they hold the process, and are no deadlock (S64). */
  readonly isOutside: boolean
  /** Whether waiting for its bytes is waiting for new work, which is never cleanup (S17): standard input. */
  readonly isIdle: boolean
  /** An operation that is underway cannot be taken back, as in a file: who is stopped waits for its end (S35). */
  readonly isPatient: boolean
  /** An end may not be the last: there may be more later, as in a file that grows. */
  readonly canGrow: boolean
  /** So many bytes may lie here unread before the channel is told to stop; 0: nothing is read that nobody waits for. */
  readonly readAhead: number
  /** Bytes are wanted, until `pause` or until `received` answers false. */
  resume(): void
  /** No more bytes for now. */
  pause(): void
  /** Takes a chunk to be sent after those before it. True: there is room for more, and the chunk may be reused. False:
   * `drained` follows, or `failed`. */
  write(chunk: Chunk): boolean
  /** Nothing more will be written: tells the other side when all is sent, then `finished`. */
  end(): void
  /** Sends what was written, then closes: `closed`. */
  close(): void
  /** Closes at once; what was not sent is lost. `closed` follows. */
  destroy(): void
}

/** Who hears from a channel. */
export interface Receiver {
  /** Bytes have come. They may be kept if they are `owned`, else they are valid until this returns. False: no more now. */
  received(bytes: Buffer, isOwned: boolean): boolean
  /** The other side has ended. */
  ended(): void
  /** What was written is on its way: all of it, or `upTo` so many of the bytes and characters that were ever written. */
  drained(upTo?: number): void
  /** What was written and is not yet on its way cannot be sent; the stream lives on. False: nobody waited for it. */
  refused(error: unknown): boolean
  /** After `end`: all of it is sent. */
  finished(): void
  /** It is broken. */
  failed(error: unknown): void
  /** It is closed, whoever did it; with an error if that went wrong. */
  closed(error?: unknown): void
}

/** What most channels are. */
export abstract class BaseChannel implements Channel {
  abstract readonly name: string
  declare readonly isOutside: boolean
  declare readonly isIdle: boolean
  declare readonly isPatient: boolean
  declare readonly canGrow: boolean
  declare readonly readAhead: number
  abstract resume(): void
  abstract pause(): void
  abstract write(chunk: Chunk): boolean
  abstract end(): void
  abstract close(): void
  abstract destroy(): void
}
Object.assign(BaseChannel.prototype, {
  isOutside: true,
  isIdle: false,
  isPatient: false,
  canGrow: false,
  readAhead: 64 * 1024,
})
