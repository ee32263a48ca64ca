// Talks to a program in a process of its own: waits for what it prints, then types.

import { type StdioPipe, spawn } from 'node:child_process'
import type { Ended } from './prelude.js'

/** Once all of `seen` has been printed since the last line: type `write`, or send `signal`; without either, end the input. */
export interface Line {
  seen: string
  write?: string
  signal?: NodeJS.Signals
}

/**
 * Runs a built file. Its input stays open after the last line, so a program must end by itself; one that hangs has the
 * code null. `stdin` gives it another input: a file descriptor, or 'ignore' for /dev/null.
 */
export function talk(
  file: string,
  args: string[] = [],
  lines: Line[] = [],
  stdin: StdioPipe | 'ignore' | number = 'pipe',
): Promise<Ended> {
  const child = spawn(process.execPath, [file, ...args], {
    stdio: [stdin, 'pipe', 'pipe'],
    env: { PATH: process.env.PATH },
    timeout: 20_000,
    killSignal: 'SIGKILL',
  })
  const rest = [...lines]
  let stdout = ''
  let stderr = ''
  let heard = 0
  const answer = () => {
    for (let line = rest[0]; line !== undefined; line = rest[0]) {
      const at = stdout.indexOf(line.seen, heard)
      if (at < 0) return
      heard = at + line.seen.length
      rest.shift()
      if (line.signal !== undefined) child.kill(line.signal)
      else if (line.write === undefined) child.stdin?.end()
      else child.stdin?.write(line.write)
    }
  }
  child.stdin?.on('error', () => {}) // the program may be gone before it has read everything
  child.stdout?.setEncoding('utf8').on('data', (text) => {
    stdout += text
    answer()
  })
  child.stderr?.setEncoding('utf8').on('data', (text) => (stderr += text))
  answer()
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })
}
