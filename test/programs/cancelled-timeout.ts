// Time-outs of a minute that did not fire must not keep the process for a minute.

import { main, moveOnAfter, run, sleep, snooze, spin } from 'polyphony'

function* program() {
  yield* moveOnAfter(60_000, () => snooze())
  const sleeper = spin(() => sleep(60_000))
  yield* sleep(1)
  yield* sleeper.stop()
  spin(() => sleep(60_000))
  yield* snooze()
  console.log('done')
}

if (process.argv[2] === 'run') run(program)
else main(program)
