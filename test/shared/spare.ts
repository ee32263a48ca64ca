// libuv opens a spare descriptor with the first socket or pipe of a process, and keeps it. A file that counts descriptors
// imports this, so that the spare one is open before the first count, wherever the output of the process goes.

import { createServer } from 'node:net'

await new Promise<void>((resolve) => {
  const server = createServer().listen(0, '127.0.0.1', () => server.close(() => resolve()))
})
