// A parser that calls back, turned into a loop. The parser knows nothing of fibers, its user knows nothing of callbacks:
// what is parsed waits in a list until the loop comes to it, and a slow client simply is not read from.
//
//   npm run example http-adapter 8080        and then, elsewhere:  curl localhost:8080/a localhost:8080/b

import { main, type Op, type Routine } from 'polyphony'
import { listen, type Stream } from 'polyphony/io'

/** As parsers are: bytes in, callbacks out. */
class HttpParser {
  onHeadersComplete: (path: string, headers: string) => void = () => {}
  private head = ''

  execute(bytes: Buffer): void {
    this.head += bytes.toString('latin1')
    for (let end = 0; (end = this.head.indexOf('\r\n\r\n')) >= 0; ) {
      const [, path = '', headers = ''] = /^\w+ (\S+) [^\r]*(.*)$/s.exec(this.head.slice(0, end)) ?? []
      this.head = this.head.slice(end + 4)
      this.onHeadersComplete(path, headers)
    }
  }
}

class Request {
  constructor(
    private readonly connection: Stream,
    readonly path: string,
    readonly keepsAlive: boolean,
  ) {}
  respond(body: string): Op<void> {
    return this.connection.write(
      `HTTP/1.1 200 OK\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
  }
}

/** Calls the handler for each request on a connection, one after the other. */
function* eachRequest(connection: Stream, handler: (request: Request) => Op<void>): Routine<void> {
  const pending: Request[] = []
  const parser = new HttpParser()
  parser.onHeadersComplete = (path, headers) =>
    pending.push(new Request(connection, path, !/\r\nconnection: *close/i.test(headers)))
  yield* connection.readLoop(function* (bytes) {
    parser.execute(bytes)
    for (let request = pending.shift(); request !== undefined; request = pending.shift()) {
      yield* handler(request)
      if (!request.keepsAlive) return false
    }
    return true
  })
}

main(function* () {
  const server = yield* listen({ port: Number(process.argv[2] ?? 0) })
  console.log(`listening on port ${server.port}`)
  yield* server.acceptLoop((socket) =>
    eachRequest(socket, (request) => request.respond(`you asked for ${request.path}\n`)),
  )
})
