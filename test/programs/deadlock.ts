// S33: every fiber waits for something that can never come.

import { Fiber, main, receive, spin, suspend, until } from 'polyphony'

main(function* () {
  const culprit = spin('culprit', () => receive())
  spin('bystander', () => suspend())
  const promised = spin('promised', () => until(new Promise(() => {})))
  yield* Fiber.await(culprit, promised)
})
