// What the descriptors of a process are: its standard input, output and errors, and any that follow (3 and up). Each is a
// stream for us ('pipe'), the same descriptor of our own process ('inherit'), nothing ('ignore'), or something that is
// open here: a descriptor by its number, or a File.

import type { StdioNull, StdioPipe } from 'node:child_process'
import type { Stream as NodeStream } from 'node:stream'
import { isatty } from 'node:tty'
import { BadArgument, show } from '../../core/index.js'
import { StreamClosed } from '../errors.js'
import { File } from '../file/file.js'

const WORDS = ['pipe', 'inherit', 'ignore'] as const
type Word = (typeof WORDS)[number]

/** One descriptor of a process: a stream for us, the one of our own process, none, or what is open here, by number or as a file. */
export type Stdio = Word | number | File

/** The descriptors of a process, by number: three or more of them, or one word for the first three. */
export type StdioOption = Word | readonly [stdin: Stdio, stdout: Stdio, stderr: Stdio, ...more: Stdio[]]

/** What Node takes for one descriptor. */
export type NodeStdio = StdioNull | StdioPipe | number | NodeStream

/** The `stdio` of a call, checked: one entry for each descriptor. */
export function readStdio(given: unknown, usual: readonly Stdio[], where: string): readonly Stdio[] {
  if (given === undefined) return usual
  const entries: unknown[] = Array.isArray(given) ? Array.from(given) : [given, given, given]
  const isEach = Array.isArray(given) ? isStdio : isWord
  if (entries.length >= 3 && entries.every(isEach)) return entries as Stdio[]
  const words = WORDS.map((word) => `'${word}'`).join(', ')
  throw new BadArgument(
    `the stdio of ${where} is one of ${words}, or an array of three or more of them, of open descriptors and of files; got ${
      Array.isArray(given) ? `[${entries.map(show).join(', ')}]` : show(given)
    }`,
  )
}

function isWord(entry: unknown): boolean {
  return WORDS.includes(entry as Word)
}

function isStdio(entry: unknown): boolean {
  return isWord(entry) || entry instanceof File || (Number.isInteger(entry) && (entry as number) >= 0)
}

/** The descriptors with the errors in the output (`stderr: 'merge'`). The entry for the errors must not say anything else. */
export function mergeErrors(stdio: readonly Stdio[], where: string): readonly Stdio[] {
  const [stdin, stdout, stderr, ...more] = stdio as [Stdio, Stdio, Stdio, ...Stdio[]]
  if (stdout !== stderr)
    throw new BadArgument(
      `${where} has stderr 'merge', so the second and third entry of its stdio must be the same; got ${show(stdout)} and ${show(stderr)}`,
    )
  return [stdin, stdout, stdout === 'inherit' ? 1 : stdout, ...more]
}

/** An entry as Node takes it. A closed file has no descriptor any more, and its number may be that of another. */
export function nodeStdio(entry: Stdio, where: string): NodeStdio {
  if (!(entry instanceof File)) return entry
  if (entry.isClosed)
    throw new StreamClosed(`${where} failed: the file ${show(entry.path)} in its stdio is closed`)
  return entry.fd
}

/** Whether the standard input of a process is a terminal, which it then shares with our process. */
export function isTerminal(stdin: Stdio): boolean {
  if (stdin === 'pipe' || stdin === 'ignore') return false
  return isatty(stdin === 'inherit' ? 0 : stdin instanceof File ? stdin.fd : stdin)
}

/** An entry in words, for the error of a stream that is not there. */
export function describeStdio(entry: Stdio): string {
  if (typeof entry === 'string') return `stdio '${entry}'`
  return typeof entry === 'number'
    ? `descriptor ${entry} in its stdio`
    : `the file ${show(entry.path)} in its stdio`
}
