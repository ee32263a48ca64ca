// Group commit: 64 fibers append records to a log, and each goes on only when its record is safe on the disk. To wait for
// the disk takes much longer than to write, so all that came in meanwhile goes to the disk together.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { main, type Routine, scope, spin, use } from 'polyphony'
import { openFile, readLines } from 'polyphony/io'
import { Proco } from 'polyphony/proco'

const [FIBERS, RECORDS_EACH] = [64, 10]

main(function* () {
  const folder = yield* use(mkdtempSync(join(tmpdir(), 'group-commit-')), (path) =>
    rmSync(path, { recursive: true }),
  )
  const path = join(folder, 'records.log')
  const file = yield* use(yield* openFile(path, 'a'))

  // One thread: the log has one end. No interval: nobody waits longer than for the commit before.
  let fsyncs = 0
  const log = yield* use(
    Proco.batch(true)
      .new()
      .start(function* (records: string[]) {
        yield* file.write(records.map((record) => `${record}\n`).join(''))
        yield* file.sync()
        fsyncs++
      }),
  )

  const acknowledged: string[] = []
  function* client(name: string): Routine<void> {
    for (let n = 1; n <= RECORDS_EACH; n++) {
      const record = `${name}: record ${n}`
      yield* log.submit(record)
      acknowledged.push(record)
    }
  }
  yield* scope(() => {
    for (let n = 1; n <= FIBERS; n++) spin(client, `client ${n}`)
  })

  const onDisk = new Set(yield* readLines(path))
  console.log(`${acknowledged.length} records, ${fsyncs} fsyncs`)
  console.log(`fewer fsyncs than records: ${fsyncs < acknowledged.length}`)
  console.log(
    `every acknowledged record is in the file: ${acknowledged.every((record) => onDisk.has(record))}`,
  )
})
