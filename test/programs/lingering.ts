// S45: a server that is not ours keeps the process after main is over. It gets a second, is named, and the process ends.
// With "late" there is output that is not read before that second is over.

import { createServer } from 'node:net'
import { exit, main, sleep } from 'polyphony'

createServer().listen(0)
let over = 0
process.on('exit', () => console.log(`main is over after ${Math.round(performance.now() - over)} ms`))

main(function* () {
  yield* sleep(1)
  over = performance.now()
  if (process.argv[2] === 'late') {
    process.stdout.write('x'.repeat(1_000_000))
    setTimeout(() => process.stderr.write('late\n'), 1200)
  } else if (process.argv[2] !== undefined) exit(Number(process.argv[2]))
})
