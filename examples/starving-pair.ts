// Two fibers that wake each other for ever: the run queue is never empty. The event loop gets its turns all the same,
// so the timer is served, main goes on, and the pair is stopped with it.

import { main, runtimeStats, sleep, spin, suspend } from 'polyphony'

main(function* () {
  const f1 = spin('f1', function* () {
    for (;;) {
      f2.schedule()
      yield* suspend()
    }
  })
  const f2 = spin('f2', function* () {
    for (;;) {
      f1.schedule()
      yield* suspend()
    }
  })

  yield* sleep(20)
  console.log('the timer was served')
  console.log(`still in the run queue: ${runtimeStats().runQueue}`)
})
