// Writes docs/reference: a page for each entry of the package, from the doc comments of what it exports. Needs the build.
// With --check it writes nothing and fails if a page is not up to date; with --json it prints what the pages are made
// of, for the test that runs the examples.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { needBuilt, readArgs, refuse } from './args.js'
import { entriesOf, exportsOf, findDeclaration } from './declarations.js'

const PLACE = 'docs/reference'

/** Where readers look for things. A name that stands nowhere goes to a group of its kind at the end of its page. */
const GROUPS = {
  polyphony: {
    Programs: ['main', 'MainOptions', 'run', 'RunOptions', 'exit', 'Running'],
    Fibers: ['spin', 'Fiber', 'Spin', 'SpinOptions', 'State', 'Outcome'],
    Scopes: ['scope', 'createLocal', 'Local'],
    Time: ['sleep', 'now', 'after', 'every', 'throttledLoop', 'spinLoop', 'Pace'],
    'Rate limits': ['Throttler', 'Rate', 'ThrottlerStats'],
    Supervision: [
      'supervise',
      'SuperviseOptions',
      'ChildSpec',
      'RestartRule',
      'Strategy',
      'RestartIntensity',
      'SuperviseUntil',
    ],
    'Time limits': ['moveOnAfter', 'cancelAfter', 'Timeout'],
    'Stopping and cleanup': [
      'ensure',
      'shield',
      'isStop',
      'Stop',
      'StopOptions',
      'Ending',
      'RestartOptions',
      'Phase',
    ],
    Signals: ['trap', 'awaitSignal', 'SignalName'],
    Messages: [
      'receive',
      'tryReceive',
      'receiveAllPending',
      'receiveLoop',
      'call',
      'Call',
      'Mailbox',
      'FiberEnd',
    ],
    Pools: ['ResourcePool', 'PoolOptions', 'PoolSettings', 'PoolStats'],
    Queues: ['Queue', 'QueueOptions', 'QueueStats'],
    Locks: [
      'Mutex',
      'Semaphore',
      'Condition',
      'Event',
      'MutexOptions',
      'MutexStats',
      'SemaphoreOptions',
      'SemaphoreStats',
      'ConditionStats',
      'EventOptions',
      'EventStats',
    ],
    'Several at once': ['all', 'allSettled', 'race', 'any', 'RaceOptions'],
    'Many items': ['forEach', 'ForEachOptions', 'each', 'iterate', 'END', 'Items', 'Source', 'Iterates'],
    'Trying again': ['retry', 'RetryOptions', 'Backoff', 'BackoffOptions'],
    'Promises, callbacks, events': [
      'until',
      'UntilOptions',
      'action',
      'Start',
      'ActionOptions',
      'on',
      'Events',
      'OnOptions',
      'once',
      'OnceOptions',
      'Emitter',
      'EventName',
      'DiscardOptions',
      'use',
      'toAsyncIterable',
    ],
    'Switching by hand': ['snooze', 'suspend', 'transfer'],
    'Writing functions that wait': ['Op', 'Routine', 'Body', 'Switchpoint'],
    'Looking inside': [
      'printTree',
      'fiberTree',
      'FiberView',
      'runtimeStats',
      'RuntimeStats',
      'tap',
      'TapEvent',
      'TapListener',
      'TapOptions',
      'meter',
      'Meter',
      'Backend',
      'Context',
      'Report',
    ],
    Errors: ['errorFiber', 'suppressedErrors', 'ErrorLike', 'ErrorClass', 'PolyphonyError'],
  },
  'polyphony/op': {
    Ops: ['BaseOp', 'op', 'IdleOp', 'OutsideOp', 'Attempt'],
    'Their answers': ['settle', 'fail', 'LATER'],
    'Fibers in line': ['Waiters', 'Waiter', 'Ring'],
    'Holding something': ['hold', 'Holdable'],
    'Running bodies': ['runBody', 'runReturned', 'attempt', 'Returned', 'Result'],
    'Fibers and their ends': [
      'runningFiber',
      'spinRoot',
      'addCleanup',
      'timeLeft',
      'onEnd',
      'EndMoment',
      'nursery',
      'NurseryEvents',
      'onAbort',
    ],
    'The world': ['Runtime', 'TimerNode'],
    Arguments: ['check', 'Check', 'Checks', 'show'],
  },
  'polyphony/io': {
    'Standard input and output': ['stdin', 'gets', 'stdout', 'stderr'],
    Streams: [
      'Stream',
      'Reader',
      'Writer',
      'StreamStats',
      'LimitOptions',
      'LineOptions',
      'ReadLoopOptions',
      'pipe',
      'pair',
      'Chunk',
    ],
    Files: [
      'openFile',
      'FileFlags',
      'OpenFileOptions',
      'File',
      'readFile',
      'ReadFileOptions',
      'writeFile',
      'WriteFileOptions',
      'appendFile',
      'readLines',
      'Lines',
      'sendFile',
      'SendFileOptions',
    ],
    Sockets: [
      'connect',
      'ConnectOptions',
      'listen',
      'ListenOptions',
      'Server',
      'AcceptOptions',
      'AcceptLoopOptions',
      'ServerStats',
      'Socket',
      'SocketOptions',
    ],
    TLS: [
      'TlsSocket',
      'TlsServer',
      'TlsServerStats',
      'HandshakeStats',
      'TlsClientOptions',
      'TlsServerOptions',
      'TlsContext',
      'Sni',
    ],
    Errors: ['IOError', 'StreamClosed', 'UnexpectedEnd', 'LimitExceeded', 'ProcessFailed', 'CorruptInput'],
    Processes: [
      'exec',
      'ExecOptions',
      'Executed',
      'spawnProcess',
      'SpawnProcessOptions',
      'Process',
      'watchProcess',
      'WatchProcessOptions',
      'ProcessOptions',
      'Stdio',
      'StdioOption',
      'ProcessEnd',
      'ProcessStats',
    ],
    'Streams of Node': ['fromNode', 'FromNode', 'FromNodeOptions'],
    'Streams of your own': ['Channel', 'Receiver'],
    UDP: ['udp', 'UdpOptions', 'UdpSocket', 'Datagram', 'Destination', 'GroupOptions', 'UdpStats'],
    Names: ['lookup', 'LookupOptions', 'Address'],
    'Copying and compressing': [
      'copy',
      'CopyOptions',
      'ByteSource',
      'proxy',
      'Proxied',
      'gzip',
      'GzipOptions',
      'gunzip',
      'GunzipOptions',
      'deflate',
      'DeflateOptions',
      'inflate',
      'UnzipOptions',
      'brotli',
      'BrotliOptions',
      'unbrotli',
    ],
  },
  'polyphony/proco': {
    'Making one': ['Proco', 'ProcoTemplate', 'ProcoOptions', 'ProcoClass', 'Mode', 'Results'],
    'Working with it': ['Executor', 'Handler', 'Work', 'SubmitOptions', 'Awaitable', 'Future', 'FutureState'],
    'Watching it': ['ProcoState', 'ProcoStats', 'Distribution', 'Logger'],
    Errors: ['NotRunning', 'Killed', 'MissingResult'],
  },
  'polyphony/testing': {
    'Time that jumps': ['virtual', 'VirtualOptions'],
    'Every order': ['explore', 'ExploreOptions', 'Exploration', 'ScheduleFailed'],
    'Trouble at every switchpoint': [
      'stopEverywhere',
      'raiseEverywhere',
      'failEverywhere',
      'EverywhereOptions',
      'EverywhereResult',
      'DisturbanceFailed',
      'InjectedFailure',
    ],
    'Order without sleeping': ['sequence', 'Sequence'],
    'What is left behind': ['leaks', 'Leaks', 'LeakError'],
  },
}
/** Entries whose names are common words, such as `check` and `fail`: other pages do not link to them. */
const COMMON_WORDS = new Set(['polyphony/op'])
const KINDS = { function: 'Functions', class: 'Classes', error: 'Errors', type: 'Types' }

