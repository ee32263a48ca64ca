// Proco without fibers: async functions, `await using`, AbortSignal. Rows that are inserted at the same time go to the
// database in one statement, and each has its own outcome.

import { setTimeout as delay } from 'node:timers/promises'
import { Cancel, TimedOut } from 'polyphony'
import { Proco, type Work } from 'polyphony/proco'

interface User {
  id: number
  name: string
}

/** A table with a unique index. One statement takes its time, for one row or for a hundred. */
const table = new Map<string, User>()
let statements = 0

async function insertAll(names: string[], { signal }: Work): Promise<(User | Error)[]> {
  statements++
  await delay(names.includes('slow') ? 60_000 : 5, undefined, { signal })
  return names.map((name) => {
    if (table.has(name)) return new Error(`${name} is there already`)
    const user = { id: table.size + 1, name }
    table.set(name, user)
    return user
  })
}

const show = (error: unknown) => console.log(`  ${(error as Error).message}`)

{
  await using users = Proco.batch(true).results('each').new<string, User>({ name: 'users' }).start(insertAll)

  console.log('one at a time')
  console.log(`  ${(await users.submit('ann')).id}`)

  console.log('many at a time')
  const names = Array.from({ length: 50 }, (_, n) => `user ${n}`)
  const outcomes = await Promise.allSettled([...names, 'ann', 'bob'].map((name) => users.submit(name)))
  const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
  console.log(`  ${outcomes.length - failures.length} inserted, ${failures.length} failed`)
  failures.forEach(show)
  console.log(`  statements: ${statements}`)

  console.log('not for ever')
  await users.submit('slow', { timeout: 20 }).catch((error) => {
    if (error instanceof TimedOut) console.log('  slow: gave up after 20 ms')
  })
  const controller = new AbortController()
  const request = users.submit('never mind', { signal: controller.signal }).catch((error) => {
    if (error instanceof Cancel) show(error)
  })
  controller.abort('the client has gone')
  await request

  // Accepted, and not waited for: the end of this block does, for it exits.
  await users.submitAsync('cho')
}
console.log(`${table.size} rows; cho is there: ${table.has('cho')}`)
