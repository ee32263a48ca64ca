// The process that makes the load: a few connections, each of which sends a request, waits for the whole answer, and sends
// the next. It does as little as it can besides: one receive buffer for all, no streams of answers, only their length.
// The first answer on each connection is looked at; all later ones must have the same length.
import net from 'node:net'

const shared = Buffer.alloc(65536)
/** How many connect at once: more than the backlog of a server holds would be tried again a second later. */
const AT_A_TIME = 100
let connections = []
/** Requests that are still to be sent, and connections that wait for an answer. */
let left = 0
let busy = 0
let finished = null

class Connection {
  got = 0
  first = ''
  /** Length of an answer; 0 while it is not known. */
  length = 0

  constructor(port, request, answer) {
    this.request = request
    this.answer = answer
    const onread = { buffer: shared, callback: (size) => this.receive(size) }
    this.socket = net.connect({ port, host: '127.0.0.1', noDelay: true, onread })
    this.socket.on('error', (error) => process.send({ error: error.message }))
  }

  send() {
    this.socket.write(this.request)
  }

  receive(size) {
    if (this.length === 0) return this.learn(size)
    this.got += size
    if (this.got < this.length) return
    if (this.got > this.length) throw new Error(`an answer of ${this.got} bytes, not ${this.length}`)
    this.got = 0
    if (left > 0) {
      left--
      this.send()
    } else if (--busy === 0) finished()
  }

  learn(size) {
    this.first += shared.latin1Slice(0, size)
    if (this.first.length < lengthOf(this.first, this.answer)) return
    const { first, request, answer } = this
    if (answer === 'same' && first !== request.toString('latin1')) throw new Error('not what was sent')
    this.length = first.length
    this.first = ''
    if (--busy === 0) finished()
  }
}

/** How long an answer that begins so will be. */
function lengthOf(text, answer) {
  if (answer !== 'http') return answer
  const head = text.indexOf('\r\n\r\n')
  if (head < 0) return Infinity
  if (!text.startsWith('HTTP/1.1 200 ')) throw new Error(text.slice(0, head))
  return head + 4 + Number(/content-length: *(\d+)/i.exec(text)[1])
}

/** One short connection, until it is closed on both sides. */
function visit(port, request) {
  return new Promise((resolve, reject) => {
    let got = 0
    const callback = (size) => {
      got += size
      if (got === request.length) socket.end()
    }
    const onread = { buffer: shared, callback }
    const socket = net.connect({ port, host: '127.0.0.1', noDelay: true, onread })
    socket.on('error', reject)
    socket.on('close', resolve)
    socket.write(request)
  })
}

const answers = {
  /** Makes the connections, some at a time; each sends one request and waits for its answer. */
  async open({ port, count, request, answer }) {
    const bytes = typeof request === 'number' ? Buffer.alloc(request, 'abcdefghij') : Buffer.from(request)
    const length = answer === 'same' ? bytes.length : answer
    connections = []
    while (connections.length < count) {
      busy = Math.min(count - connections.length, AT_A_TIME)
      const answered = allAnswered()
      for (let i = 0; i < busy; i++) {
        const connection = new Connection(port, bytes, length)
        connections.push(connection)
        connection.send()
      }
      await answered
    }
  },
  /** Sends n requests. */
  go({ n }) {
    const begin = connections.slice(0, n)
    busy = begin.length
    left = n - busy
    const done = allAnswered()
    for (const connection of begin) connection.send()
    stayAwake()
    return done
  },
  /** n connections, `parallel` at a time: each sends a request, waits for as many bytes, and ends. */
  async visit({ port, n, request, parallel }) {
    const bytes = Buffer.alloc(request, 'abcdefghij')
    stayAwake()
    let left = n
    busy = parallel
    await Promise.all(
      Array.from({ length: parallel }, async () => {
        while (left-- > 0) await visit(port, bytes)
      }),
    )
    busy = 0
  },
  async close() {
    const closed = connections.map(({ socket }) => new Promise((resolve) => socket.once('close', resolve)))
    for (const { socket } of connections) socket.destroy()
    await Promise.all(closed)
  },
}

/** While requests are under way this process never sleeps: to wake it would be charged to the server. */
function stayAwake() {
  if (busy > 0) setImmediate(stayAwake)
}

function allAnswered() {
  return new Promise((resolve) => {
    finished = resolve
  })
}

process.on('message', async (message) => {
  await answers[message.type](message)
  process.send({})
})
process.on('disconnect', () => process.exit())
process.on('uncaughtException', (error) => process.send({ error: error.message }))
