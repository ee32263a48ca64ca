// For rows about servers: what does a request cost the server? The server is a process of its own (host.js), and so is the
// client (client.js), which keeps 64 connections busy: each sends a request, waits for the answer, and sends the next. The
// figure is the CPU time of the server's process, from the first request to the last. Connections are made and have had one
// answer before the clock starts.
//
// Servers live as long as the process of their row, so that rounds find them warm, and take turns as in other rows.
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const CONNECTIONS = 64
const hostFile = fileURLToPath(new URL('host.js', import.meta.url))
const clientFile = fileURLToPath(new URL('client.js', import.meta.url))

/** Processes that this one has started, by what they do. */
const started = new Map()

/**
 * A contestant: `server` is a function that servers/`file` exports.
 * `exchange`: { request: 'text' or a number of bytes, answer: a number of bytes, 'same' or 'http' }.
 */
export function traffic(file, server, exchange) {
  return async (n, clock) => {
    const host = await once(`${file}:${server}`, () => startHost(file, server))
    const client = await once('client', startClient)
    await client.ask({ type: 'open', port: host.port, count: CONNECTIONS, ...exchange })
    await host.ask({ type: 'begin' })
    await client.ask({ type: 'go', n })
    const { micros } = await host.ask({ type: 'end' })
    clock.tell(micros * 1000)
    await client.ask({ type: 'close' })
  }
}

/** A contestant for short connections: each is made, sends `request` bytes, gets as many, and is closed. */
export function visits(file, server, request) {
  return async (n, clock) => {
    const host = await once(`${file}:${server}`, () => startHost(file, server))
    const client = await once('client', startClient)
    const visit = { type: 'visit', port: host.port, request, parallel: CONNECTIONS }
    await client.ask({ ...visit, n: CONNECTIONS })
    await host.ask({ type: 'begin' })
    await client.ask({ ...visit, n })
    const { micros } = await host.ask({ type: 'end' })
    clock.tell(micros * 1000)
  }
}

function once(name, start) {
  if (!started.has(name)) started.set(name, start())
  return started.get(name)
}

/** A server in a new process; it has a `port`. */
export async function startHost(file, server) {
  const host = start(hostFile, [file, server], `${file.replace('.js', '')}-${server}`)
  host.port = (await host.heard()).port
  return host
}

export function startClient() {
  return start(clientFile, [], 'client')
}

/** With `--profile` this process has flags that its children inherit; each gets a file that says whose profile it is. */
function start(file, args, name) {
  const flags = process.execArgv.map((flag) =>
    flag.startsWith('--cpu-prof-name=') ? `${flag.slice(0, -'.cpuprofile'.length)}-${name}.cpuprofile` : flag,
  )
  return new Partner(
    name,
    fork(file, args, { execArgv: flags, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }),
  )
}

/** A process that answers each message with one. It ends when this one does, or by `end`. */
class Partner {
  #child
  #waiting = null

  constructor(name, child) {
    this.#child = child
    child.on('message', (message) => {
      if (message.error !== undefined) this.#waiting.reject(new Error(`${name}: ${message.error}`))
      else this.#waiting.resolve(message)
    })
    child.on('exit', (code) => this.#waiting?.reject(new Error(`${name} ended with code ${code}`)))
  }

  /** For tools that watch a process from outside. */
  get pid() {
    return this.#child.pid
  }

  heard() {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
    })
  }

  ask(message) {
    const answer = this.heard()
    this.#child.send(message)
    return answer
  }

  end() {
    this.#waiting = null
    const ended = new Promise((resolve) => this.#child.once('exit', resolve))
    this.#child.disconnect()
    return ended
  }
}
