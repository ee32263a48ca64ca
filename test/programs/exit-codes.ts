// One program for each way to end: node exit-codes.js value | error | exit | ...

import { exit, main, sleep, spin, suspend } from 'polyphony'

const programs: Record<string, () => Generator<any, unknown, any>> = {
  *value() {
    spin(function* () {
      try {
        yield* sleep()
      } finally {
        yield* sleep(20)
        console.log('child cleaned up')
      }
    })
    yield* sleep(1)
    console.log('main returns')
    return 42
  },

  *error() {
    yield* sleep(1)
    throw new Error('no such luck')
  },

  *exit() {
    spin('worker', function* () {
      try {
        yield* suspend()
      } finally {
        yield* sleep(20)
        console.log('worker cleaned up')
      }
    })
    try {
      yield* sleep(1)
      exit(7)
      yield* sleep()
    } finally {
      yield* sleep(20)
      console.log('main cleaned up')
    }
  },

  /** An error outweighs the stop that exit makes: people must hear of it. */
  *'exit-cleanup-fails'() {
    try {
      exit(7)
      yield* sleep()
    } finally {
      // biome-ignore lint/correctness/noUnsafeFinally: a cleanup that fails is the point
      throw new Error('cleanup went wrong')
    }
  },

  *'exit-from-child'() {
    spin(function* () {
      yield* sleep(1)
      exit(3)
    })
    yield* sleep()
  },

  *'non-error'() {
    throw 'just a string'
  },
}

main(programs[process.argv[2] as string] as any)
