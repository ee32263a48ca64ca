// Servers that send back what they receive.
import net from 'node:net'
import { run } from '../../dist/index.js'
import { listen } from '../../dist/io/index.js'

/** What everybody writes with Node alone. */
export function plainNet() {
  return listening(
    net.createServer({ noDelay: true }, (socket) => {
      socket.on('data', (chunk) => socket.write(chunk))
      socket.on('error', () => {})
    }),
  )
}

function* readAndWrite(socket) {
  for (let chunk; (chunk = yield* socket.read()) !== undefined; ) yield* socket.write(chunk)
}

export function read() {
  return serving(readAndWrite)
}

function* readIntoOwn(socket) {
  const memory = Buffer.allocUnsafeSlow(64 * 1024)
  for (let count; (count = yield* socket.readInto(memory)) > 0; )
    yield* socket.write(memory.subarray(0, count))
}

export function readInto() {
  return serving(readIntoOwn)
}

function* loop(socket) {
  yield* socket.readLoop((chunk) => socket.write(chunk))
}

export function readLoop() {
  return serving(loop)
}

/** Listens with a plain server; the port. */
export function listening(server) {
  return new Promise((resolve) => {
    server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => resolve(server.address().port))
  })
}

/** Accepts connections, each served by a fiber that runs `body`; the port. */
export function serving(body) {
  return new Promise((resolve, reject) => {
    run(function* () {
      const server = yield* listen({ port: 0, host: '127.0.0.1', backlog: 4096 })
      resolve(server.port)
      yield* server.acceptLoop(body)
    }).catch(reject)
  })
}
