// Fiber.select gives the fastest of several fibers with its value. The others are not its own, so it stops nobody;
// they end with main, in the middle of their sleep.

import { Fiber, main, sleep, spin } from 'polyphony'

const mirrors = { lima: 60_000, paris: 20, tokyo: 60_000 }

function* fetchFrom(city: string, ms: number) {
  yield* sleep(ms) // stands for the network
  return `a reply from ${city}`
}

main(function* () {
  const fibers = Object.entries(mirrors).map(([city, ms]) => spin(city, fetchFrom, city, ms))

  const [fastest, reply] = yield* Fiber.select(...fibers)
  console.log(`${fastest.name} was first: ${reply}`)
})
