// Real files and Unix sockets for tests, in a folder that is removed when the tests of a file are over.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, eventually, type Routine } from '../prelude.js'
import { descriptors } from '../shared/outside.js'

export const folder = mkdtempSync(join(tmpdir(), 'polyphony-io-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let made = 0

/** The path of a file that does not exist. */
export const freshPath = () => join(folder, `file-${++made}`)

/** The path of a file with this in it. */
export function fileWith(content: string | Buffer): string {
  const path = freshPath()
  writeFileSync(path, content)
  return path
}

export const textOf = (path: string) => readFileSync(path, 'utf8')

/** Waits until no more descriptors are open than before: closing is done by a thread, and may come late. */
export function* descriptorsBack(before: number): Routine<void> {
  yield* eventually(() => descriptors() <= before)
}
