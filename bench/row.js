// Runs one row, or several one after the other, in a process apart from the others:
// `node --expose-gc bench/row.js '{"jobs":[{"file":"switch.js","index":0,"only":["ours"]}],"rounds":5}'`.
// Prints the figures of all rounds as JSON, a list for each job.
import { runRow } from './harness.js'

const { jobs, ...options } = JSON.parse(process.argv[2])
const answers = []
for (const { file, index, only } of jobs) {
  const { rows } = await import(`./rows/${file}`)
  try {
    answers.push(await runRow(rows[index], { ...options, only }))
  } catch (error) {
    throw new Error(`bench: the row '${rows[index].name}' failed`, { cause: error })
  }
}
process.stdout.write(JSON.stringify(answers), () => process.exit(0))
