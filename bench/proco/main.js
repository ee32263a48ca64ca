// npm run bench:proco: how long do Proco's configurations take for different kinds of work? As charts of stars.
//
//   npm run bench:proco                 all charts, one to two minutes
//   npm run bench:proco -- --quick      a few items only, some seconds: does it still work?
//   npm run bench:proco -- --write      also puts the charts into bench/results.md
import { cpus, loadavg } from 'node:os'
import { needBuilt, readArgs, refuse } from '../../scripts/args.js'
import { writeSection } from '../section.js'

const { values: options } = readArgs('npm run bench:proco -- [--quick] [--write]', {
  quick: { type: 'boolean', default: false },
  write: { type: 'boolean', default: false },
})
if (options.quick && options.write) refuse('--write is for the whole bench: no --quick')
needBuilt('dist/proco/index.js')

const { models } = await import('./models.js')
const { measure } = await import('./measure.js')
const { chartOf } = await import('./chart.js')
const { analysisOf } = await import('./analysis.js')

const [loadBefore] = loadavg()
const charts = []
for (const model of models) {
  const lines = await measure(model, options.quick, progress)
  const items = lines[0].items.toLocaleString('en')
  const chart = {
    title: `${model.title}: ${items} items`,
    about: model.about,
    bars: chartOf(lines, model.seeks),
    analysis: options.quick ? 'A few items only: these figures mean nothing.' : analysisOf(model, lines),
  }
  charts.push(chart)
  console.log(`${chart.title}\n\n${[...chart.about, '', chart.bars, '', chart.analysis].join('\n')}\n`)
}
if (options.write) writeSection('proco', section())

/** On a terminal one line that changes; else only where a chart begins. */
function progress({ title }, done, all, name) {
  if (process.stderr.isTTY) {
    process.stderr.write(
      `\r\x1b[K${title}: ${done + 1} of ${all}, ${name}${done + 1 === all ? '\r\x1b[K' : ''}`,
    )
  } else if (done === 0) process.stderr.write(`${title} ...\n`)
}

function section() {
  const [cpu] = cpus()
  const load = [loadBefore, loadavg()[0]].map((number) => number.toFixed(1)).join(' before, ')
  return `## Proco's charts

Written by \`npm run bench:proco -- --write\` on ${new Date().toISOString().slice(0, 10)}: ${cpu?.model.trim()}, ${cpus().length} cores,
Node ${process.versions.node}, load average ${load} after. Time is by the clock, from the first item to the end of \`exit()\`.

${charts.map(inMarkdown).join('\n\n')}
`
}

function inMarkdown({ title, about, bars, analysis }) {
  return `### ${title}\n\n${about.join('\n')}\n\n\`\`\`text\n${bars}\n\`\`\`\n\n${analysis}`
}
