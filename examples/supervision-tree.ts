// A small shop as a tree of supervisors. The database loses its connection, and takes down what depends on it: restForOne.
// A till that is broken beyond repair makes its own supervisor give up; the one above starts that part of the tree anew.

import { ensure, main, printTree, type Routine, sleep, supervise } from 'polyphony'

let quality = 'broken'

/** Runs until it is stopped, and says so. */
function* service(name: string): Routine<void> {
  console.log(`  + ${name}`)
  yield* ensure(
    () => sleep(),
    () => console.log(`  - ${name}`),
  )
}

/** Loses its connection once. */
let connections = 0
function* database(): Routine<void> {
  console.log('  + database')
  if (++connections > 1) yield* sleep()
  yield* sleep(10)
  throw new Error('connection lost')
}

/** Fails at once as long as it is broken. */
function* till(): Routine<void> {
  if (quality === 'broken') throw new Error('out of paper')
  yield* service('till')
}

/** Sells. One failure too many within a second, and it gives up. */
function* sales(): Routine<void> {
  yield* supervise(
    [
      { name: 'counter', body: service, args: ['counter'] },
      { name: 'till', body: till },
    ],
    { restart: 'onError', backoff: 40, intensity: { restarts: 2, within: 1000 } },
  )
}

main(function* () {
  yield* supervise(
    [
      { name: 'clock', body: closing },
      { name: 'database', body: database },
      { name: 'catalogue', body: service, args: ['catalogue'] },
      { name: 'sales', body: sales },
    ],
    {
      restart: 'onError',
      strategy: 'restForOne', // what was started after the failed child may depend on it
      until: 'any', // when the clock has ended, all is over
      onError(error, fiber) {
        const { name, message, cause } = error as Error
        console.log(
          `${fiber.name} failed: ${cause === undefined ? message : `${name}, ${(cause as Error).message}`}`,
        )
        if (fiber.name === 'sales') quality = 'mended'
      },
    },
  )
  console.log('the shop is closed')
})

function* closing(): Routine<void> {
  yield* sleep(300)
  console.log('\nhalf an hour before closing:')
  printTree(console.log)
  console.log('')
}
