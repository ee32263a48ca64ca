// Two loops that know nothing of each other: one echoes standard input, one tells the time. Nobody polls and nobody
// switches by hand. At the end of input main ends, and the clock with it. An argument sets the interval in milliseconds.

import { main, sleep, spin } from 'polyphony'
import { stdin } from 'polyphony/io'

const interval = Number(process.argv[2] ?? 1000)

main(function* () {
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
