// A stop reaches through the library into stock code: the fetch is aborted, and the server at the other end sees it.

import { EventEmitter } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ensure, main, moveOnAfter, on, once, type Routine, spin, until } from 'polyphony'

const log = new EventEmitter<{ seen: [text: string] }>()
const server = createServer((request, response) => {
  response.on('close', () => {
    log.emit('seen', `${request.url} ${response.writableFinished ? 'was answered' : 'was given up'}`)
  })
  if (request.url === '/quick') response.end('here you are')
  // else: never answers
})

function* get(path: string): Routine<string> {
  const { port } = server.address() as AddressInfo
  const response = yield* until((signal) => fetch(`http://127.0.0.1:${port}${path}`, { signal }))
  return yield* until(response.text())
}

function* closeServer() {
  server.close()
  server.closeAllConnections()
  yield* once(server, 'close')
}

main(function* () {
  server.listen(0, '127.0.0.1')
  yield* once(server, 'listening')
  const seen = on(log, 'seen')
  yield* ensure(function* () {
    console.log(`client: ${yield* get('/quick')}`)
    console.log(`server: ${String(yield* seen.next())}`)

    console.log(`client: ${yield* moveOnAfter(500, () => get('/slow'), 'too slow, moving on')}`)
    console.log(`server: ${String(yield* seen.next())}`)

    const download = spin(() => get('/huge'))
    yield* once(server, 'request')
    console.log(`client: ${(yield* download.stop()).type}`)
    console.log(`server: ${String(yield* seen.next())}`)
  }, closeServer)
})
