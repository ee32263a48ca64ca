// Servers that answer each request with ten small writes.
import net from 'node:net'
import { listening, serving } from './echo.js'

const PART = Buffer.alloc(8, 'abcdefgh')
const PARTS = 10

export function plainNet() {
  return listening(
    net.createServer({ noDelay: true }, (socket) => {
      socket.on('data', () => {
        for (let i = 0; i < PARTS; i++) socket.write(PART)
      })
      socket.on('error', () => {})
    }),
  )
}

export function corkedNet() {
  return listening(
    net.createServer({ noDelay: true }, (socket) => {
      socket.on('data', () => {
        socket.cork()
        for (let i = 0; i < PARTS; i++) socket.write(PART)
        socket.uncork()
      })
      socket.on('error', () => {})
    }),
  )
}

function* tenWrites(socket) {
  while ((yield* socket.read()) !== undefined) {
    for (let i = 0; i < PARTS; i++) yield* socket.write(PART)
  }
}

export function read() {
  return serving(tenWrites)
}
