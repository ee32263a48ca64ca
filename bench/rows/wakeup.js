// How many turns of the runtime does it take to wake a fiber that sleeps? One is enough; more are empty, and cost CPU time for
// nothing. Node's timers ring up to a millisecond early now and then, and then a turn more is needed.
import { run, runtimeStats, sleep } from '../../dist/index.js'

function* sleepers(n) {
  const before = runtimeStats().turns
  for (let i = 0; i < n; i++) yield* sleep(2)
  return (runtimeStats().turns - before) / n
}

export const rows = [
  {
    name: 'turns for each timer that wakes a fiber',
    aim: { most: 1.1 },
    unit: 'turns',
    n: 300,
    rounds: 3,
    ours: (n) => run(() => sleepers(n)),
  },
]
