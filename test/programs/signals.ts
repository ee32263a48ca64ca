// One program for each thing that signals do: node signals.js stop | busy | trap | ... Each says 'ready' when it may be sent
// a signal. Where the time between two signals counts, the program sends the later ones to itself, or plays them.

import {
  awaitSignal,
  exit,
  Fiber,
  isStop,
  main,
  type Routine,
  receive,
  run,
  sleep,
  snooze,
  spin,
  suspend,
  trap,
} from 'polyphony'

const say = (text: string) => console.log(text)
const send = (signal: string) => process.kill(process.pid, signal)
const listeners = () =>
  ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'].map((signal) => process.listenerCount(signal)).join(' ')
const later = (ms: number, act: () => void) => setTimeout(act, ms)
/** As if it had come, at this very moment. */
const play = (signal: NodeJS.Signals) => process.emit(signal, signal)
/** Waits for ever; when it is stopped, it does something at once. */
function* thenAt(act: () => void): Routine<void> {
  try {
    yield* sleep()
  } finally {
    act()
  }
}

/** Its waiting cleanup takes so long, its synchronous cleanup comes last. */
function* cleaner(
  name: string,
  ms: number,
  body: () => Routine<void> = waitForEver,
  last = () => say(`${name} over`),
): Routine<void> {
  try {
    yield* body()
  } finally {
    try {
      yield* sleep(ms)
      say(`${name} cleaned up: ${Fiber.current.stopReason}`)
    } finally {
      last()
    }
  }
}

function* waitForEver(): Routine<void> {
  yield* sleep()
}

function* ready(): Routine<void> {
  say('ready')
  yield* sleep()
}

function* busy(): Routine<never> {
  for (;;) yield* snooze()
}

/** Has a worker with a long cleanup, is sent a signal, and a SIGINT when that cannot be its echo. */
function* twice(first: string): Routine<void> {
  spin('worker', cleaner, 'worker', 60_000)
  yield* snooze()
  send(first)
  yield* thenAt(() => later(350, () => send('SIGINT')))
}

