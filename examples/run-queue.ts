// echo-and-time again, with its run queue: `tap` hears when a fiber becomes runnable and when its turn begins, and that
// is all there is to know. Type something while it runs. An argument sets the interval in milliseconds.

import { type Fiber, main, sleep, spin, tap } from 'polyphony'
import { stdin } from 'polyphony/io'

const interval = Number(process.argv[2] ?? 1000)
const runQueue: Fiber[] = []

function show(what: string) {
  console.log(`${what.padEnd(24)}[${runQueue.map((fiber) => fiber.name).join(', ')}]`)
}

main(function* () {
  show('at first')
  tap((event, fiber) => {
    if (event === 'schedule') runQueue.push(fiber)
    else if (event === 'unblock') runQueue.shift()
    else return
    show(`${fiber.name} ${event === 'schedule' ? 'can run' : 'runs'}`)
  })

  const echoPrinter = spin('echoPrinter', function* () {
    for (let chunk: Buffer | undefined; (chunk = yield* stdin.read()) !== undefined; ) {
      process.stdout.write(chunk)
    }
  })
  spin('timePrinter', function* () {
    for (;;) {
      yield* sleep(interval)
      console.log(`Time: ${new Date().toLocaleTimeString('en-GB')}`)
    }
  })

  yield* echoPrinter
})
