// With POLYPHONY_DEBUG=1 the stack of an error goes on through the places where the fibers were spun, up to main.

import { main, sleep, spin } from 'polyphony'

main(function* theProgram() {
  yield* startServer()
})

function* startServer() {
  yield* spin('server', function* () {
    yield* startConnection()
  })
}

function* startConnection() {
  yield* spin('connection', function* () {
    yield* sleep(1)
    breakDown()
  })
}

function breakDown(): never {
  throw new Error('broken')
}
