// Sends signals at random moments to programs that are busy with fibers and cleanup: whatever the moment, the exit code is that of
// the first signal, and everybody who has begun has cleaned up. As a program: node signals-at-random.js [times] [seed]

import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'
import { ended, random } from '../prelude.js'

const file = fileURLToPath(new URL('./signal-tree.js', import.meta.url))
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

interface Told {
  readonly seed: number
  /** What was tried, in a sentence. */
  readonly told: string
  readonly faults: string[]
}

/** One program. The second signal, if any, comes at a random moment too: an echo, or a request to hurry. */
async function once(chance: () => number): Promise<{ fault: string | undefined; began: number }> {
  const pick = () => SIGNALS[Math.floor(chance() * SIGNALS.length)] as (typeof SIGNALS)[number]
  const first = pick()
  const second = chance() < 0.5 ? pick() : undefined
  const delay = chance() < 0.2 ? 0 : chance() * 60
  const gap = chance() * 20
  const child = spawn(process.execPath, [file], { timeout: 30_000, killSignal: 'SIGKILL' })
  child.stdout.once('data', () => {
    setTimeout(() => {
      child.kill(first)
      if (second !== undefined) setTimeout(() => child.kill(second), gap)
    }, delay)
  })
  const { code, stdout, stderr } = await ended(child)
  const lines = stdout.split('\n')
  const names = (sign: string) => lines.filter((line) => line.startsWith(sign)).map((line) => line.slice(2))
  const missing = names('+ ').filter((name) => !names('- ').includes(name))
  // Two signals that come together may be seen in either order. And the second may come when Node is gone already, after
  // the last line: then the system ends what is left of the process.
  const expected = [first, second ?? first].map((signal) => 128 + constants.signals[signal])
  const said = Number(/^exit (\d+)$/.exec(lines.at(-2) as string)?.[1])
  const isRight =
    expected.includes(said) &&
    (code === said || (second !== undefined && child.signalCode === second)) &&
    missing.length === 0 &&
    names('- ').length === names('+ ').length &&
    stderr.split('\n').filter((line) => line.includes(': stopping, ')).length === 1 &&
    !stderr.includes('kept open')
  const what = `${first} after ${delay.toFixed()} ms${second ? `, ${second} ${gap.toFixed()} ms later` : ''}`
  const fault = isRight
    ? undefined
    : `${what}: code ${code}, no end of [${missing}], said:\n${stderr}${stdout.slice(-500)}`
  return { fault, began: names('+ ').length }
}

export async function signalsAtRandom(times: number, seed = Math.floor(Math.random() * 1e9)): Promise<Told> {
  const chance = random(seed)
  const faults: string[] = []
  let began = 0
  for (let done = 0; done < times; done += 2) {
    // Two at a time: their moments differ more when they compete for the processor.
    for (const one of await Promise.all([once(chance), once(chance)])) {
      began += one.began
      if (one.fault !== undefined) faults.push(one.fault)
    }
  }
  return { seed, told: `${times} programs ended by signals, ${began} cleanups seen`, faults }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [times = '500', seed] = process.argv.slice(2)
  const {
    told,
    faults,
    seed: used,
  } = await signalsAtRandom(Number(times), seed === undefined ? undefined : Number(seed))
  for (const fault of faults) console.log(fault)
  console.log(`seed ${used}: ${told}, ${faults.length} faults`)
  process.exitCode = faults.length === 0 ? 0 : 1
}
