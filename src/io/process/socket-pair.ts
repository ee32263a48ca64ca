// Two connected sockets. Node can give one descriptor to a process as two of its own, which keeps the order of what is written
// to both (`stderr: 'merge'`); but it has no call for a pair, so one end listens at a place of this system and the other connects.
//
// Other programs could connect there, too: the end that connects says a secret first, and the other one believes only that.

import { randomBytes } from 'node:crypto'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const SECRET_BYTES = 16

export interface SocketPair {
  /** The end to read from. */
  readonly ours: Socket
  /** The end that a process is given. */
  readonly theirs: Socket
}

/** Makes a pair; the answer comes later. Neither end holds the process then. */
export function openSocketPair(answer: (error: Error | null, pair: SocketPair | null) => void): void {
  const path = place()
  const secret = randomBytes(SECRET_BYTES)
  const others = new Set<Socket>()
  const server = createServer()
  let theirs: Socket | undefined

  const over = (error: Error | null, ours?: Socket): void => {
    server.off('error', fail).close()
    theirs?.off('error', fail).on('error', ignore)
    for (const socket of others) if (socket !== ours) socket.destroy()
    if (error !== null) theirs?.destroy()
    answer(error, error === null ? { ours: ours as Socket, theirs: theirs as Socket } : null)
  }
  const fail = (error: Error): void => over(error)

  server.on('connection', (socket) => {
    others.add(socket)
    socket.on('error', ignore).unref()
    socket.once('data', (said) => {
      socket.pause().off('error', ignore)
      if (said.equals(secret)) over(null, socket)
      else socket.on('error', ignore).destroy()
    })
  })
  server.on('error', fail)
  server.listen(path, () => {
    theirs = connect(path)
    theirs.on('error', fail).write(secret)
  })
}

function ignore(): void {}

/** A name that is not in use. On Linux it is no file: nothing is left of it, and no directory has to be writable. */
function place(): string {
  const name = `polyphony-${randomBytes(12).toString('hex')}`
  return process.platform === 'linux' ? `\0${name}` : join(tmpdir(), name)
}
