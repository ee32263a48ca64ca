// A named pipe (FIFO) that was opened as a file. Its bytes come when somebody writes them, which may be never: they are waited
// for by the event loop, not by a thread of Node's pool.

import { Socket } from 'node:net'
import { BadState } from '../core/index.js'
import type { Receiver } from './channel.js'
import { canRead, canWrite, type Done, type Opened } from './filechannel.js'
import { NodeChannel } from './nodechannel.js'

export class PipeChannel extends NodeChannel {
  constructor(
    private readonly opened: Opened,
    receiver: Receiver,
  ) {
    const { path, fd, flags } = opened
    const readable = canRead(flags)
    const writable = canWrite(flags)
    const socket = new Socket({ fd, readable, writable, allowHalfOpen: true }).unref()
    super(path, receiver, { ...(readable && { readable: socket }), ...(writable && { writable: socket }) })
  }

  placeBefore(): number {
    throw new BadState(`${this.opened.path} has no position: it is a pipe`)
  }
  seek(): void {
    throw new BadState(`${this.opened.path} has no seek(): it is a pipe`)
  }
  forgetRead(): void {}

  perform<T>(start: (fd: number, done: Done<T>) => void, done: Done<T>): void {
    start(this.opened.fd, done)
  }
}