/** Long classes are divided: the title comes before the member. */
const DIVISIONS = {
  Fiber: {
    current: 'Which one it is',
    '[Symbol.iterator]': 'Waiting for it',
    stop: 'Ending it',
    schedule: 'Waking it, and messages',
    spin: 'Its place in the tree',
  },
}

const NOTE = `Every example is run by the suite. One that begins with an import is a whole program. Any other is the body of a fiber:
put it into \`main(function* () { ... })\`, and import the names. The comment after \`console.log(...)\` says what that line prints.

In the signatures, \`Body<T>\` stands for a generator function that returns a \`T\`, or a plain function that returns a \`T\` or
an \`Op<T>\`. \`Op<T>\` is what you wait for with \`yield*\`. A list may mix types, and \`[...T]\` keeps that of each value. Times are
milliseconds. The numbers (S05) lead to the promises in [semantics.md](../semantics.md).`

const { values: options } = readArgs('npm run reference -- [--check | --json]', {
  check: { type: 'boolean' },
  json: { type: 'boolean' },
})
if (options.check && options.json) refuse('either --check or --json, not both')
needBuilt('dist/index.d.ts')

const rules = rulesOf('docs/semantics.md')
const listed = entriesOf().map((entry) => ({ ...entry, exported: exportsOf(entry.file) }))
/** Public name -> its statements, of every entry. */
const everywhere = new Map(listed.flatMap(({ exported }) => [...exported]))
const entries = listed.map(readEntry)

