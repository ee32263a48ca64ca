// A fiber that watches the signals. Handlers only pass on what has come, so everything is done in one place and in order:
// HUP restarts the app, TERM ends it, INT (Ctrl-C) leaves at once. The process is <pid> below; try: kill -HUP <pid>

import { Fiber, main, receiveLoop, sleep, spin, trap } from 'polyphony'

function* app() {
  const { incarnation } = Fiber.current
  console.log(`app ${incarnation} is up`)
  try {
    yield* sleep()
  } finally {
    yield* sleep(10) // closes its connections
    console.log(`app ${incarnation} is down`)
  }
}

type Watched = 'SIGHUP' | 'SIGTERM' | 'SIGINT'

function* watch(worker: Fiber) {
  yield* receiveLoop<Watched>(function* (signal) {
    console.log(`watcher: ${signal}`)
    switch (signal) {
      case 'SIGHUP':
        worker.restart()
        return
      case 'SIGTERM':
        yield* worker.stop()
        return false
      case 'SIGINT':
        process.exit(130)
    }
  })
}

main(function* () {
  console.log(`process ${process.pid}`)
  const worker = spin('app', app)
  const watcher = spin('watcher', watch, worker)
  for (const name of ['HUP', 'TERM', 'INT'] as const) trap(name, (signal) => watcher.send(signal))
  yield* watcher
  console.log('good bye')
})
