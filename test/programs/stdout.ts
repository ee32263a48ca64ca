// Standard output, as the shell sees it: node stdout.js <mode>

import { exit, main, scope, sleep, snooze, spin, until, use } from 'polyphony'
import { stderr, stdout } from 'polyphony/io'

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
  *'never closed'() {
    yield* stdout.end('ended\n')
    yield* stdout.close()
    yield* scope(() => use(stdout))
    stdout.destroy()
    yield* until(stdout[Symbol.asyncDispose]())
    yield* stdout.write('still there\n')
    console.log('for everybody')
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
  *'read late'() {
    yield* snooze()
    setTimeout(() => process.stderr.write('late\n'), 1500).unref()
    process.stdout.write('x'.repeat(1_000_000))
    exit(3)
  },
}

main(modes[process.argv[2] as string] as () => Generator<any, unknown, any>)
