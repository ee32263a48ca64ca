// S45: a server that is not ours keeps the process after main is over. It gets a second, is named, and the process ends.

import { createServer } from 'node:net'
import { exit, main, sleep } from 'polyphony'

createServer().listen(0)

main(function* () {
  yield* sleep(1)
  if (process.argv[2] !== undefined) exit(Number(process.argv[2]))
  console.log('main is over')
})
