// Two kinds of patience. The handler limits how long the work may take; who hands in an item limits how long they wait,
// the time in the queue included.

import { Cancel, cancelAfter, ensure, main, type Op, sleep, TimedOut } from 'polyphony'
import { Proco } from 'polyphony/proco'

function* quick() {
  return 'just in time'
}
const endless = () =>
  ensure(
    () => sleep(),
    () => console.log('  the block was stopped'),
  )

main(function* () {
  const limited = Proco.new().start((block: () => Op<unknown>) => cancelAfter(50, block))
  console.log(yield* limited.submit(quick))
  try {
    yield* limited.submit(endless)
  } catch (error) {
    if (error instanceof Cancel) console.log('the handler gave up after 50 ms')
  }
  console.log(`and works on: ${yield* limited.submit(quick)}`)
  yield* limited.exit()

  const patient = Proco.new().start((block: () => Op<unknown>) => block())
  const first = yield* patient.submitAsync(endless)
  try {
    yield* patient.submit(quick, { timeout: 20 })
  } catch (error) {
    if (error instanceof TimedOut) console.log(`the submitter gave up: ${error.message}`)
  }
  first.cancel()
  console.log(`and works on: ${yield* patient.submit(quick, { timeout: 60_000 })}`)
  yield* patient.exit()
})
