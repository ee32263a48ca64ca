// tap: what happens to fibers, told as it happens.

import {
  assert,
  describe,
  Fiber,
  failing,
  neverLetsGo,
  reports,
  sleep,
  snooze,
  spin,
  tap,
  test,
} from '../prelude.js'

/** With options, which the types of an older `tap` do not know. */
const tapWith = tap as (
  listener: (event: any, fiber: Fiber, detail?: any) => void,
  options?: any,
) => () => void

describe('tap', () => {
  test('tells what happens to each fiber, in order, until it is ended', function* () {
    const seen: [Fiber<any>, string][] = []
    const untap = tap((event, fiber) => seen.push([fiber, event]))
    const child = spin(() => sleep(1))
    yield* child
    untap()
    const unseen = spin(() => sleep(1))
    yield* unseen
    const of = (fiber: Fiber<any>) => seen.filter(([subject]) => subject === fiber).map(([, event]) => event)
    assert.deepEqual(of(child), ['spin', 'schedule', 'unblock', 'block', 'schedule', 'unblock', 'end'])
    assert.deepEqual(of(Fiber.current), ['block', 'schedule', 'unblock'])
    assert.deepEqual(of(unseen), [])
    assert.deepEqual(seen.at(-1), [Fiber.current, 'unblock'])
  })

  test('knows the name of a fiber from its first event, and the op that it waits in', function* () {
    const seen: string[] = []
    const untap = tap((event, fiber, detail: any) =>
      seen.push(`${event} ${fiber.name} ${detail?.describe?.() ?? ''}`),
    )
    spin('plainly', () => sleep(5))
    spin({ name: 'in options' }, () => {})
    assert.equal(seen.join(), 'spin plainly ,schedule plainly ,spin in options ,schedule in options ')
    yield* sleep(1)
    untap()
    assert.ok(seen.includes('block plainly sleep(5)'), String(seen))
  })

  test('notes stops, raises and messages to the dead', function* () {
    const seen: string[] = []
    const untap = tap((event, fiber) => seen.push(`${event} ${fiber.name}`))
    const stopped = spin('stopped', () => sleep())
    yield* snooze()
    yield* stopped.stop()
    stopped.send('too late')
    yield* spin({ name: 'raised', link: false }, () => sleep()).raise('oh')
    untap()
    for (const note of ['stop stopped', 'end stopped', 'deadLetter stopped', 'raise raised', 'end raised']) {
      assert.ok(seen.includes(note), `${note} is missing in ${seen}`)
    }
  })

  test('S70 a listener that throws is reported and harms nothing; the others still hear', function* () {
    let heard = 0
    const untap = [tap(() => assert.fail('bad listener')), tap(() => heard++)]
    assert.equal(yield* spin(() => 42), 42)
    for (const each of untap) each()
    assert.ok(heard > 0)
    assert.match(reports()[0] ?? '', /a tap listener failed.*bad listener/)
  })

  test('with a list of events tells of these only, each listener of its own', function* () {
    const [ends, spins, everything]: [string[], string[], Set<string>] = [[], [], new Set()]
    const untaps = [
      tapWith((event, fiber) => ends.push(`${event} ${fiber.name}`), { events: ['spin', 'end'] }),
      tapWith((event, fiber) => spins.push(`${event} ${fiber.name}`), { events: ['spin'] }),
      tapWith((event) => everything.add(event)),
    ]
    yield* spin('worker', function* () {
      for (let i = 0; i < 3; i++) yield* snooze()
    })
    untaps[1]!()
    yield* spin('other', () => sleep(1))
    for (const untap of untaps) untap()
    yield* spin('unheard', () => sleep(1))
    assert.deepEqual(ends, ['spin worker', 'end worker', 'spin other', 'end other'])
    assert.deepEqual(spins, ['spin worker'])
    for (const event of ['spin', 'schedule', 'unblock', 'block', 'end'])
      assert.ok(everything.has(event), event)
  })

  test('an empty list hears nothing', function* () {
    const untap = tapWith(() => assert.fail('heard'), { events: [] })
    yield* spin(() => sleep(1))
    untap()
    assert.deepEqual(reports(), [])
  })

  for (const [wrong, message] of [
    [{ events: ['spin', 'ends'] }, /"ends"/],
    [{ events: 'spin' }, /"spin"/],
    [{ events: null }, /null/],
    [{ event: ['spin'] }, /no option "event"; there are: events/],
    [null, /an object of options, got null/],
  ] as [unknown, RegExp][]) {
    test(`refuses ${JSON.stringify(wrong)}`, () => {
      assert.throws(() => tapWith(() => {}, wrong)(), { code: 'BAD_ARGUMENT', message })
    })
  }

  test('at the end of a fiber knows how it ended: the outcome is the detail, and the fiber has it too', function* () {
    const seen: Record<string, unknown[]> = {}
    const untap = tapWith((event, fiber, detail) => {
      if (event === 'end') seen[fiber.name] = [detail, fiber.outcome, fiber.state]
    })
    const fibers = [
      spin('value', () => 42),
      spin({ name: 'error', link: false }, () => failing('boom')),
      spin('stopped', () => sleep()),
      spin('killed before it began', () => sleep()),
      spin({ name: 'abandoned', link: false }, () => neverLetsGo()),
    ] as Fiber[]
    fibers[3]!.kill()
    yield* sleep(1)
    fibers[2]!.stop('enough')
    fibers[4]!.kill()
    for (const fiber of fibers) yield* fiber.join()
    untap()
    for (const { name, outcome } of fibers) assert.deepEqual(seen[name], [outcome, outcome, 'dead'], name)
  })

  test('tells of a move by attachTo and detach, when the fiber is in its new place', function* () {
    const seen: unknown[] = []
    const untap = tapWith(
      (event, fiber) => void (event === 'move' && seen.push([fiber.name, fiber.parent?.name])),
    )
    const home = spin('home', () => sleep(10))
    const parent = spin('parent', function* () {
      spin('child', () => sleep(10))
      yield* sleep(10)
    })
    yield* sleep(1)
    const child = parent.children[0] as Fiber
    child.attachTo(home)
    child.detach()
    yield* Fiber.current.joinChildren()
    untap()
    assert.deepEqual(seen, [
      ['child', 'home'],
      ['child', 'main'],
    ])
  })

  test('tells of a second stop only if it brings the deadline nearer', function* () {
    const graces: number[] = [5000, 1000, 2000, 500]
    let stops = 0
    const untap = tapWith(() => stops++, { events: ['stop'] })
    const fiber = spin(() => sleep())
    yield* snooze()
    for (const grace of graces) fiber.stop(undefined, { grace })
    untap()
    yield* fiber.join()
    assert.equal(stops, 3)
  })
})
