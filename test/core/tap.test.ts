// tap: what happens to fibers, told as it happens.

import { assert, describe, Fiber, reports, sleep, snooze, spin, tap, test } from '../prelude.js'

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
    assert.match(reports()[0] ?? '', /a tap listener threw.*bad listener/)
  })
})
