// Named pipes and terminals that were opened by path. Their bytes come when another process or a person sends them, which may be
// never: the event loop waits for them. In a thread of Node's pool such a read could not be cancelled: a stop would wait for it,
// and so would the exit of the process.

import { close } from 'node:fs'
import { Socket, type SocketConstructorOpts } from 'node:net'
import { ReadStream } from 'node:tty'
import type { Receiver } from '../stream/channel.js'
import { NodeChannel } from '../stream/node-stream.js'
import { canRead, canWrite, hasNo, type Opened, openedFor, type Task } from './channel.js'

export class EventChannel extends NodeChannel {
  constructor(
    private readonly opened: Opened,
    receiver: Receiver,
  ) {
    const { path, flags } = opened
    const readable = canRead(flags)
    const writable = canWrite(flags)
    const socket = socketOf(opened, { readable, writable, allowHalfOpen: true }).unref()
    super(path, receiver, {
      ...(readable && { readable: socket }),
      ...(writable && { writable: socket }),
      why: openedFor(flags),
    })
  }

  positionBefore(): never {
    throw hasNo('position', this.opened)
  }
  seek(): never {
    throw hasNo('seek()', this.opened)
  }
  forgetRead(): void {}

  perform({ start, done }: Task<any>): void {
    start(this.opened.fd, done)
  }
}

function socketOf({ fd, kind }: Opened, options: SocketConstructorOpts): Socket {
  if (kind === 'pipe') return stoppable(new Socket({ fd, ...options }))
  const socket = new ReadStream(fd, options) // it can write too, and unlike a WriteStream it never blocks in that
  // Node opens the terminal once more, so that its flags are not shared with other processes, and closes only what it opened.
  if (insideOf(socket)._handle?.fd !== fd) socket.on('close', () => close(fd))
  return stoppable(socket)
}

/** What Node's own code for standard input uses of a socket. */
interface Inside {
  readonly _handle?: { readonly fd: number; reading: boolean; readStop(): void } | null
  readonly _readableState: { reading: boolean }
}
const insideOf = (socket: Socket) => socket as unknown as Inside

/**
 * A paused socket of Node reads on until its buffer is full. Here that would take a line that is meant for standard input, or for
 * another process: it stops at once, as Node does with standard input.
 */
function stoppable(socket: Socket): Socket {
  const stop = () => {
    const { _handle, _readableState } = insideOf(socket)
    if (!_handle?.reading || socket.readableFlowing === true) return
    _readableState.reading = false
    _handle.reading = false
    _handle.readStop()
  }
  return socket.on('pause', () => process.nextTick(stop))
}
