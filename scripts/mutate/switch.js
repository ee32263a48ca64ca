// Says which mutant is on, and remembers which places were reached. Every instrumented file imports it, so that
// processes which a test starts have the same mutant on. It lies in the workspace, beside:
//   active     the number of the mutant that is on; none if the file is missing
//   reached/   if this folder is there, a process puts the numbers it has reached into it when it ends
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

const here = new URL('.', import.meta.url)
const active = existsSync(new URL('active', here))
  ? Number(readFileSync(new URL('active', here), 'utf8'))
  : -1

if (globalThis.$m === undefined) {
  const reached = new Uint8Array(1 << 16)
  globalThis.$m = (id) => {
    reached[id] = 1
    return id === active
  }
  globalThis.$reached = reached
  const folder = new URL('reached/', here)
  if (existsSync(folder)) {
    process.on('exit', () => {
      if (globalThis.$harness !== undefined) return // the harness reads them test by test
      const ids = []
      for (let id = 0; id < reached.length; id++) if (reached[id] === 1) ids.push(id)
      writeFileSync(new URL(String(process.pid), folder), ids.join())
    })
  }
}
