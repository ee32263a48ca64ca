// A chart: a line of stars for each configuration, the longest of 60, with its time beside it.

const STARS = 60

export function chartOf(lines, seeks) {
  const width = Math.max(...lines.map(({ name }) => name.length))
  const longest = Math.max(...lines.map(({ seconds }) => seconds))
  const bars = lines.map((line) => {
    const stars = '*'.repeat(Math.max(1, Math.round((line.seconds / longest) * STARS)))
    const rest = seeks === undefined ? '' : `, ${line.seeks} ${line.seeks === 1 ? seeks.slice(0, -1) : seeks}`
    return `${line.name.padEnd(width)} : ${stars} ${time(line.seconds)}${rest}`
  })
  return [`${' '.repeat(width)} : elapsed time`, ...bars].join('\n')
}

function time(seconds) {
  return seconds < 1 ? `${(seconds * 1000).toFixed(0)} ms` : `${seconds.toFixed(2)} s`
}
