// A cache that writes behind: `visit` returns at once, and the newest count of each page is stored a little later, many at a
// time. Ctrl-C stores what is left before the program ends.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { main, type Routine, sleep, use } from 'polyphony'
import { appendFile, readLines } from 'polyphony/io'
import { Proco } from 'polyphony/proco'

const visits = new Map<string, number>()
const unsaved = new Set<string>()
let [total, lines] = [0, 0]

/** The last line about a page counts. */
function* check(path: string): Routine<void> {
  const stored = new Map<string, number>()
  for (const line of yield* readLines(path)) {
    const [page = '', count] = line.split(' ')
    stored.set(page, Number(count))
  }
  const isSame = [...visits].every(([page, count]) => stored.get(page) === count)
  console.log(`the newest count of every page is stored: ${isSame}`)
  console.log(`fewer lines than visits: ${lines < total}`)
}

main(function* () {
  const folder = mkdtempSync(join(tmpdir(), 'write-behind-'))
  yield* use(folder, () => rmSync(folder, { recursive: true }))
  const path = yield* use(join(folder, 'visits'), check)

  // What is used last is let go first: the saver exits, and that stores the rest; then comes the check.
  const saver = yield* use(
    Proco.interval(20)
      .batch(true)
      .new()
      .start(function* (pages: string[]) {
        const entries = pages.map((page) => `${page} ${visits.get(page)}\n`)
        for (const page of pages) unsaved.delete(page)
        yield* appendFile(path, entries.join(''))
        lines += entries.length
      }),
  )

  function* visit(page: string): Routine<void> {
    total++
    visits.set(page, (visits.get(page) ?? 0) + 1)
    if (unsaved.has(page)) return // it is in the queue, and will be stored with its newest count
    unsaved.add(page)
    yield* saver.submitAsync(page)
  }

  console.log('counting visits (Ctrl-C ends it)')
  for (;;) {
    for (let n = 0; n < 100; n++) yield* visit(['/', '/news', '/about'][n % 3] as string)
    yield* sleep(1)
  }
})
