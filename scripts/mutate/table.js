// Writes docs/mutants.md: which test notices each mutant that was written by hand, and the survivors with their reasons.
import { writeFileSync } from 'node:fs'
import { explain } from './explained.js'

export function writeTable(results) {
  const cell = (text) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;')
  const nameOf = (by) => (by === null ? '**nothing**' : cell(by.split(' > ').slice(1).join(' > ')))
  const rules = results
    .filter(({ mutant }) => mutant.rule !== undefined)
    .map(({ mutant, by }) => `| ${mutant.rule} | ${cell(mutant.breaks)} | ${nameOf(by)} |`)
  const operated = results.filter(({ mutant }) => mutant.rule === undefined)
  const survivors = operated.filter(({ by }) => by === null)
  const reasons = new Map()
  for (const { mutant } of survivors) {
    const why = explain(mutant) ?? 'not explained'
    reasons.set(why, (reasons.get(why) ?? 0) + 1)
  }
  const rows = [...reasons].sort((a, b) => b[1] - a[1]).map(([why, count]) => `| ${count} | ${cell(why)} |`)
  writeFileSync(
    'docs/mutants.md',
    `# Which test guards which rule

Written by \`npm run mutate -- --write\`. Each line of the first table is one way to break the library on purpose, and the
first test that fails then. The list is in [scripts/mutate/hand.js](../scripts/mutate/hand.js), the rules are in
[semantics.md](semantics.md). A rule may have many more tests; these are the ones that were seen to fail.

| rule | what was broken | the test that noticed |
|---|---|---|
${rules.join('\n')}

## Mutants made by operators

${operated.length} mutants, ${operated.length - survivors.length} noticed, ${survivors.length} survive. Why each survivor may is in
[scripts/mutate/explained.js](../scripts/mutate/explained.js); in short:

| mutants | why no test notices them |
|---:|---|
${rows.join('\n')}
`,
  )
}
