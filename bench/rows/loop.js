// What does a round of `spinLoop` cost beside the same loop written as `for (;;)` in a fiber? In the ring 3,000 fibers, each with
// a closure of its own, pass one message on; the figure is for one fiber that passes it. The other loop does nothing but count.
import { receive, run, snooze, spin, spinLoop, suspend } from '../../dist/index.js'

const SIZE = 3000

/** Makes a ring of what `make(passOn)` gives, lets the message go round once, starts the clock, and lets it go n fibers further. */
function ring(make) {
  return async (n, clock) => {
    let left = SIZE + n
    let finish
    const finished = new Promise((resolve) => {
      finish = resolve
    })
    const passed = () => {
      left--
      if (left === n) clock.start()
      else if (left === 0) {
        clock.stop()
        finish()
      }
      return left > 0
    }
    const parent = run(function* () {
      const links = []
      for (let i = 0; i < SIZE; i++) links.push({ to: null })
      const fibers = links.map((link) => make(link, passed))
      links.forEach((link, i) => {
        link.to = fibers[(i + 1) % SIZE]
      })
      fibers[0].send('token')
      yield* suspend()
    })
    await finished
    await parent.stop()
  }
}

const looped = (link, passed) =>
  spinLoop(function* () {
    const message = yield* receive()
    if (passed()) link.to.send(message)
  })

const bare = (link, passed) =>
  spin(function* () {
    for (;;) {
      const message = yield* receive()
      if (passed()) link.to.send(message)
    }
  })

/** `spinLoop` lets the others go first between two rounds, so the loop by hand does too. */
function* bareCounter(n) {
  let left = n
  for (;;) {
    if (--left === 0) return
    yield* snooze()
  }
}
function* loopedCounter(n) {
  let left = n
  yield* spinLoop(() => --left !== 0)
}

export const rows = [
  {
    name: 'spinLoop: a ring of 3,000 closures',
    aim: { 'for (;;)': 4 },
    ours: ring(looped),
    'for (;;)': ring(bare),
  },
  {
    name: 'spinLoop: a body that does nothing',
    detail: true,
    aim: { 'for (;;)': 4 },
    ours: (n) => run(() => loopedCounter(n)),
    'for (;;)': (n) =>
      run(function* () {
        yield* spin(bareCounter, n)
      }),
  },
]
