// A question with a time limit, in two ways: `moveOnAfter` gives a value of your choice when the time is up, `cancelAfter`
// throws. A line that comes too late is not lost: the next `gets` receives it. An argument sets the limit in milliseconds.

import { Cancel, cancelAfter, main, moveOnAfter, type Routine } from 'polyphony'
import { gets } from 'polyphony/io'

const patience = Number(process.argv[2] ?? 3000)

function* name(): Routine<string | undefined> {
  console.log('What is your name?')
  return yield* moveOnAfter(patience, () => gets(), 'stranger')
}

function* colour(): Routine<string | undefined> {
  console.log('What is your favourite colour?')
  try {
    return yield* cancelAfter(patience, () => gets())
  } catch (error) {
    if (!(error instanceof Cancel)) throw error
    return 'gets was cancelled'
  }
}

main(function* () {
  console.log(`Hello, ${yield* name()}`)
  console.log(`Your colour: ${yield* colour()}`)
})
