// Servers that answer each line with the same line.
import net from 'node:net'
import readline from 'node:readline'
import { listening, serving } from './echo.js'

export function readlineEvents() {
  return listening(
    net.createServer({ noDelay: true }, (socket) => {
      readline.createInterface({ input: socket }).on('line', (line) => socket.write(`${line}\n`))
      socket.on('error', () => {})
    }),
  )
}

export function readlineAwait() {
  return listening(
    net.createServer({ noDelay: true }, async (socket) => {
      socket.on('error', () => {})
      for await (const line of readline.createInterface({ input: socket })) socket.write(`${line}\n`)
    }),
  )
}

function* echoLines(socket) {
  for (let line; (line = yield* socket.gets()) !== undefined; ) yield* socket.write(`${line}\n`)
}

export function gets() {
  return serving(echoLines)
}
