// The pair of sockets behind `stderr: 'merge'`: no other program can take a place in it, and what goes wrong is told.

import { connect, Server, type Socket } from 'node:net'
import { exec } from 'polyphony/io'
import { assert, describe, eventually, type Routine, thrownBy } from '../../prelude.js'
import { realTest } from '../real.js'

const { listen } = Server.prototype
type Listen = (this: Server, path: string, done: () => void) => unknown

/** Runs a body while the place where a pair is made is found by another call. */
function* listeningBy(other: Listen, body: () => Routine<void>): Routine<void> {
  Server.prototype.listen = other as never
  try {
    yield* body()
  } finally {
    Server.prototype.listen = listen
  }
}

describe('the pair of sockets of a process with merged errors', () => {
  realTest('does not believe others that connect: silent ones, and ones with another secret', function* () {
    const others: Socket[] = []
    const intruded: Listen = function (path, done) {
      return listen.call(this, path as never, () => {
        for (const said of ['', 'open sesame', 'x'.repeat(16)]) {
          const socket = connect(path).on('error', () => {})
          socket.resume().on('data', (chunk) => assert.fail(`heard ${chunk}`))
          if (said !== '') socket.write(said)
          others.push(socket)
        }
        done()
      })
    }
    yield* listeningBy(intruded, function* () {
      const { stdout } = yield* exec('sh', ['-c', 'echo out; echo err >&2'], { stderr: 'merge' })
      assert.deepEqual([stdout, others.length], ['out\nerr\n', 3])
    })
    yield* eventually(() => others.every(({ destroyed, readableEnded }) => destroyed || readableEnded))
    for (const socket of others) socket.destroy()
  })

  realTest('that cannot be made is an error of the start', function* () {
    const refused: Listen = function () {
      const error = Object.assign(new Error('listen EMFILE'), { code: 'EMFILE', errno: -24 })
      process.nextTick(() => this.emit('error', error))
      return this
    }
    yield* listeningBy(refused, function* () {
      const error = yield* thrownBy(exec('true', [], { stderr: 'merge' }))
      assert.deepEqual([error.name, error.code], ['IOError', 'EMFILE'])
      assert.match(error.message, /^exec\(true\) failed: /)
    })
  })
})
