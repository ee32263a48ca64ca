// The kill matrix: which tests notice which mutant. Written as JSON for programs, and summed up for people: a test that
// notices nothing alone may go, if it is not the only one of its promise; a mutant that hangs on one test is guarded thinly.
import { writeFileSync } from 'node:fs'

/** `results` are of a run that did not stop at the first failure, `tests` all that were measured. */
export function writeMatrix(file, results, tests) {
  const byTest = new Map([...tests.keys()].map((id) => [id, { notices: 0, alone: [] }]))
  const counts = []
  for (const { mutant, all = [] } of results) {
    if (all.length > 0) counts.push(all.length)
    for (const id of all) {
      const row = byTest.get(id)
      if (row === undefined) continue // a file that could not be loaded, or a process that ended
      row.notices++
      if (all.length === 1) row.alone.push(mutant.key)
    }
  }
  const mutants = results.map(({ mutant, all = [] }) => ({ mutant: mutant.key, noticedBy: all }))
  writeFileSync(file, JSON.stringify({ tests: Object.fromEntries(byTest), mutants }, null, 1))
  const rows = [...byTest.values()]
  counts.sort((a, b) => a - b)
  console.log(
    `a mutant is noticed by ${counts[counts.length >> 1] ?? 0} tests in the median; ` +
      `${counts.filter((count) => count === 1).length} hang on one test`,
  )
  console.log(
    `of ${rows.length} tests, ${rows.filter(({ alone }) => alone.length > 0).length} are the only one for some mutant, ` +
      `${rows.filter(({ notices }) => notices === 0).length} notice none of these mutants`,
  )
}
