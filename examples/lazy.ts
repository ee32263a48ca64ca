// `schedule` wakes a fiber from `suspend` with a value, and does not switch: the caller goes on. (It tells whether
// somebody waited; `void`, because a body that returns false would end `every`.) An argument sets the interval in
// milliseconds.

import { every, main, spin, suspend } from 'polyphony'

const interval = Number(process.argv[2] ?? 1000)

main(function* () {
  const lazy = spin('lazy', function* () {
    for (let i = 0; i < 3; i++) console.log(`Got ${yield* suspend()}`)
  })
  spin('waker', () => every(interval, () => void lazy.schedule('O hi!')))

  yield* lazy
})
