// npm run imports: how large each room of the house is, and what hangs together in it. A file needs another if it imports it by value:
// nothing is left of an import of types when the program runs.
//
//   npm run imports                 the table, cycles, and files that are very short or very long
//   npm run imports -- core         also what each file of the core needs in its room
//
// The rules about this are tests (test/house); this prints figures for the same sources, with the same code.
import { needBuilt, readArgs, refuse } from './args.js'

const MAX_CODE = 450

const { words } = readArgs('npm run imports -- [room ...]', {}, Infinity)
needBuilt('build/test/house/sources.js')
const { codeLines, cyclesOf, isSplinter, MIN_LINES, needsOf, readSources, roomOf } = await import(
  '../build/test/house/sources.js'
)

const sources = readSources('src')
const needs = needsOf(sources)
const cycles = cyclesOf(sources)
const rooms = [...new Set(sources.map(({ room }) => room))]
const unknown = words.find((word) => !rooms.includes(word))
if (unknown !== undefined)
  refuse(`there is no room '${unknown}'; there are: ${rooms.filter(Boolean).join(', ')}`)

console.log('| room | files | lines of code | median | largest file | imports inside | rooms it needs |')
console.log('|---|---:|---:|---:|---|---:|---|')
for (const room of rooms) {
  printRow(
    room || '(index)',
    sources.filter((source) => source.room === room),
    room,
  )
}
printRow('all', sources)

printList('cycles of imports by value', cycles, (cycle) => `${cycle.length} files: ${cycle.join(' ')}`)
printList(`files under ${MIN_LINES} lines`, sources.filter(isSplinter), ({ path, text }) => {
  return `${path} ${text.split('\n').length - 1}`
})
printList(
  `files over ${MAX_CODE} lines of code`,
  sources.filter((source) => codeLines(source) > MAX_CODE),
  (source) => `${source.path} ${codeLines(source)}`,
)
for (const room of words) {
  printList(
    `what the files of ${room} need in it`,
    sources.filter((source) => source.room === room),
    ({ path }) => `${short(path)}: ${insideOf(path).map(short).join(' ')}`,
  )
}

function printRow(name, files, room) {
  const sizes = files.map(codeLines).sort((a, b) => a - b)
  const largest = files.reduce((a, b) => (codeLines(a) >= codeLines(b) ? a : b))
  const inside = files.reduce((sum, { path }) => sum + insideOf(path).length, 0)
  const others = new Set(files.flatMap(({ path }) => needs.get(path).map(roomOf)))
  const cells = [
    name,
    files.length,
    sizes.reduce((a, b) => a + b, 0).toLocaleString('en'),
    sizes[sizes.length >> 1],
    `${largest.path} ${sizes.at(-1)}`,
    inside,
    room === undefined ? '' : [...others].filter((other) => other !== room).join(' '),
  ]
  console.log(`| ${cells.join(' | ')} |`)
}

/** What a file needs in its own room. */
function insideOf(path) {
  return needs.get(path).filter((other) => roomOf(other) === roomOf(path))
}

function short(path) {
  return path.replace(/^.*\//, '').replace(/\.ts$/, '')
}

function printList(title, items, lineOf) {
  console.log(`\n${title}: ${items.length === 0 ? 'none' : items.length}`)
  for (const item of items) console.log(`- ${lineOf(item)}`)
}
