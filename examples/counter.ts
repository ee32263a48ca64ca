// Counts until return is pressed. `spin` starts a fiber that would count for ever; when main has read its line it
// returns, and its children are stopped with it. An argument sets the interval in milliseconds.

import { main, sleep, spin } from 'polyphony'
import { gets } from 'polyphony/io'

const interval = Number(process.argv[2] ?? 1000)

main(function* () {
  spin('counter', function* () {
    for (let count = 1; ; count++) {
      yield* sleep(interval)
      console.log(`count: ${count}`)
    }
  })

  console.log('Press return to stop this program')
  yield* gets()
})
