// The sources of the library and of its tests as the house tests and scripts/imports.js read them: files, rooms, imports, sizes.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export interface Source {
  /** From src or test: 'core/fiber.ts'. */
  path: string
  /** '' for src/index.ts itself. */
  room: string
  text: string
}

export interface Import {
  /** As it is written: './ring.js'. */
  from: string
  /** Only types are imported: nothing is left of it at run time. */
  isType: boolean
}

export function readSources(folder: 'src' | 'test'): Source[] {
  return readdirSync(folder, { recursive: true })
    .map(String)
    .filter((path) => path.endsWith('.ts'))
    .sort()
    .map((path) => ({ path, room: roomOf(path), text: readFileSync(join(folder, path), 'utf8') }))
}

export function roomOf(path: string): string {
  return path.includes('/') ? (path.split('/')[0] as string) : ''
}

/** Everything a file imports or re-exports. */
export function importsOf({ text }: Source): Import[] {
  const statements = /^(?:import|export)\b([^'"]*?)\bfrom '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)/gm
  const code = text.replaceAll(/^ *\*.*$/gm, '') // examples in comments import too
  return [...code.matchAll(statements)].map(([, names, named, bare, lazy]) => ({
    from: (named ?? bare ?? lazy) as string,
    isType: names !== undefined && isTypeOnly(names),
  }))
}

/** `type { A }`, or `{ type A, type B }`. */
function isTypeOnly(names: string): boolean {
  const text = names.trim()
  if (/^type\b/.test(text)) return true
  const list = /^\{([^}]*)\}$/
    .exec(text)?.[1]
    ?.split(',')
    .map((each) => each.trim())
    .filter(Boolean)
  return list !== undefined && list.length > 0 && list.every((each) => each.startsWith('type '))
}

/** The file that an import leads to, as a path like that of the importer. */
export function targetOf(source: Source, { from }: Import): string {
  return join(dirname(source.path), from.replace(/\.js$/, '.ts'))
}

/** The files of `sources` that each of them needs at run time. */
export function needsOf(sources: Source[]): Map<string, string[]> {
  const paths = new Set(sources.map(({ path }) => path))
  return new Map(
    sources.map((source) => [
      source.path,
      importsOf(source)
        .filter((each) => !each.isType && each.from.startsWith('.'))
        .map((each) => targetOf(source, each))
        .filter((path) => paths.has(path)),
    ]),
  )
}

/** Groups of files that import each other in a circle at run time, each sorted. */
export function cyclesOf(sources: Source[]): string[][] {
  const needs = needsOf(sources)
  // Tarjan: a file that can come back to itself is in one group with all files on the way.
  const index = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  const cycles: string[][] = []
  const visit = (path: string): void => {
    index.set(path, index.size)
    low.set(path, index.get(path) as number)
    stack.push(path)
    for (const next of needs.get(path) ?? []) {
      if (!index.has(next)) visit(next)
      if (stack.includes(next)) low.set(path, Math.min(low.get(path) as number, low.get(next) as number))
    }
    if (low.get(path) !== index.get(path)) return
    const group = stack.splice(stack.indexOf(path))
    if (group.length > 1) cycles.push(group.sort())
  }
  for (const { path } of sources) if (!index.has(path)) visit(path)
  return cycles
}

/** One idea, one file: a file with fewer lines is rarely an idea. */
export const MIN_LINES = 40
const MAY_BE_SHORT = /(^|\/)(index|errors|types)\.ts$/

export function isSplinter({ path, text }: Source): boolean {
  return text.split('\n').length <= MIN_LINES && !MAY_BE_SHORT.test(path)
}

/** Lines that are neither blank nor only comment. */
export function codeLines({ text }: Source): number {
  let count = 0
  let isComment = false
  for (let line of text.split('\n').map((each) => each.trim())) {
    if (isComment || line.startsWith('/*')) {
      const end = line.indexOf('*/')
      isComment = end < 0
      line = isComment ? '' : line.slice(end + 2).trim()
    }
    if (line !== '' && !line.startsWith('//')) count++
  }
  return count
}