const programs: Record<string, () => void> = {
  stop() {
    main(function* () {
      spin('outer', cleaner, 'outer', 10, function* () {
        spin('inner', cleaner, 'inner', 5)
        yield* sleep()
      })
      yield* snooze()
      yield* snooze()
      try {
        yield* ready()
      } catch (thrown) {
        say(`main sees ${isStop(thrown)} ${Fiber.current.stopReason}`)
        throw thrown
      }
    })
  },

  busy() {
    main(function* () {
      const spinners = [1, 2, 3].map(() => spin(busy))
      spin('worker', cleaner, 'worker', 5)
      yield* snooze()
      say('ready')
      yield* Fiber.await(...spinners)
    })
  },

  second() {
    main(() => twice('SIGINT'))
  },

  'second-after-term'() {
    main(() => twice('SIGTERM'))
  },

  'second-kills-runs'() {
    main(function* () {
      void run(() => cleaner('beside', 60_000))
      yield* sleep(5)
      yield* twice('SIGINT')
    })
  },

  echo() {
    main(function* () {
      spin('worker', cleaner, 'worker', 5)
      yield* snooze()
      send('SIGINT')
      yield* thenAt(() => {
        play('SIGINT')
        play('SIGINT')
      })
    })
  },

  'echo-after-the-end'() {
    main(function* () {
      send('SIGINT')
      yield* thenAt(() => {
        setImmediate(() => send('SIGINT')) // main is dead by then
        later(50, () => say('drained'))
      })
    })
  },

  terms() {
    main(function* () {
      spin('worker', cleaner, 'worker', 700)
      yield* snooze()
      send('SIGTERM')
      yield* thenAt(() => {
        later(350, () => send('SIGTERM'))
        later(400, () => send('SIGHUP'))
      })
    })
  },

  third() {
    let left = 10
    const slowly = () => {
      for (const start = performance.now(); performance.now() - start < 100; );
      left--
    }
    process.on('exit', () => say(left > 0 ? 'cut short' : 'not cut short'))
    main(function* () {
      for (let i = left; i > 0; i--) spin(cleaner, 'worker', 60_000, waitForEver, slowly)
      yield* snooze()
      send('SIGINT')
      yield* thenAt(() =>
        later(350, () => {
          play('SIGINT')
          later(350, () => play('SIGINT'))
        }),
      )
    })
  },

  lingers() {
    main(function* () {
      setInterval(() => {}, 1000) // would keep the process for a second after main
      send('SIGTERM')
      yield* thenAt(() => later(350, () => play('SIGTERM')))
    })
  },

  'main-again'() {
    main(function* () {
      send('SIGINT')
      yield* thenAt(() => later(350, () => main(() => cleaner('second', 5, ready))))
    })
  },

  'stop-beside-trap'() {
    main(function* () {
      trap('INT', () => {})
      yield* ready()
    })
  },

  'cleanup-fails'() {
    main(function* () {
      try {
        yield* ready()
      } finally {
        // biome-ignore lint/correctness/noUnsafeFinally: a cleanup that fails is the point
        throw new Error('cleanup went wrong')
      }
    })
  },

  'carries-on'() {
    main(function* () {
      try {
        yield* ready()
      } catch {
        yield* sleep(5)
      }
      say('main returns')
      return 'a value'
    })
  },

  'exit-in-cleanup'() {
    main(function* () {
      try {
        yield* ready()
      } finally {
        exit(5)
      }
    })
  },

  'exit-before'() {
    main(function* () {
      exit(6)
      try {
        yield* sleep()
      } finally {
        send('SIGINT')
        yield* sleep(20)
        say(`cleaned up: ${Fiber.current.stopReason}`)
      }
    })
  },

  'exit-code-set'() {
    main(function* () {
      process.exitCode = 4
      yield* ready()
    })
  },

  grace() {
    main(() => cleaner('main', 60_000, ready), { grace: 20 })
  },

  trap() {
    main(function* () {
      const me = Fiber.current
      const remove = trap('usr2', function* (signal) {
        yield* sleep(5)
        me.send(`${signal} in ${Fiber.current.name}, parent ${Fiber.current.parent}`)
      })
      say('ready')
      say(yield* receive())
      say('ready again')
      say(yield* receive())
      remove()
      say(listeners())
    })
  },

  'trap-int'() {
    main(function* () {
      const me = Fiber.current
      const remove = trap('INT', () => me.schedule('trapped'))
      say('ready')
      say(String(yield* suspend()))
      remove()
      yield* sleep(350) // past the echo
      say('removed')
      yield* sleep()
    })
  },

  'trap-busy'() {
    main(function* () {
      const order: string[] = []
      trap('TERM', () => order.push('TERM'))
      trap('USR2', () => order.push('USR2 first'))
      trap('USR2', () => order.push('USR2 second'))
      for (let i = 0; i < 3; i++) spin(busy)
      say('ready')
      while (order.length < 3) yield* snooze()
      say(order.sort().join(', '))
    })
  },

  'trap-fails'() {
    main(function* () {
      trap('USR2', function* () {
        yield* sleep(1)
        throw new Error('the handler failed')
      })
      const other = spin(function* () {
        yield* sleep(20)
        return 'not disturbed'
      })
      try {
        send('SIGUSR2')
        yield* sleep()
      } catch (error) {
        say(`main caught: ${(error as Error).message}`)
      }
      say(yield* other)
    })
  },

  'trap-fails-uncaught'() {
    main(function* () {
      trap('USR2', () => {
        throw new Error('the handler failed')
      })
      yield* ready()
    })
  },

  'trap-fails-in-run'() {
    void run(function* () {
      trap('USR2', () => {
        throw new Error('the handler failed')
      })
      send('SIGUSR2')
      yield* awaitSignal('USR2')
      yield* sleep(1)
      say('the run goes on')
    })
  },

  'trap-outside'() {
    trap('USR2', (signal) => say(`got ${signal}`))
    main(function* () {
      send('SIGUSR2')
      yield* awaitSignal('USR2')
      say(listeners())
      later(0, () => say(listeners()))
    })
  },

  'trap-outside-holds'() {
    const remove = trap('USR2', (signal) => {
      say(`got ${signal}`)
      remove()
    })
    say('ready')
  },

  'trap-run'() {
    void run(function* () {
      const me = Fiber.current
      trap('TERM', () => me.schedule('trapped'))
      say(listeners())
      say('ready')
      say(String(yield* suspend()))
    }).then(() => say(listeners()))
  },

  'handler-at-the-end'() {
    main(function* () {
      trap('USR2', () => cleaner('handler', 5))
      send('SIGUSR2')
      yield* awaitSignal('USR2')
      yield* sleep(1) // the handler has begun
      say('main returns')
    })
  },

  await() {
    main(function* () {
      spin('worker', cleaner, 'worker', 5)
      yield* snooze()
      say('ready')
      say(`got ${yield* awaitSignal('INT', 'term')}, quitting`)
    })
  },

  'await-echo'() {
    main(function* () {
      spin('worker', cleaner, 'worker', 5, () => thenAt(() => play('SIGINT')))
      yield* snooze()
      later(0, () => send('SIGINT'))
      say(`got ${yield* awaitSignal('INT')}`)
      play('SIGINT')
      setImmediate(() => setImmediate(() => play('SIGINT')))
      later(50, () => process.stderr.write('drained\n')) // before or after the worker
    })
  },

  'await-then-stop'() {
    main(function* () {
      later(20, () => send('SIGINT'))
      say(`got ${yield* awaitSignal('INT')}`)
      yield* sleep(350)
      say('ready')
      yield* cleaner('main', 5)
    })
  },

  'await-holds'() {
    void run(function* () {
      say(listeners())
      later(0, () => {
        say(listeners())
        say('ready')
      })
      say(`got ${yield* awaitSignal('HUP', 'USR2')}`)
      say(listeners())
    })
  },

  'run-installs-nothing'() {
    void run(function* () {
      say(listeners())
      yield* ready()
    })
  },

  'main-installs'() {
    main(function* () {
      say(listeners())
      yield* sleep(1)
      later(0, () => say(listeners()))
    })
  },

  'before-main'() {
    say('ready')
    setTimeout(() => main(() => cleaner('main', 5)), 60_000)
  },

  tree() {
    main(
      function* () {
        spin('clock', () => sleep(60_000))
        spin('busy', busy)
        spin('inbox', () => receive())
        yield* snooze() // all have begun
        yield* ready()
      },
      { treeOn: 'usr2' },
    )
  },

  'tree-holds-nothing'() {
    main(
      function* () {
        say(listeners())
        yield* suspend() // returns when nothing else is left
        later(0, () => say(listeners()))
      },
      { treeOn: 'SIGUSR2' },
    )
  },
}

const mode = process.argv[2] as string
if (programs[mode] === undefined) throw new Error(`there is no program ${mode}`)
programs[mode]()
