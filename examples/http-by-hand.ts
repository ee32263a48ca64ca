// A web server by hand: read loops beneath an accept loop, and a parser of twenty lines. Try it:
//
//   npm run example http-by-hand 8080        and then, elsewhere:  curl localhost:8080/tea
//
// (A real one is more than this. It shows what the two loops are for.)

import { main } from 'polyphony'
import { listen, type Stream } from 'polyphony/io'

const LONGEST_HEAD = 16_384

/** Collects bytes until a request is whole: its head, which ends with an empty line. Bodies are not its business. */
class Parser {
  private text = ''

  /** Every request that these bytes complete, by its first line. */
  feed(bytes: Buffer): string[] {
    this.text += bytes.toString('latin1')
    const heads = this.text.split('\r\n\r\n')
    this.text = heads.pop() as string
    if (this.text.length > LONGEST_HEAD) throw new RangeError('the head of a request is too long')
    return heads.map((head) => head.split('\r\n', 1)[0] as string)
  }
}

function answer(line: string): string {
  const [, method, path] = /^([A-Z]+) (\S+) HTTP\/1\.[01]$/.exec(line) ?? []
  if (method !== 'GET') return respond('400 Bad Request', 'only GET is understood here\n')
  return respond('200 OK', `hello ${path}\n`)
}

function respond(status: string, body: string): string {
  return `HTTP/1.1 ${status}\r\nContent-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

function* handleClient(socket: Stream) {
  const parser = new Parser()
  yield* socket.readLoop((bytes) => {
    const answers = parser.feed(bytes).map(answer)
    return socket.write(...answers) // in one packet, however many they are
  })
}

main(function* () {
  const server = yield* listen({ port: Number(process.argv[2] ?? 0) })
  console.log(`listening on port ${server.port}`)
  yield* server.acceptLoop(handleClient)
})
