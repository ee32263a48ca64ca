// What does the tap cost when nobody listens? The same loop of switches with the library as it is, and with a copy of it
// in which every question "does anybody listen?" is asked ten times more, each time of another variable. The figure is a
// tenth of the difference, for one switch. (To cut the question out and compare is no use: two equal copies differ by
// more than it costs, by the luck of compilation.)
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { median } from '../harness.js'

const dist = fileURLToPath(new URL('../../dist', import.meta.url))
const MORE = 10
const names = Array.from({ length: MORE }, (_, i) => `tapped${i}`)

/** Asks ten times more: the tap gets ten more variables, and so does everybody who asks. */
function askMore(code, file) {
  if (file === 'tap.js') {
    const all = (name) => names.map((more) => `${more} = ${name};`).join(' ')
    return code
      .replace(
        'export let tapped = false;',
        `$& export let ${names.map((name) => `${name} = false`).join(', ')};`,
      )
      .replace('tapped = true;', `$& ${all('tapped')}`)
      .replace('tapped = listeners.size > 0;', `$& ${all('tapped')}`)
  }
  return code
    .replace(/\btapped\b(?=[^;]*from '.\/tap\.js')/, `tapped, ${names.join(', ')}`)
    .replace(/if \(tapped\)\s*(emit\([^;]*\);)/g, (_, emit) => {
      return `{ if (tapped) ${emit} ${names.map((name) => `if (${name}) ${emit}`).join(' ')} }`
    })
}

/** A copy of the library, each file of its core changed by `change`. */
async function copyOf(change) {
  const home = mkdtempSync(join(tmpdir(), 'polyphony-bench-'))
  try {
    cpSync(dist, home, { recursive: true })
    writeFileSync(join(home, 'package.json'), '{"type": "module"}')
    for (const name of readdirSync(join(home, 'core'))) {
      if (!name.endsWith('.js')) continue
      const file = join(home, 'core', name)
      const before = readFileSync(file, 'utf8')
      const after = change(before, name)
      if (change === askMore && after === before && /\btapped\b/.test(before)) {
        throw new Error(`the tap in ${name} has an unknown form`)
      }
      writeFileSync(file, after)
    }
    return await import(pathToFileURL(join(home, 'index.js')).href)
  } finally {
    rmSync(home, { recursive: true })
  }
}

/** A loop of switches. Made from source for each copy, so that they share no type feedback. */
function switcher({ run, snooze }) {
  const make = new Function(
    'run',
    'snooze',
    'function* loop(n) { for (let i = 0; i < n; i++) yield* snooze() }; return (n) => run(() => loop(n))',
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
    rounds: 1,
    processes: 5,
    slow: true,
    ours: async (n) => {
      const whole = switcher(await copyOf((code) => code))
      const more = switcher(await copyOf(askMore))
      const differences = []
      for (let round = -4; round < 20; round++) {
        const before = await nsOf(whole, n)
        const difference = (await nsOf(more, n)) - before
        if (round >= 0) differences.push(difference / MORE)
      }
      return median(differences)
    },
  },
]
