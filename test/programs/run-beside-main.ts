// run() works many times, at once and one after the other, inside callbacks and beside main.

import { Fiber, main, run, sleep, until } from 'polyphony'

function* square(n: number) {
  yield* sleep(n % 5)
  return n * n
}
const sum = (numbers: number[]) => numbers.reduce((a, b) => a + b, 0)
const many = () => Promise.all(Array.from({ length: 100 }, (_, n) => run(() => square(n))))

console.log('before main', sum(await many()))

main(function* () {
  console.log('beside main', sum(yield* until(many())))
  const inCallback = new Promise<string>((resolve, reject) => {
    setTimeout(() => run(() => Fiber.current.path).then(resolve, reject), 1)
  })
  console.log('in a callback', yield* until(inCallback))
  try {
    yield* until(
      run(function* () {
        throw new Error('only this run fails')
      }),
    )
  } catch (error) {
    console.log((error as Error).message)
  }
  let total = 0
  for (let n = 0; n < 10; n++) total += yield* until(run(() => square(n)))
  console.log('one after the other', total)
})
