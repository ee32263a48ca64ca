// Callback APIs as ops: a child process and a name lookup, through action. Each says once how to start the work and how
// to take it back; after that they can be limited, stopped and raced like anything else.

import { execFile } from 'node:child_process'
import { lookup } from 'node:dns'
import { action, main, moveOnAfter } from 'polyphony'

/** Runs a little program and gives what it prints. Whoever leaves kills it. */
const node = (code: string) =>
  action<string>((settle, fail) => {
    const child = execFile(process.execPath, ['-e', code], (error, stdout) => {
      if (error) fail(error)
      else settle(stdout.trim())
    })
    return () => child.kill()
  })

/** A lookup cannot be taken back, so there is nothing to return: a late answer finds nobody. */
const addressOf = (host: string) =>
  action<string>((settle, fail) => {
    lookup(host, { family: 4 }, (error, address) => {
      if (error) fail(error)
      else settle(address)
    })
  })

main(function* () {
  console.log(`2 to the power of 10 is ${yield* node('console.log(2 ** 10)')}`)
  console.log(
    yield* moveOnAfter(100, () => node('setInterval(() => {}, 1000)'), 'that one never ends: killed'),
  )
  try {
    yield* node('process.exit(3)')
  } catch (error) {
    console.log(`exit code ${(error as { code?: unknown }).code}`)
  }
  console.log(`localhost is ${yield* addressOf('localhost')}`)
})
