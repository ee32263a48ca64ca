// Runs programs in processes of their own, and declares tests of what the shell sees of them.

import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { assert, type Ended, ended, program, test } from '../prelude.js'

export { ended, program }

export interface ProgramOptions {
  args?: string[]
  env?: Record<string, string>
  /** Options of Node. */
  node?: string[]
  /** Milliseconds until a program that hangs is killed; its code is null then. */
  limit?: number
}

/** Starts `programs/<name>.ts`. */
export function start(name: string, options: ProgramOptions = {}) {
  const { args = [], env, node = [], limit = 20_000 } = options
  const file = fileURLToPath(new URL(`${name}.js`, import.meta.url))
  return spawn(process.execPath, [...node, file, ...args], {
    env: { PATH: process.env.PATH, ...env },
    timeout: limit,
    killSignal: 'SIGKILL',
  })
}

/** Runs it and waits for its end. */
export function runFile(name: string, options: ProgramOptions = {}): Promise<Ended> {
  return ended(start(name, options))
}

export const lines = (...expected: string[]) => expected.map((line) => `${line}\n`).join('')

/** Texts that must be there in this order, a pattern, or the whole text. */
type Text = string | RegExp | string[]

/** What a program ends with; nothing on stdout and stderr, and code 0, unless said otherwise. */
export interface Expected {
  code?: number | null
  stdout?: Text
  stderr?: Text
}

export function assertEnd(end: Ended, { code = 0, stdout = '', stderr = '' }: Expected): void {
  assertText(end.stderr, stderr)
  assertText(end.stdout, stdout)
  assert.equal(end.code, code)
}

/** A test of a program: a file here by its name, a source as text, or whatever else runs one. */
export function ends(promise: string, run: string | (() => Promise<Ended>), expected: Expected): void {
  test(promise, async () => {
    const start = typeof run === 'function' ? run : () => (run.includes('\n') ? program(run) : runFile(run))
    assertEnd(await start(), expected)
  })
}

function assertText(text: string, expected: Text): void {
  if (typeof expected === 'string') assert.equal(text, expected)
  else if (expected instanceof RegExp) assert.match(text, expected)
  else assertInOrder(text, expected)
}

function assertInOrder(text: string, words: string[]): void {
  let from = 0
  for (const word of words) {
    const at = text.indexOf(word, from)
    assert.ok(at >= 0, `${JSON.stringify(word)} is missing, or too early, in:\n${text}`)
    from = at + word.length
  }
}
