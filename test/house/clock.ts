// The rule "in-process tests never use the real clock", as a check of the sources under test/. Two things are found:
//
// 1. A word of the platform's clock (`setTimeout`, `performance`, `Date.now` ...) anywhere in the code of a test or helper.
// 2. A wait of less than ten seconds (`sleep(5)`, `moveOnAfter(20, ...)`, `timeout: 100` ...) that can run on the real backend:
//    in the arguments of `run`, `main` or a helper that calls them, or in a function that is named there.
//
// Programs that tests start in a process of their own are text in quotes or files in test/programs; neither is looked at.
// A limit of ten seconds or more is the bound of a hang, on a machine of any speed, and may stand.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export interface ClockUse {
  /** From the folder of the package: 'test/io/real.ts'. */
  file: string
  line: number
  /** The line of code, without indentation. */
  text: string
}

/** Lines that may use the real clock: the file, a part of the line, and why nothing there depends on the speed of the machine. */
export const ALLOWED: [file: string, part: string, why: string][] = [
  ['test/prelude.ts', 'performance.now()', 'the bound of a hang: half a minute'],
  [
    'test/prelude.ts',
    'yield* sleep(1)',
    'a fiber that was spun has begun by then, on a machine of any speed',
  ],
  ['test/prelude.ts', 'sleep(ms)', 'a test says how long: it is looked at there'],
  ['test/prelude.ts', 'failAfter(ms', 'the same'],
  ['test/semantics/errors.test.ts', 'failAfter(ms', 'it has a time only on the virtual clock'],
  [
    'test/node/backend.test.ts',
    '',
    'Node’s timers under the backend are the subject; only lower bounds are asserted',
  ],
  ['test/io/net/accept-loop.test.ts', 'grace: 20', 'a deadline that has to pass; nothing depends on when'],
]

/** Less than this is a wait; from here on it is the bound of a hang. */
const BOUND = 10_000

