// Callbacks need no support: an item that is an object brings along what is to be called in the end.

import { main, type Routine } from 'polyphony'
import { Proco } from 'polyphony/proco'

interface Job {
  task: () => unknown
  complete?: (result: unknown) => unknown
  error?: (error: unknown) => unknown
}

function* handle({ task, complete, error: failed }: Job): Routine<unknown> {
  try {
    const result = task()
    return complete ? complete(result) : result
  } catch (error) {
    if (!failed) throw error
    return failed(error)
  }
}

function divide(dividend: number, divisor: number): number {
  if (divisor === 0) throw new RangeError('division by zero')
  return dividend / divisor
}

main(function* () {
  const proco = Proco.new().start(handle)
  const complete = (result: unknown) => console.log(`we got ${result}`)
  const error = (error: unknown) => console.log(`oh: ${error}`)

  yield* proco.submitAsync({ task: () => divide(81, 3), complete, error })
  yield* proco.submitAsync({ task: () => divide(81, 0), complete, error })

  // Who gives no callbacks asks the future.
  const quiet = yield* proco.submitAsync({ task: () => divide(1, 4) })
  const broken = yield* proco.submitAsync({ task: () => divide(1, 0) })
  yield* proco.exit()
  console.log(`quiet: ${yield* quiet.get()}; broken: ${broken.state}`)
})
