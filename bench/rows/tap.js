// What does the tap cost when nobody listens? The same loop of switches with the library as it is, and with a copy of it
// from which the calls of the tap were cut out. The figure is the difference for one switch. Two copies of the same code
// differ by a nanosecond or two as well, by the luck of compilation, hence several processes.
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { median } from '../harness.js'

const dist = fileURLToPath(new URL('../../dist', import.meta.url))

/** A copy of the library, each file changed by `change`. */
async function copyOf(change) {
  const home = mkdtempSync(join(tmpdir(), 'polyphony-bench-'))
  try {
    cpSync(dist, home, { recursive: true })
    writeFileSync(join(home, 'package.json'), '{"type": "module"}')
    let changed = 0
    for (const name of readdirSync(join(home, 'core'))) {
      if (!name.endsWith('.js')) continue
      const file = join(home, 'core', name)
      const before = readFileSync(file, 'utf8')
      const after = change(before)
      if (after !== before) changed++
      writeFileSync(file, after)
    }
    return { library: await import(pathToFileURL(join(home, 'index.js')).href), changed }
  } finally {
    rmSync(home, { recursive: true })
  }
}

const cutTap = (code) => code.replace(/(else )?if \(tapped\)\s*emit\([^;]*\);/g, '$1;')

/** A function that switches n times. Made of its own source for each copy, so that they share no type feedback. */
function switcher({ run, snooze }) {
  const make = new Function(
    'run',
    'snooze',
    'return (n) => run(function* () { for (let i = 0; i < n; i++) yield* snooze() })',
  )
  return make(run, snooze)
}

async function nsOf(operation, n) {
  globalThis.gc?.({ type: 'minor' })
  const begin = process.cpuUsage()
  await operation(n)
  const { user, system } = process.cpuUsage(begin)
  return ((user + system) * 1000) / n
}

export const rows = [
  {
    name: 'the tap when nobody listens, for each switch',
    aim: { most: 2 },
    unit: 'ns more',
    n: 3e5,
    smoke: 100,
    rounds: 1,
    processes: 5,
    ours: async (n) => {
      const whole = await copyOf((code) => code)
      const cut = await copyOf(cutTap)
      if (cut.changed < 2) throw new Error('the tap was not found in dist/core; has its form changed?')
      const withTap = switcher(whole.library)
      const without = switcher(cut.library)
      const differences = []
      for (let round = -5; round < 40; round++) {
        // now this one first, now the other
        const first = await nsOf(round % 2 === 0 ? withTap : without, n)
        const second = await nsOf(round % 2 === 0 ? without : withTap, n)
        if (round >= 0) differences.push(round % 2 === 0 ? first - second : second - first)
      }
      return median(differences)
    },
  },
]