if (options.json) process.stdout.write(JSON.stringify(entries, null, 2))
else {
  const pages = new Map(entries.map((entry) => [entry.page, render(entry)]))
  pages.set('README.md', renderIndex())
  if (options.check) check(pages)
  else {
    rmSync(PLACE, { recursive: true, force: true })
    mkdirSync(PLACE, { recursive: true })
    for (const [page, text] of pages) writeFileSync(join(PLACE, page), text)
  }
}

function check(pages) {
  const there = existsSync(PLACE) ? readdirSync(PLACE) : []
  const stale = new Set(there.filter((page) => !pages.has(page)))
  for (const [page, text] of pages) {
    if (!there.includes(page) || readFileSync(join(PLACE, page), 'utf8') !== text) stale.add(page)
  }
  if (stale.size === 0) return
  console.error(`${PLACE} is not up to date (${[...stale].join(', ')}): npm run reference`)
  process.exitCode = 1
}

// ---- reading

function readEntry({ name, file, exported }) {
  return {
    name,
    page: `${basename(name)}.md`,
    about: aboutOf(file),
    items: [...exported].map(([item, statements]) => readItem(item, statements)),
  }
}

/** The first sentence of the source file, without the name of the entry. */
function aboutOf(file) {
  const source = file.replace(/^(\.\/)?dist\//, 'src/').replace(/\.d\.ts$/, '.ts')
  const [first = ''] = readFileSync(source, 'utf8').split('\n')
  const about = first.replace(/^\/\/ (?:polyphony[\w/]*: )?/, '').split('. ')[0]
  return `${about.charAt(0).toUpperCase()}${about.slice(1).replace(/\.$/, '')}.`
}

function readItem(name, statements) {
  const [first] = statements
  const comment = statements.map((each) => each.comment).find((text) => text !== '') ?? ''
  const kind = first.isType ? 'type' : kindOf(first.code)
  return {
    name,
    kind,
    ...readComment(comment),
    signature: kind === 'function' ? callsOf(name, statements) : headOf(first),
    members: kind === 'error' && isBareError(first) ? [] : membersOf(first),
  }
}

function kindOf(code) {
  if (/^export (?:declare )?(?:abstract )?class \w+/.test(code))
    return /^[^{]*extends \w*Error\b/.test(code) ? 'error' : 'class'
  return /^export declare (?:function|const) /.test(code) ? 'function' : 'type'
}

/** An error class that adds nothing but its code. */
function isBareError({ members }) {
  return members.every(({ code }) => /^(readonly code\b|constructor\()/.test(code))
}

/** The ways to call a function, or a constant whose type is an interface that can be called. */
function callsOf(name, statements) {
  const [{ code, file }] = statements
  const type = /^export declare const \w+: (\w+);$/.exec(code)?.[1]
  if (type === undefined) {
    return statements.map((each) => readable(each.code.replace(/^export declare function /, ''))).join('\n')
  }
  const [declared] = everywhere.get(type) ?? [findDeclaration(type, file)]
  const calls = declared.members.filter((member) => /^[<(]/.test(member.code))
  if (calls.length === 0) return `const ${name}: ${type}`
  return calls.map((member) => `${name}${readable(member.code)}`).join('\n')
}

/** A class or an interface without its members, or a whole type. */
function headOf(statement) {
  const { code, file, members } = statement
  const list = /^export type \w+ = \(typeof (\w+)\)\[number\];$/.exec(code)?.[1]
  if (list !== undefined) {
    const values = /\[(.*)\]/.exec(findDeclaration(list, file).code)[1]
    return `${code.slice(7, code.indexOf(' ='))} = ${values.split(', ').join(' | ')}`
  }
  if (!/^export (?:declare )?(?:abstract )?(?:class|interface) /.test(code)) {
    return readable(code.replace(/^export (?:declare )?/, ''))
  }
  const head = code.slice(0, code.indexOf(' {')).replace(/^export (?:declare )?/, '')
  const base = / extends (\w+)/.exec(head)?.[1]
  const isHidden =
    base !== undefined &&
    !everywhere.has(base) &&
    findDeclaration(base, file) !== undefined &&
    base !== 'Error'
  const errorCode = members.map((member) => /^readonly code = (".*");$/.exec(member.code)?.[1]).find(Boolean)
  const shown = isHidden ? head.replace(new RegExp(` extends ${base}(<[^{]*?>)?(?= |$)`), '') : head
  return errorCode === undefined ? shown : `${shown} // code: ${errorCode.replaceAll('"', "'")}`
}

/** With those of base classes that are not public themselves. */
function membersOf({ code, members, file }) {
  const base = /^export [^{]* class \w+(?:<[^{]*?>)? extends (\w+)/.exec(code.split('\n')[0])?.[1]
  const hidden = base === undefined || everywhere.has(base) ? undefined : findDeclaration(base, file)
  const isError = kindOf(code) === 'error'
  const isForSubclasses = /^export (?:declare )?abstract class /.test(code)
  const own = members.filter((member) => {
    if (/^(set |private |[<(]|readonly \[(?!Symbol))/.test(member.code)) return false // calls, and the brand
    if (/^protected /.test(member.code)) return isForSubclasses && member.comment !== ''
    if (/^constructor/.test(member.code)) return member.comment !== ''
    return !(isError && /^(readonly code = |get name)/.test(member.code))
  })
  const inherited = hidden === undefined ? [] : hidden.members
  const below = inherited.filter(
    (member) => member.comment !== '' && !/^(set |constructor)/.test(member.code),
  )
  return [...below, ...own].map((member) => ({
    name: /^(?:static |readonly |protected |abstract |get )*(\[[\w.]+\]|\w+)/.exec(member.code)?.[1] ?? '',
    signature: readable(member.code.replace(/^(static )?get (.*)\(\): /, '$1$2: ')),
    ...readComment(member.comment),
  }))
}

/** The types that refuse wrong bodies and wrong lists are left out: they say the same as `Body`, at greater length. */
function readable(code) {
  return code
    .replaceAll(/\(([^()]*)\) => Returned<(\w+)>/g, (_, args, result) => {
      if (args === '') return `Body<${result}>`
      return args.startsWith('...')
        ? `Body<${result}, ${args.replace(/^.*: /, '')}>`
        : `Body<${result}, [${args}]>`
    })
    .replaceAll(/\bResult<(\w+)>/g, '$1')
    .replaceAll(
      '<const L extends readonly Offered[]>(list: L & Checked<L>',
      '<T>(list: readonly (Op<T> | Body<T>)[]',
    )
    .replaceAll('ItemResults<L>', '[...T]')
    .replaceAll('ItemOutcomes<L>', '[...Outcome<T>]')
    .replaceAll('ItemResult<L[number]>', 'T')
    .replaceAll('Op<unknown> | Plain', 'Op<unknown> | unknown')
    .replaceAll(/\bAnswer<(\w+)>/g, 'Op<$1> | PromiseLike<$1> | $1')
    .replaceAll(/\bP\.(\w+)/g, '$1')
    .replaceAll(/^( +)/gm, (indent) => ' '.repeat(indent.length / 2))
    .replace(/;$/, '')
}

/** Prose, and the examples with what they print, if that is said apart. */
function readComment(comment) {
  const examples = []
  const prose = comment
    .replaceAll(/^```ts\n(.*?)^```$(?:\n*```text\n(.*?)^```$)?/gms, (_, code, output) => {
      examples.push({ code, output })
      return ''
    })
    .replaceAll(/\s*\n\s*/g, (gap, at, text) =>
      gapBetween(text[at - 1] === '|', text[at + gap.length] === '|'),
    )
    .trim()
  return { prose, examples }
}

/** Lines of prose are joined; the rows of a table stay lines, with an empty line before and after the table. */
function gapBetween(isRowBefore, isRowAfter) {
  if (isRowBefore && isRowAfter) return '\n'
  return isRowBefore || isRowAfter ? '\n\n' : ' '
}

/** Rule -> the heading in semantics.md that it stands under. */
function rulesOf(document) {
  const found = new Map()
  let heading = ''
  for (const line of readFileSync(document, 'utf8').split('\n')) {
    heading = /^## (.*)$/.exec(line)?.[1] ?? heading
    const rule = /^\*\*(S\d+b?)\b/.exec(line)?.[1]
    if (rule !== undefined) found.set(rule, slug(heading))
  }
  return found
}

// ---- writing

function render(entry) {
  const groups = groupsOf(entry)
  const titles = titlesOf(entry, groups)
  const contents = groups.map(([title, items]) => {
    const names = items.map(({ name }) => `[${name}](#${slug(titles.get(name))})`)
    return `- [${title}](#${slug(title)}): ${names.join(', ')}`
  })
  const parts = [
    `# ${entry.name}`,
    `<!-- Written by npm run reference, from the doc comments in src. Change those. -->`,
    `\`import { ... } from '${entry.name}'\`. ${entry.about}`,
    contents.join('\n'),
    NOTE,
  ]
  for (const [title, items] of groups) {
    parts.push(`## ${title}`)
    for (const item of items) parts.push(...renderItem(item, titles))
  }
  return `${parts.join('\n\n')}\n`
}

function renderIndex() {
  const lines = entries.map((entry) => `- [\`${entry.name}\`](${entry.page}): ${lowerFirst(entry.about)}`)
  const parts = [
    '# Reference',
    'Every public name, with its signature and a short example. Written by `npm run reference` from the doc comments.',
    lines.join('\n'),
    'The names alone, as the compiler sees them, are in [api.txt](../api.txt).',
  ]
  return `${parts.join('\n\n')}\n`
}

function groupsOf({ name, items }) {
  const rest = new Map(items.map((item) => [item.name, item]))
  const groups = new Map()
  const put = (title, item) => {
    if (!groups.has(title)) groups.set(title, [])
    groups.get(title).push(item)
    rest.delete(item.name)
  }
  for (const [title, names] of Object.entries(GROUPS[name] ?? {})) {
    for (const each of names) if (rest.has(each)) put(title, rest.get(each))
  }
  for (const [kind, title] of Object.entries(KINDS)) {
    for (const item of [...rest.values()].filter((each) => each.kind === kind)) put(title, item)
  }
  return [...groups]
}

/** Name -> heading. Where two would have the same address (`spin`, `Spin`), the type says that it is one. */
function titlesOf({ items }, groups) {
  const taken = new Set(groups.map(([title]) => slug(title)))
  const titles = new Map()
  for (const { name, kind } of [...items].sort((a, b) => (a.kind === 'type') - (b.kind === 'type'))) {
    const title = taken.has(slug(name)) ? `${name} (${kind})` : name
    if (taken.has(slug(title))) throw new Error(`two headings would be called ${title}`)
    taken.add(slug(title))
    titles.set(name, title)
  }
  return titles
}

function renderItem({ name, signature, prose, examples, members }, titles) {
  const parts = [`### ${titles.get(name)}`, fence('ts', signature), linked(prose, titles, name)]
  parts.push(...examples.map(renderExample))
  const divisions = new Map(Object.entries(DIVISIONS[name] ?? {}))
  for (const member of members) {
    if (divisions.has(member.name)) parts.push(`**${divisions.get(member.name)}**`)
    const signature = member.signature.replace(/^constructor/, `new ${name}`).replaceAll(/\s*\n\s*/g, ' ')
    const lines = [`- \`${signature}\``]
    if (member.prose !== '') lines.push(`  <br>${linked(member.prose, titles, name)}`)
    const text = [lines.join('\n'), ...member.examples.map((each) => indented(renderExample(each)))].join(
      '\n\n',
    )
    const last = parts.at(-1)
    // Members that are only a line each stand close together.
    if (last.startsWith('- ') && !last.includes('```')) parts.push(`${parts.pop()}\n${text}`)
    else parts.push(text)
  }
  return parts
}

function renderExample({ code, output }) {
  return output === undefined ? fence('ts', code) : `${fence('ts', code)}\n\n${fence('text', output)}`
}

function fence(language, code) {
  return `\`\`\`${language}\n${code.trimEnd()}\n\`\`\``
}

function indented(text) {
  return text.replaceAll(/^(?=.)/gm, '  ')
}

/** Names in backticks lead to their place on the page, rules to theirs in semantics.md. */
function linked(prose, titles, own) {
  return prose
    .replaceAll(/`(\w+)`/g, (code, name) => {
      if (name === own) return code
      if (titles.has(name)) return `[${code}](#${slug(titles.get(name))})`
      const other = entries.find(
        (entry) => !COMMON_WORDS.has(entry.name) && entry.items.some((item) => item.name === name),
      )
      return other === undefined ? code : `[${code}](${other.page}#${slug(name)})`
    })
    .replaceAll(/\bS\d+b?\b/g, (rule) =>
      rules.has(rule) ? `[${rule}](../semantics.md#${rules.get(rule)})` : rule,
    )
}

/** As GitHub makes addresses of headings. */
function slug(heading) {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-')
}

function lowerFirst(text) {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
