// S45: a deadlock under run() rejects its promise; the process goes on.

import { receive, run, spin } from 'polyphony'

try {
  await run(
    function* () {
      yield* spin('culprit', () => receive())
    },
    { name: 'stuck' },
  )
} catch (error) {
  console.log((error as { code: string }).code)
  console.log((error as Error).stack)
}
console.log('answer', await run(() => 42))
