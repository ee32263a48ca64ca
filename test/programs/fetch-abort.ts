// A fetch to a server that never answers, stopped in every way there is. The server sees each abort; when the last is
// gone, nothing keeps the process.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Fiber, main, moveOnAfter, once, run, spin, until } from 'polyphony'

main(function* () {
  const server = createServer((req, res) => {
    res.on('close', () => console.log(`${req.url} ${res.writableFinished ? 'was answered' : 'was aborted'}`))
    server.emit('arrived')
  })
  server.listen(0, '127.0.0.1')
  yield* once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const get = (path: string) => () => until((signal) => fetch(`http://127.0.0.1:${port}${path}`, { signal }))
  const closed = () => until(new Promise<void>((resolve) => setTimeout(resolve, 20)))

  const stopped = spin(get('/stop'))
  yield* once(server, 'arrived')
  yield* stopped.stop()
  yield* closed()

  yield* moveOnAfter(50, get('/moveOnAfter'))
  yield* closed()

  const running = run(get('/run'))
  yield* once(server, 'arrived')
  yield* until(running.stop())
  yield* closed()

  yield* spin(function* () {
    spin(get('/parent'))
    yield* once(server, 'arrived')
  })
  yield* closed()

  spin(get('/kill'))
  yield* once(server, 'arrived')
  yield* Fiber.current.children[0]?.kill() as ReturnType<Fiber['kill']>
  yield* closed()

  server.close()
  server.closeAllConnections() // fetch keeps one open for later
  yield* once(server, 'close')
  console.log('the server is closed')
})
