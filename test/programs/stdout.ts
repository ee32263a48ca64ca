// Standard output, as the shell sees it: node stdout.js <mode>

import { exit, main, scope, sleep, snooze, spin, until, use } from 'polyphony'
import { type IOError, stderr, stdout } from 'polyphony/io'

function broken(): never {
  throw new Error('something else')
}

const modes: Record<string, () => Generator<any, unknown, any>> = {
  *order() {
    for (let i = 0; i < 3; i++) {
      yield* stdout.write(`write ${i}`, Buffer.from('\n'))
      console.log(`log ${i}`)
    }
    yield* stderr.write('aside\n')
  },
  *many() {
    const writers = Array.from({ length: 20 }, (_, i) => spin(() => stdout.write(`${i} `)))
    for (const writer of writers) yield* writer
    yield* stdout.write('\n')
  },
  *'never closed'() {
    yield* stdout.end('ended\n')
    yield* stdout.close()
    yield* scope(() => use(stdout))
    stdout.destroy()
    yield* until(stdout[Symbol.asyncDispose]())
    yield* stdout.write('still there\n')
    console.log('for everybody')
  },
  *'slow reader'() {
    spin('clock', function* () {
      for (;;) {
        yield* sleep(5)
        process.stderr.write('tick\n')
      }
    })
    yield* stdout.write('x'.repeat(1_000_000))
  },
  *'reader goes'() {
    spin('work', function* () {
      try {
        for (let i = 0; ; i++) yield* stdout.write(`line ${i}\n`)
      } finally {
        process.stderr.write('cleaned up\n')
      }
    })
    yield* sleep()
  },
  *'reader goes, caught'() {
    try {
      for (let i = 0; ; i++) yield* stdout.write(`line ${i}\n`)
    } catch (error) {
      const { name, code, message } = error as IOError
      process.stderr.write(`${name} ${code} ${message}\n`)
    }
  },
  *'reader goes, and more goes wrong'() {
    spin(function* () {
      try {
        yield* sleep()
      } finally {
        broken()
      }
    })
    for (let i = 0; ; i++) yield* stdout.write(`line ${i}\n`)
  },
  *'stopped while it waits'() {
    const writer = spin(() => stdout.write('x'.repeat(1_000_000)))
    yield* sleep(1)
    yield* writer.stop()
    process.stderr.write('stopped\n')
  },
  *'read late'() {
    yield* snooze()
    setTimeout(() => process.stderr.write('late\n'), 1500).unref()
    process.stdout.write('x'.repeat(1_000_000))
    exit(3)
  },
}

main(modes[process.argv[2] as string] as () => Generator<any, unknown, any>)
