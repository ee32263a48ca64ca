// Run with --expose-gc: a hundred thousand children come and go under one supervisor, which keeps nothing of them.

import { type Fiber, main, sleep, snooze, spin, supervise } from 'polyphony'
import { heapUsed } from './heapused.js'

const ROUNDS = 10
const EACH = 10_000

function* once(i: number) {
  if (i % 10 === 0) throw new Error('one of ten fails')
  return { i }
}

main(function* () {
  const refs: WeakRef<Fiber>[] = []
  const supervisor = spin('supervisor', () =>
    supervise({
      until: 'never',
      restart: 'onError',
      intensity: { restarts: Infinity },
      onDone: (fiber) => (fiber.incarnation > 1 ? 'ignore' : undefined), // the second failure is the last
    }),
  )
  yield* snooze()
  const sizes: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    for (let i = 0; i < EACH; i++) {
      const child = supervisor.spin(once, i)
      if (i % 100 === 0) refs.push(new WeakRef(child))
      if (i % 1000 === 0) yield* snooze()
    }
    while (supervisor.waitsFor !== 'supervise(0 children)') yield* sleep(1)
    sizes.push(heapUsed())
  }
  const growth = (sizes.at(-1) as number) - (sizes[2] as number)
  console.log(growth < 1_000_000 ? 'flat' : `grew by ${growth} bytes`)
  const kept = refs.filter((ref) => ref.deref() !== undefined).length
  console.log(kept <= 1 ? 'collected' : `${kept} of ${refs.length} are kept`) // the last error may hold its fiber
  yield* supervisor.stop()
})
