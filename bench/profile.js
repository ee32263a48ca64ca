// Where the time goes, by function: `node bench/profile.js folder-or-file [word in the file's name]` reads CPU profiles that
// `npm run bench -- ... --profile folder` has written, and prints the functions that took most, without what they called.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'

const [where, word = ''] = process.argv.slice(2)
const MOST = 30

for (const file of filesOf(where).filter((file) => basename(file).includes(word))) {
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(file, 'utf8'))
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const micros = new Map()
  let busy = 0
  samples.forEach((id, i) => {
    const name = nameOf(byId.get(id).callFrame)
    if (name === '(idle)') return
    busy += timeDeltas[i]
    micros.set(name, (micros.get(name) ?? 0) + timeDeltas[i])
  })
  console.log(`\n${basename(file)}: ${(busy / 1e6).toFixed(2)} s, idle aside`)
  const sorted = [...micros].sort((a, b) => b[1] - a[1]).slice(0, MOST)
  for (const [name, time] of sorted) console.log(`${((100 * time) / busy).toFixed(1).padStart(6)} %  ${name}`)
}

function filesOf(path) {
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path)
    .filter((name) => name.endsWith('.cpuprofile'))
    .sort()
    .map((name) => join(path, name))
}

function nameOf({ functionName, url, lineNumber }) {
  const file = url.replace(/^.*\/(dist|bench)\//, '$1/')
  return `${functionName || '(anonymous)'}${file === '' ? '' : `  ${file}:${lineNumber + 1}`}`
}
