// No descriptor and no process is left, whatever way a fiber ends that has a process.

import { exec, type SpawnProcessOptions, spawnProcess, watchProcess } from 'polyphony/io'
import {
  assert,
  describe,
  eventually,
  Fiber,
  type Op,
  type Routine,
  sleep,
  spin,
  test,
  thrownBy,
  turns,
  until,
} from '../../prelude.js'
import { descriptors } from '../../shared/outside.js'
import { descriptorsBack } from '../folder.js'
import { children, deaf, noChildren } from '../processhelpers.js'
import { realTest } from '../real.js'

const MB = 1024 * 1024

describe('none of our descriptors is left', () => {
  const all: SpawnProcessOptions = { stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe'] }
  const merged: SpawnProcessOptions = { stderr: 'merge' }
  const kinds: Record<string, () => Op<unknown>> = {
    exec: () => exec(...deaf, { input: Buffer.alloc(MB) }),
    'exec, merged': () => exec(...deaf, { ...merged, input: Buffer.alloc(MB) }),
    watchProcess: () => watchProcess(...deaf, all),
    spawnProcess: () => spawnProcess(...deaf, all),
    'spawnProcess, merged': () => spawnProcess(...deaf, merged),
    'a program that cannot be started': () => thrownBy(spawnProcess('no-such-program', [], all)),
    'one that cannot be started, merged': () => thrownBy(spawnProcess('no-such-program', [], merged)),
  }
  const ends: Record<string, (fiber: Fiber) => Op<unknown>> = {
    kill: (fiber) => fiber.kill(),
    'the end of the grace': (fiber) => fiber.stop(),
    'no grace': (fiber) => fiber.stop(undefined, { grace: 0 }),
    *error(fiber) {
      fiber.raise('enough')
      yield* thrownBy(fiber)
    },
  }
  for (const [kind, start] of Object.entries(kinds)) {
    for (const [what, end] of Object.entries(ends)) {
      // On the virtual clock: the process does not listen to SIGTERM, so its grace has to pass.
      test(`after ${what} of ${kind}`, function* () {
        const before = descriptors()
        for (const isStarted of [false, true]) {
          const fiber = spin({ link: false }, function* (): Routine<void> {
            yield* start()
            yield* sleep()
          })
          if (isStarted) yield* eventually(() => children().length > 0 || fiber.waitsFor === 'sleep()')
          yield* end(fiber)
          yield* noChildren()
          yield* descriptorsBack(before)
        }
        assert.equal(descriptors(), before)
      })
    }
  }

  realTest('after 200 execs that were cut at different moments', function* () {
    for (let i = 0; i < 200; i++) {
      const stderr = i % 2 === 0 ? 'merge' : undefined
      const fiber = spin({ link: false }, () => exec('cat', [], { input: Buffer.alloc(100_000), stderr }))
      yield* until(turns(i % 8))
      yield* i % 3 === 0 ? fiber.kill() : fiber.stop()
    }
    yield* noChildren()
  })

  realTest('after 20 merged ones at once', function* () {
    const fibers = Array.from({ length: 20 }, (_, i) => spin(() => exec('echo', [`${i}`], merged)))
    const results = yield* Fiber.await(...fibers)
    assert.deepEqual(
      results.map(({ stdout }) => stdout),
      results.map((_, i) => `${i}\n`),
    )
  })
})
