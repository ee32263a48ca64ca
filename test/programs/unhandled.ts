// Three connections of a server fail: the first error ends the program, the other two are told beside it.

import { main, sleep, spin } from 'polyphony'

main(function* () {
  yield* spin('server', function* () {
    spin('conn#1', failInCleanup, 'the second')
    spin('conn#2', failInCleanup, 'the third')
    spin('conn#3', function* () {
      yield* sleep(1)
      throw new Error('the first', { cause: new Error('a cut cable') })
    })
    yield* sleep()
  })
})

function* failInCleanup(message: string) {
  try {
    yield* sleep()
  } finally {
    // biome-ignore lint/correctness/noUnsafeFinally: a cleanup that fails is the point
    throw new Error(message)
  }
}
