// One row in a process of its own: `node --expose-gc bench/row.js rows/switch.js 0 '{"only":["ours"],"rounds":5}'`.
// Prints the figures of all rounds as JSON.
import { runRow } from './harness.js'

const [file, index, options] = process.argv.slice(2)
const { rows } = await import(`./${file}`)
const results = await runRow(rows[Number(index)], JSON.parse(options))
process.stdout.write(JSON.stringify(results), () => process.exit(0))
