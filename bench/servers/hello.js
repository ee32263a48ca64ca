// Servers that answer every HTTP request with "hello world". All send the same header lines, and keep connections open.
import http from 'node:http'
import { listening, serving } from './echo.js'

const BODY = 'hello world\n'

export function nodeHttp() {
  const server = http.createServer((_request, response) => {
    response.setHeader('Content-Type', 'text/plain')
    response.setHeader('Content-Length', BODY.length)
    response.end(BODY)
  })
  server.keepAliveTimeout = 0
  return listening(server)
}

/** The answer, with the date as of this second. */
let answer = ''
function answerNow() {
  if (answer === '') {
    answer = `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${BODY.length}\r\nDate: ${new Date().toUTCString()}\r\nConnection: keep-alive\r\n\r\n${BODY}`
    setTimeout(() => (answer = ''), 1000 - (Date.now() % 1000)).unref()
  }
  return answer
}

const END_OF_HEAD = '\r\n\r\n'

/**
 * By hand: finds the end of each head, be it in pieces or several in one chunk, and looks at its first line. Requests with
 * a body are refused, as are methods other than GET.
 */
function* hello(socket) {
  let rest = ''
  yield* socket.readLoop((chunk) => {
    let text = rest + chunk.latin1Slice(0, chunk.length)
    let answers = ''
    for (let end; (end = text.indexOf(END_OF_HEAD)) >= 0; text = text.slice(end + END_OF_HEAD.length)) {
      answers += isPlainGet(text, end) ? answerNow() : 'HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n'
    }
    rest = text
    return answers === '' ? undefined : socket.write(answers)
  })
}

const FIRST_LINE = /^GET [^ ]+ HTTP\/1\.1\r\n/
const WITH_BODY = /\r\n(?:content-length|transfer-encoding):/i

function isPlainGet(text, end) {
  const head = text.length === end + END_OF_HEAD.length ? text : text.slice(0, end)
  return FIRST_LINE.test(head) && !WITH_BODY.test(head)
}

export function readLoop() {
  return serving(hello)
}