const CLOCKS =
  /\b(?:setTimeout|setInterval|performance|hrtime|Date\.now|AbortSignal\.timeout|scheduler\.wait)\b|\bnew Date(?:\(\)|\b(?!\())/g
/** Calls whose arguments run on a virtual clock, wherever they stand. */
const VIRTUAL = /(?<![.\w])(?:virtual|explore|stopEverywhere|raiseEverywhere|failEverywhere)\(/g
/** What waits for time: a call with the time as its first argument, an option, or a look at the clock of the backend. */
const WAITS =
  /(?<![.\w])(?:sleep|after|every|moveOnAfter|cancelAfter|failAfter)\(([^(),]*)|(?<![.\w])waits\([^;]*?, ([\d_]+)\)|\b(?:timeout|acquireTimeout|interval|idleTimeout|grace|backoff|delay):([^,}\n]*)|(?<![.\w])now\(\)/g

/** Every source of a test that runs in the process of its test file. */
export function testSources(): Map<string, string> {
  const paths = readdirSync('test', { recursive: true }).map((path) => join('test', String(path)))
  const sources = paths.filter(
    (path) => path.endsWith('.ts') && !/^test\/(?:documents|programs|tools|types)\//.test(path),
  )
  return new Map(sources.map((path) => [path, readFileSync(path, 'utf8')]))
}

/** The uses of the real clock that ALLOWED does not name. */
export function realClockUses(sources = testSources()): ClockUse[] {
  return allClockUses(sources).filter((use) => !ALLOWED.some((allowed) => isAllowed(use, allowed)))
}

export function isAllowed({ file, text }: ClockUse, [path, part]: (typeof ALLOWED)[number]): boolean {
  return file === path && text.includes(part)
}

export function allClockUses(sources: Map<string, string>): ClockUse[] {
  const files = new Map([...sources].map(([path, text]) => [path, new Code(text)]))
  const found = new Map<string, ClockUse>()
  const add = (file: string, at: number) => {
    const lines = (sources.get(file) as string).split('\n')
    const line = (sources.get(file) as string).slice(0, at).split('\n').length
    found.set(`${file}:${line}`, { file, line, text: (lines[line - 1] as string).trim() })
  }
  const runners = runnersOf(files)
  for (const [file, code] of files) {
    for (const { index } of code.text.matchAll(CLOCKS)) add(file, index)
    for (const call of code.calls(runners.get(file) as Set<string>)) {
      for (const place of reached(files, file, call)) {
        for (const wait of waitsIn(files.get(place.file) as Code, place)) add(place.file, wait)
      }
    }
  }
  return [...found.values()].sort((a, b) => a.file.localeCompare(b.file) || a.line - b.line)
}

/** For each file, the functions whose arguments run on the real backend: `run`, `main`, and every function that calls one. */
function runnersOf(files: Map<string, Code>): Map<string, Set<string>> {
  const runners = new Map([...files].map(([file, code]) => [file, new Set(code.entries)]))
  for (let size = -1, next = 0; size !== next; ) {
    size = next
    for (const [file, code] of files) {
      const names = runners.get(file) as Set<string>
      for (const [name, from] of code.imports) {
        if (runners.get(pathOf(file, from))?.has(name)) names.add(name)
      }
      const calls = code.calls(names)
      for (const { name, start, end } of code.functions) {
        if (calls.some((call) => start < call.start && call.start < end)) names.add(name)
      }
    }
    next = [...runners.values()].reduce((sum, names) => sum + names.size, 0)
  }
  return runners
}

const pathOf = (file: string, from: string) => join(dirname(file), from.replace(/\.js$/, '.ts'))

interface Extent {
  start: number
  end: number
}
interface Place extends Extent {
  file: string
}

/** A stretch of code and every function or constant that is named in it, in what is named there, and so on. */
function reached(files: Map<string, Code>, file: string, extent: Extent): Place[] {
  const places: Place[] = [{ file, ...extent }]
  const seen = new Set<string>()
  for (const place of places) {
    const code = files.get(place.file) as Code
    for (const { 0: name, index } of code.outsideVirtual(place).matchAll(/(?<![.\w])[A-Za-z_]\w*/g)) {
      const from = code.imports.get(name)
      const path = from === undefined ? place.file : pathOf(place.file, from)
      const target = files.get(path)
      const at = target?.declaration(name, from === undefined ? place.start + index : undefined)
      if (at === undefined || seen.has(`${path}:${at.start}`)) continue
      seen.add(`${path}:${at.start}`)
      places.push({ file: path, ...at })
    }
  }
  return places
}

function waitsIn(code: Code, place: Extent): number[] {
  return [...code.outsideVirtual(place).matchAll(WAITS)]
    .filter(([whole, ...times]) =>
      isWait(code, whole, (times.find((each) => each !== undefined) ?? '').trim()),
    )
    .map(({ index }) => place.start + index)
}

/** Whether a time is one to wait for: not for ever, not at once, and not the bound of a hang. */
function isWait(code: Code, whole: string, time: string): boolean {
  if (whole === 'now()') return true
  if (/^(?:|Infinity|number|undefined|-\d+)$/.test(time)) return false
  if (time === '0') return /^(?:sleep|after|every)/.test(whole)
  const constant = new RegExp(`\\bconst ${time.replace(/\W/g, '')} = ([\\d_]+)$`, 'm').exec(code.text)?.[1]
  const ms = Number((constant ?? time).replaceAll('_', ''))
  return !(ms >= BOUND)
}

/** The code of a file: comments, texts and regular expressions are blank, and everything stands where it stood. */
class Code {
  readonly text: string
  /** Where each bracket that is opened is closed. */
  private readonly closing = new Map<number, number>()
  /** What `run` and `main` of polyphony are called here. */
  readonly entries: string[] = []
  /** Names imported from other sources of tests, and from where. */
  readonly imports = new Map<string, string>()
  /** Functions and constants by name, each with the brackets in which it is seen. */
  private readonly declarations = new Map<string, (Extent & { block: Extent | undefined })[]>()
  readonly functions: (Extent & { name: string })[] = []

  constructor(source: string) {
    this.text = blanked(source)
    const open: number[] = []
    for (const { 0: bracket, index } of this.text.matchAll(/[([{}\])]/g)) {
      if ('([{'.includes(bracket)) open.push(index)
      else this.closing.set(open.pop() as number, index)
    }
    const ours = /^import \{([^}]*)\} from '(?:polyphony|[./]+prelude\.js)'/gm
    for (const [, names] of source.matchAll(ours)) {
      for (const [, name, local] of (names as string).matchAll(/\b(run|main)\b(?: as (\w+))?/g)) {
        this.entries.push((local ?? name) as string)
      }
    }
    for (const [, names, from] of source.matchAll(/^import \{([^}]*)\} from '(\.[^']*)'/gm)) {
      for (const name of (names as string).match(/\w+/g) ?? []) this.imports.set(name, from as string)
    }
    const words = /\b(function\*?|const)\s+(\w+|[{[][^=]*[}\]](?= =| of ))/g
    for (const { 1: word, 2: names, index } of this.text.matchAll(words)) {
      let extent = { start: index, end: this.endOfStatement(index) }
      let block = this.blockOf(index)
      if (block !== undefined && /\bfor (?:await )?$/.test(this.text.slice(0, block.start).slice(-12))) {
        extent = { start: index, end: block.end }
        block = { start: block.start, end: this.endOfStatement(block.start) } // it is seen in the whole loop
      }
      for (const name of (names as string).match(/\w+/g) ?? []) {
        const declared = { ...extent, block }
        this.declarations.set(name, [...(this.declarations.get(name) ?? []), declared])
        const isFunction = word !== 'const' || /=>|\bfunction\b/.test(this.text.slice(index, extent.end))
        if (isFunction) this.functions.push({ ...extent, name })
      }
    }
  }

  /** From a bracket to the one that closes it. */
  extent(start: number): Extent {
    return { start, end: (this.closing.get(start) ?? this.text.length - 1) + 1 }
  }

  outsideVirtual({ start, end }: Extent): string {
    let text = this.text.slice(start, end)
    for (const { index, 0: call } of text.matchAll(VIRTUAL)) {
      const inner = this.extent(start + index + call.length - 1)
      const stretch = this.text.slice(inner.start, inner.end)
      const at = inner.start - start
      text = text.slice(0, at) + stretch.replace(/[^\n]/g, ' ') + text.slice(at + stretch.length)
    }
    return text
  }

  /** The arguments of each call of these functions. */
  calls(names: Set<string>): Extent[] {
    if (names.size === 0) return []
    const call = new RegExp(`(?<![.\\w]|function\\*? )(?:${[...names].join('|')})\\(`, 'g')
    return [...this.text.matchAll(call)].map(({ index, 0: word }) => this.extent(index + word.length - 1))
  }

  /** The function or constant of that name which is seen at a place, or from another file. */
  declaration(name: string, at?: number): Extent | undefined {
    const visible = this.declarations.get(name)?.filter(({ block }) => {
      if (block === undefined) return true
      return at !== undefined && block.start < at && at < block.end
    })
    return visible?.sort((a, b) => (a.block?.start ?? -1) - (b.block?.start ?? -1)).at(-1) // the innermost
  }

  /** The innermost brackets around a place. */
  private blockOf(at: number): Extent | undefined {
    let found: Extent | undefined
    for (const [start, end] of this.closing) {
      if (start < at && at < end && (found === undefined || start > found.start)) found = { start, end }
    }
    return found
  }

  /** A statement ends where a line ends and no bracket is open, unless the next line goes on with it. */
  private endOfStatement(start: number): number {
    for (let at = start; at < this.text.length; at++) {
      const close = this.closing.get(at)
      if (close !== undefined) at = close
      else if (this.text[at] === '\n' && !/^\s*(?:[.?:&|]|=>)/.test(this.text.slice(at + 1, at + 200))) {
        if (!/(?:=|=>|\()\s*$/.test(this.text.slice(start, at))) return at
      }
    }
    return this.text.length
  }
}

