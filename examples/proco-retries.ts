// Blocks that fail are tried again by the handler: three times in all, then the error is the result.

import { main, type Routine, retry, sleep } from 'polyphony'
import { Proco } from 'polyphony/proco'

/** Fails so many times before it works. */
function flaky(name: string, failures: number) {
  let tries = 0
  return function* (): Routine<string> {
    yield* sleep(1)
    if (++tries <= failures) {
      console.log(`  ${name}: try ${tries} failed`)
      throw new Error(`${name} is out of order`)
    }
    return `${name} works at try ${tries}`
  }
}

main(function* () {
  const proco = Proco.new().start((block: () => Routine<string>) =>
    retry(block, { times: 3, backoff: { delay: 1, factor: 2 } }),
  )
  for (const block of [flaky('printer', 0), flaky('scanner', 2), flaky('fax', 9)]) {
    try {
      console.log(yield* proco.submit(block))
    } catch (error) {
      console.log(`${error}`)
    }
  }
  yield* proco.exit()
})
