// Programs that read standard input, one for each argument.

import { main, moveOnAfter, sleep, snooze, spin } from 'polyphony'
import { gets, stdin } from 'polyphony/io'

const programs = {
  *echo() {
    for (let line: string | undefined; (line = yield* gets()) !== undefined; ) console.log(`> ${line}`)
    console.log('end', yield* gets(), yield* stdin.read())
  },
  *'time out'() {
    console.log(yield* moveOnAfter(20, () => gets(), 'nobody spoke'))
    console.log('and now?')
    console.log(yield* gets())
  },
  *'stop while waiting'() {
    const waiting = spin('waiting', function* () {
      try {
        yield* gets()
      } finally {
        console.log('stopped')
      }
    })
    yield* snooze()
    console.log(waiting.waitsFor)
    yield* waiting.stop()
    console.log('who is there?')
    console.log(yield* gets())
  },
  *'main returns with input left'() {
    console.log('ready')
    console.log(yield* gets())
  },
  *'paused by another'() {
    const waiting = spin(() => gets())
    yield* sleep(10)
    process.stdin.pause()
    yield* sleep(10)
    console.log('paused')
    console.log(yield* waiting)
  },
  *'read beside Node'() {
    console.log('ready')
    console.log(yield* gets())
    process.stdin.once('data', (chunk) => {
      console.log(`Node got ${chunk}`)
      setImmediate(() => process.stdin.pause())
    })
    process.stdin.resume()
    console.log('more')
  },
}

main(programs[process.argv[2] as keyof typeof programs])
