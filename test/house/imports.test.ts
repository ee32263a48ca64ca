// Which room may know which, and that imports run one way.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { cyclesOf, type Import, importsOf, readSources, roomOf, type Source, targetOf } from './sources.js'

/** Each room may import from the rooms before it. A new room must be given its place here. */
const FLOORS = ['core', 'view', 'time', 'sync', 'interop', 'combine', 'supervise', 'node', 'io', 'proco']
/** The side building: public, but nothing of the house imports it. */
const TESTING = 'testing'

const sources = readSources('src')

/** Why a file may not import that; undefined if it may. */
function objection(source: Source, imported: Import): string | undefined {
  const { room } = source
  if (!imported.from.startsWith('.')) {
    if (room === 'core') return 'the core knows no module but its own'
    return imported.from.startsWith('node:') ? undefined : 'no runtime dependencies'
  }
  const target = targetOf(source, imported)
  const targetRoom = roomOf(target)
  if (!sources.some((other) => other.path === target)) return 'there is no such file'
  if (targetRoom === room) return undefined
  if (target !== `${targetRoom}/index.ts`) return 'another room is entered through its index.ts'
  if (targetRoom === TESTING) return 'nothing of the house imports the testing room'
  if (room === '') return undefined
  const floor = room === TESTING ? FLOORS.indexOf('time') : FLOORS.indexOf(room)
  return FLOORS.indexOf(targetRoom) < floor ? undefined : 'that room is on a higher floor'
}

test('every room has its floor', () => {
  const rooms = new Set(sources.map((source) => source.room).filter((room) => room !== ''))
  assert.deepEqual([...rooms].sort(), [...FLOORS, TESTING].sort())
})

test('a room imports only from lower floors, through their index, and the core from no other', () => {
  const objections = sources.flatMap((source) =>
    importsOf(source).flatMap((imported) => {
      const why = objection(source, imported)
      return why === undefined ? [] : `src/${source.path} imports '${imported.from}': ${why}`
    }),
  )
  assert.deepEqual(objections, [])
})

test('files do not import each other in a circle at run time', () => {
  assert.deepEqual(cyclesOf(sources), [], 'bundlers reorder modules, and a circle then crashes at load')
})

/** Rooms that are written as a user would write them. */
const AS_USERS = ['sync', 'io', 'proco']
/** What single files take of the core beyond that, and why. The list may only shrink. */
const BEYOND: Record<string, readonly [names: string, why: string]> = {
  'sync/messages.ts': [
    'deliver isRestarting CallWait markReceived listen unlisten EndListener ENDED EndCode ERROR',
    'a call is a part of mailboxes; its op is its own listener, which keeps the row "call" of the bench fast',
  ],
  'sync/mutex.ts': [
    'hasRunOut',
    'a lock is taken from a holder whose code is over, though its children are not',
  ],
  'sync/pool-acquire.ts': [
    'HoldBlock blocksOf',
    'an acquire prepares its resource before the body; a nested one shares it',
  ],
  'proco/crew.ts': ['DIED EndListener listen hasTraces tagError', 'waits for the second edition of proco'],
}
/** What is still read of the inside of a fiber there. The list may only shrink. */
const INSIDE = ['proco/crew.ts', 'proco/eventual.ts', 'proco/front.ts', 'proco/host.ts', 'proco/executor.ts']

test(`${AS_USERS.join(', ')} use of the core only what polyphony and polyphony/op export`, () => {
  const exported = new Set(
    sources
      .filter(({ path }) => path === 'index.ts' || path === 'op.ts')
      .flatMap(({ text }) => [...text.matchAll(/export (?:type )?\{([^}]*)\}/g)])
      .flatMap(([, names]) => (names as string).match(/\w+/g) ?? []),
  )
  const beyond = (path: string) => BEYOND[path]?.[0].split(' ') ?? []
  const imported = sources
    .filter(({ room }) => AS_USERS.includes(room))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/import (?:type )?\{([^}]*)\} from '(?:\.\.\/)+core\/index\.js'/g)]
        .flatMap(([, names]) => (names as string).match(/\w+/g) ?? [])
        .filter((name) => name !== 'type' && !exported.has(name))
        .map((name) => ({ path, name })),
    )
  assert.deepEqual(
    imported.filter(({ path, name }) => !beyond(path).includes(name)),
    [],
    'use what polyphony/op exports',
  )
  const needless = Object.keys(BEYOND).flatMap((path) =>
    beyond(path).filter((name) => !imported.some((each) => each.path === path && each.name === name)),
  )
  assert.deepEqual(needless, [], 'the exception is not needed any more')
  const inside =
    /\bfiber\b\??\.(?:rare|innermost|budget|op|how|value|body|args|locals|newest|owner|errors)\b|\.rareState\(/
  const reads = sources
    .filter(({ room, text }) => AS_USERS.includes(room) && inside.test(text))
    .map(({ path }) => path)
  assert.deepEqual(
    reads.filter((path) => !INSIDE.includes(path)),
    [],
  )
})

describe('the reader of imports', () => {
  const text = [
    "import { a } from './a.js'",
    "import type { B } from '../time/index.js'",
    'import {',
    '  c,',
    '  type D,',
    "} from './c.js'",
    "import { type E, type F } from './e.js'",
    "export * from 'node:fs'",
    "import 'left-pad'",
    "const lazy = await import('./lazy.js')",
    " * import { an } from 'example'",
  ].join('\n')
  const source = { path: 'core/made-up.ts', room: 'core', text }

  test('sees every form, and which imports are only of types', () => {
    assert.deepEqual(
      importsOf(source).map(({ from, isType }) => (isType ? `type ${from}` : from)),
      ['./a.js', 'type ../time/index.js', './c.js', 'type ./e.js', 'node:fs', 'left-pad', './lazy.js'],
    )
  })

  const timer = { path: 'time/made-up.ts', room: 'time', text: '' }
  const tester = { path: 'testing/made-up.ts', room: 'testing', text: '' }
  const rows: [Source, string, RegExp | undefined][] = [
    [source, './ring.js', undefined],
    [source, './no-such-file.js', /no such file/],
    [source, '../time/index.js', /higher floor/],
    [source, 'node:fs', /the core knows/],
    [timer, '../core/index.js', undefined],
    [timer, '../core/ring.js', /index\.ts/],
    [timer, '../node/index.js', /higher floor/],
    [timer, 'left-pad', /dependencies/],
    [timer, '../testing/index.js', /testing room/],
    [tester, '../core/index.js', undefined],
    [tester, '../time/index.js', /higher floor/],
  ]
  for (const [importer, from, expected] of rows) {
    test(`${importer.room} imports ${from}: ${expected?.source ?? 'allowed'}`, () => {
      const why = objection(importer, { from, isType: false })
      if (expected === undefined) assert.equal(why, undefined)
      else assert.match(why ?? '', expected)
    })
  }

  test('finds circles, but not those of types', () => {
    const file = (name: string, imports: string) => ({ path: `core/${name}.ts`, room: 'core', text: imports })
    const a = file('a', "import { b } from './b.js'")
    const b = file('b', "import { c } from './c.js'")
    const c = file('c', "import { a } from './a.js'")
    const outside = file('d', "import { a } from './a.js'")
    assert.deepEqual(cyclesOf([a, b, c, outside]), [['core/a.ts', 'core/b.ts', 'core/c.ts']])
    const harmless = file('c', "import type { a } from './a.js'")
    assert.deepEqual(cyclesOf([a, b, harmless, outside]), [])
  })
})
