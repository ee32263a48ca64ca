// Runs one row, or several one after the other, in a process apart from the others:
// `node --expose-gc bench/row.js '{"jobs":[{"file":"switch.js","index":0,"only":["ours"]}],"rounds":5}'`.
// Prints the figures of all rounds as JSON, a list for each job. With `homes`, two copies of the bench, the contestants are "before"
// and "after": what the first copy has as "ours", and what the second has (compare.js).
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { runRow } from './harness.js'

const { jobs, homes, ...options } = JSON.parse(process.argv[2])
const answers = []
for (const { file, index, only } of jobs) {
  const row = homes === undefined ? await rowOf(file, index) : await pairOf(file, index, only)
  try {
    answers.push(await runRow(row, { ...options, only }))
  } catch (error) {
    throw new Error(`bench: the row '${row.name}' failed`, { cause: error })
  }
}
process.stdout.write(JSON.stringify(answers), () => process.exit(0))

async function rowOf(file, index, home) {
  const url = home === undefined ? `./rows/${file}` : pathToFileURL(join(home, 'bench/rows', file)).href
  return (await import(url)).rows[index]
}

/** The builds are loaded in the order in which they take part. */
async function pairOf(file, index, only) {
  const pair = {}
  for (const build of only) pair[build] = await rowOf(file, index, homes[build === 'before' ? 0 : 1])
  const [row] = Object.values(pair)
  const n = typeof row.n === 'object' ? (row.n.ours ?? row.n.else) : row.n
  return { ...row, n, ...Object.fromEntries(only.map((build) => [build, pair[build].ours])) }
}
