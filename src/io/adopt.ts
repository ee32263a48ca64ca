// Accepted connections that read into the shared buffer. For that they must be made with `onread`, which Node's server has
// no option for; but a socket can be made around the handle of another, by an option that Node does not document. Whether that works
// is found out with the first connection, and if not, connections stay as Node made them.

import { Socket } from 'node:net'
import { onread, receiveBuffer } from './socket.js'

/** Whether it works here; undefined: not known yet. A test may say that it does not. */
export const adoption: { works: boolean | undefined } = { works: undefined }

type Inside = { _handle: { useUserBuffer?: unknown } | null }

/** An accepted connection as a socket that reads into the shared buffer if `adoption.works`, else as it is. */
export function adopt(accepted: Socket): Socket {
  const inside = accepted as unknown as Inside
  const handle = inside._handle
  if (handle === null || adoption.works === false) return accepted
  if (onread === undefined || typeof handle.useUserBuffer !== 'function') {
    adoption.works = false
    return accepted
  }
  const socket = new Socket({ handle, onread, allowHalfOpen: true, manualStart: true } as object)
  adoption.works ??= hasTaken(socket, handle)
  if ((socket as unknown as Inside)._handle !== handle) return accepted
  inside._handle = null // it is the other's now
  return socket
}

/** The new socket has the handle, and knows the buffer under some name. */
function hasTaken(socket: Socket, handle: unknown): boolean {
  const fields = socket as unknown as Record<symbol, unknown>
  return (
    (socket as unknown as Inside)._handle === handle &&
    Object.getOwnPropertySymbols(socket).some((name) => fields[name] === receiveBuffer)
  )
}
