// A megabyte goes through a pipe whole, however the program ends: node flush.js value | exit | error

import { exit, main, sleep } from 'polyphony'

main(function* () {
  for (let i = 0; i < 1024; i++) process.stdout.write(`${'x'.repeat(1023)}\n`)
  if (process.argv[2] === 'error') throw new Error('after all that')
  if (process.argv[2] === 'exit') {
    exit(5)
    yield* sleep()
  }
})
