// The suite passes on a busy machine: no test waits for the real clock.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ALLOWED, allClockUses, blanked, isAllowed, realClockUses, testSources } from './clock.js'

describe('tests and the real clock', () => {
  const sources = testSources()

  it('in-process tests never use the real clock', () => {
    assert.deepEqual(realClockUses(sources), [])
  })

  it('every exception is still needed', () => {
    const uses = allClockUses(sources)
    const idle = ALLOWED.filter((allowed) => !uses.some((use) => isAllowed(use, allowed)))
    assert.deepEqual(idle, [])
  })
})

describe('the check for the real clock', () => {
  /** The lines that are found in made-up files, as `file:line`. */
  const found = (files: Record<string, string[]>) =>
    realClockUses(new Map(Object.entries(files).map(([path, lines]) => [path, lines.join('\n')]))).map(
      ({ file, line }) => `${file}:${line}`,
    )
  const POLYPHONY = "import { moveOnAfter, run, sleep, spin } from 'polyphony'"

  const clocks = [
    'await new Promise((resolve) => setTimeout(resolve, 5))',
    'const timer = setInterval(look, 100)',
    "import { setTimeout as wait } from 'node:timers/promises'",
    'const begin = performance.now()',
    'const { now } = performance',
    'const begin = Date.now()',
    'const begin = new Date()',
    'const begin = +new Date',
    'await timers.scheduler.wait(50)',
    'const begin = process.hrtime.bigint()',
    'await fetch(url, { signal: AbortSignal.timeout(100) })',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the source of a test
    'await program(`sleep(${Date.now()})`)',
  ]
  for (const line of clocks) {
    it(`finds ${line}`, () => assert.deepEqual(found({ 'test/a.test.ts': ['', line] }), ['test/a.test.ts:2']))
  }

  const waits = [
    'await run(() => sleep(1))',
    'await run(() => sleep(0))',
    'await run(() => sleep(ms))',
    "await run(() => moveOnAfter(20, () => receive(), 'late'))",
    'await run(() => cancelAfter(20, () => receive()))',
    'await run(() => after(5, () => {}))',
    'await run(() => connect({ port, timeout: 100 }))',
    'const loop = run(() => spinLoop(look, { interval: 10 }))',
    'await run(() => look(now() + 30))',
    'await run(() => failAfter(5, new Error()))',
    'await run(() => waits(() => log.push(1), 5))',
    'const running = run(() => spin({ grace: 20 }, () => sleep()))',
    'await virtual(() => until(run(() => sleep(1))))',
  ]
  for (const line of waits) {
    it(`finds ${line}`, () =>
      assert.deepEqual(found({ 'test/a.test.ts': [POLYPHONY, line] }), ['test/a.test.ts:2']))
  }

  it('finds a wait in a body of several lines, also if run comes from the prelude', () => {
    const lines = [
      "import { run, sleep, spin } from '../prelude.js'",
      'await run(function* () {',
      '  spin(work)',
      '  yield* sleep(1)',
      '})',
    ]
    assert.deepEqual(found({ 'test/a.test.ts': lines }), ['test/a.test.ts:4'])
  })

  it('finds a wait in a function that is named in the body, here and in another file', () => {
    const lines = [
      "import { main as start } from 'polyphony'",
      "import { slow } from './slow.js'",
      'const body = () => slow()',
      'start(body)',
    ]
    const slow = [
      'function* nap() {',
      '  yield* sleep(5)',
      '}',
      'export function* slow() {',
      '  yield* nap()',
      '}',
    ]
    assert.deepEqual(found({ 'test/a.test.ts': lines, 'test/slow.ts': slow }), ['test/slow.ts:2'])
  })

  it('finds a wait in a row of a table that a loop runs', () => {
    const lines = [POLYPHONY, 'const rows = {', '  nap: () => sleep(1),', '}']
    lines.push('for (const [name, row] of Object.entries(rows)) {', '  it(name, () => run(row))', '}')
    assert.deepEqual(found({ 'test/a.test.ts': lines }), ['test/a.test.ts:3'])
  })

  it('finds a wait in what is given to a helper that calls run', () => {
    const helper = [
      "import { run } from 'polyphony'",
      'export async function real(body) {',
      '  await run(body)',
      '}',
    ]
    const lines = [
      "import { real } from './real.js'",
      "it('waits', () =>",
      '  real(function* () {',
      '    yield* sleep(1)',
      '  }))',
    ]
    assert.deepEqual(found({ 'test/real.ts': helper, 'test/a.test.ts': lines }), ['test/a.test.ts:4'])
  })

  it('lets pass what does not wait for time, the bound of a hang, the virtual clock, and programs', () => {
    const lines = [
      POLYPHONY,
      'const LIMIT = 30_000',
      'await run(() => sleep()) // setTimeout, sleep(1)',
      'await run(() => moveOnAfter(0, () => receive()))',
      'await run(() => waits(() => log.push(1)))',
      'await run(() => moveOnAfter(LIMIT, () => receive()))',
      'await run(() => moveOnAfter(10_000, () => receive()))',
      'await run(() => until(virtual(() => sleep(5))))',
      'await virtual(() => sleep(5))',
      'await world.run(() => sleep(5))',
      'await run(() => exec(node, [`setTimeout(() => {}, 5); sleep(5)`]))',
      "await run(() => exec(node, ['sleep(5) // performance.now()']))",
      'it.each(names, () => {',
      '  const body = () => sleep(5)',
      '  return virtual(body)',
      '})',
      'await run(() => body())', // another body, which is not seen from there
      'const said = text.replace(/setTimeout\\(`/g, "")',
      'const date = new Date(2024, 1, 29)',
    ]
    assert.deepEqual(found({ 'test/a.test.ts': lines }), [])
  })

  it('knows code from text and comments', () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a source
    const source = "a('it\\'s', \"b\", `c ${d({ e: `f ${g}` })} h`, /i\\/[/]j/g) // k\n/* l\n */ m / n / o"
    assert.equal(blanked(source).replace(/ +/g, ' '), 'a( , , d({ e: g }) , ) \n \n m / n / o')
  })
})
