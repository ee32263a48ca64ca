// A process that crashes is started again. Return ends the program, and the process with it: asked first, killed if it
// does not listen.

import { main, spin, supervise } from 'polyphony'
import { gets, watchProcess } from 'polyphony/io'

/** For the shell: crashes twice, then works until it is asked to end. Its argument says which time it is. */
const program = `
  trap 'echo "worker $1: goodbye"; exit' TERM
  echo "worker $1: at work"
  [ "$1" -lt 3 ] && kill -KILL $$
  sleep 1000 & wait`

let starts = 0
/** A crash is an error here, so that the supervisor can tell it. */
const worker = () => watchProcess('sh', ['-c', program, 'sh', `${++starts}`], { check: true, grace: 2000 })

main(function* () {
  console.log('Press return to stop this program')
  spin('supervisor', () =>
    supervise([{ name: 'worker', body: worker }], {
      restart: 'always',
      onError: (error) => console.log(`crashed: ${(error as Error).message}`),
    }),
  )
  yield* gets()
})
