// exit() says what is wrong with its argument, and that it needs a main.

import { exit, main } from 'polyphony'

attempt(() => exit(1))
main(function* () {
  attempt(() => exit(256))
  attempt(() => exit(1.5))
  attempt(() => main(function* () {}))
})

function attempt(action: () => void): void {
  try {
    action()
    console.log('nothing thrown')
  } catch (error) {
    console.log((error as { code: string }).code, (error as Error).message)
  }
}