/** A source in which everything that is not code is blank; what stands in ${...} is code. */
export function blanked(source: string): string {
  let out = ''
  /** For each template that is open: how many braces are open in its ${...}. */
  const templates: number[] = []
  let at = 0
  const skip = (length: number) => {
    out += source.slice(at, at + length).replace(/[^\n]/g, ' ')
    at += length
  }
  const template = () => {
    const length = /^(?:\\[\s\S]|\$(?!\{)|[^\\$`])*/.exec(source.slice(at))?.[0].length as number
    skip(length)
    if (source[at] === '`') templates.pop()
    skip(source[at] === '`' ? 1 : 2)
  }
  while (at < source.length) {
    const rest = source.slice(at, at + 2)
    const char = source[at] as string
    if (rest === '//') skip(lengthTo(source, at, '\n'))
    else if (rest === '/*') skip(lengthTo(source, at + 2, '*/') + 4)
    else if (char === "'" || char === '"')
      skip(/^(['"])(?:\\[\s\S]|(?!\1)[^\\\n])*\1?/.exec(source.slice(at))?.[0].length ?? 1)
    else if (char === '`') {
      templates.push(0)
      skip(1)
      template()
    } else if (char === '/' && /(?:^|[(,=:[!&|?{};+>]|\breturn)\s*$/.test(out.slice(-200))) {
      skip(/^\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/?\w*/.exec(source.slice(at))?.[0].length ?? 1)
    } else if (char === '}' && templates.at(-1) === 0) {
      skip(1)
      template()
    } else {
      if (templates.length > 0 && char === '{') templates.push((templates.pop() as number) + 1)
      if (templates.length > 0 && char === '}') templates.push((templates.pop() as number) - 1)
      out += char
      at++
    }
  }
  return out
}

function lengthTo(source: string, from: number, mark: string): number {
  const end = source.indexOf(mark, from)
  return (end < 0 ? source.length : end) - from
}
