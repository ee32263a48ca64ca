// The process of a server: `host.js echo.js net` runs the function `net` of servers/echo.js, which gives the port it listens
// on, and answers questions about this process.
const [file, server] = process.argv.slice(2)
const servers = await import(`../servers/${file}`)

let before
const answers = {
  begin() {
    globalThis.gc?.({ type: 'minor' })
    before = process.cpuUsage()
    return {}
  },
  end() {
    const { user, system } = process.cpuUsage(before)
    return { micros: user + system, user }
  },
  memory() {
    globalThis.gc?.()
    globalThis.gc?.()
    const { rss, heapUsed } = process.memoryUsage()
    return { rss, heapUsed }
  },
}

process.on('message', ({ type }) => process.send(answers[type]()))
process.on('disconnect', () => process.exit())
process.send({ port: await servers[server]() })
