// A proxy: passes bytes on in both directions, with the end of each, and no faster than either side reads.
//
//   npm run example tcp-proxy 8080 localhost 80

import { all, cancelAfter, main, type Routine } from 'polyphony'
import { connect, listen, type Stream } from 'polyphony/io'

const [port = '0', host = 'localhost', target = '80'] = process.argv.slice(2)

/** One direction, until its end. */
function* forward(from: Stream, to: Stream): Routine<void> {
  yield* from.readLoop((bytes) => to.write(bytes))
  yield* to.end()
}

function* pass(client: Stream): Routine<void> {
  const upstream = yield* cancelAfter(5_000, () => connect({ host, port: Number(target) }))
  try {
    // If one direction breaks, the other is stopped.
    yield* all([() => forward(client, upstream), () => forward(upstream, client)])
  } finally {
    yield* upstream.close()
  }
}

main(function* () {
  const server = yield* listen({ port: Number(port) })
  console.log(`listening on port ${server.port}`)
  yield* server.acceptLoop(pass)
})
