// Two ways to end: `exit` handles what is left, `kill` does not wait for anything. After either it may be started again.

import { Event, main, sleep, spin } from 'polyphony'
import { NotRunning, Proco } from 'polyphony/proco'

const proco = new Proco<string>({ name: 'shop' })

function tryIn(item: string): void {
  try {
    proco.trySubmit(item)
  } catch (error) {
    if (error instanceof NotRunning) console.log(`  ${item}: ${error.message}`)
  }
}

main(function* () {
  console.log(`before the start: ${proco.state}`)
  tryIn('zero')

  proco.start(function* (item) {
    yield* sleep(1) // stands for the work
    console.log(`  handled ${item}`)
  })
  for (const item of ['one', 'two', 'three']) yield* proco.submitAsync(item)
  console.log(`started: ${proco.state}`)
  spin(() => {
    console.log(`told to exit: ${proco.state}`)
    tryIn('four')
  })
  yield* proco.exit()
  console.log(`after exit: ${proco.state}`)
  tryIn('five')

  const [busy, gone] = [new Event(), new Event()]
  proco.start(function* (item) {
    try {
      console.log(`  busy with ${item}`)
      busy.signal()
      yield* sleep()
    } finally {
      console.log(`  dropped ${item}`) // cleanup runs, but may not wait
      gone.signal()
    }
  })
  const futures = [yield* proco.submitAsync('six'), yield* proco.submitAsync('seven')]
  console.log(`started again: ${proco.state}`)
  yield* busy.await()
  proco.kill()
  console.log(`after kill: ${proco.state}, ${futures.map((future) => future.state)}`)
  yield* gone.await()
  for (const future of futures) {
    try {
      yield* future.get()
    } catch (error) {
      console.log(`  ${error}`)
    }
  }
})
