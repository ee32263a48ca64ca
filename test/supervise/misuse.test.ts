// Wrong uses: each is refused with a sentence that says what is allowed.

import { assert, describe, Fiber, sleep, spin, supervise, test, thrownBy } from '../prelude.js'

const body = () => 1

describe('wrong arguments are refused at the call', () => {
  const wrong: [string, () => unknown, RegExp][] = [
    [
      'an unknown option',
      () => supervise({ strategie: 1 } as any),
      /no option "strategie"; there are: restart, strategy/,
    ],
    [
      'an unknown rule',
      () => supervise({ restart: 'sometimes' as any }),
      /restart .* 'always', 'onError', 'never', got "sometimes"/,
    ],
    [
      'an unknown strategy',
      () => supervise({ strategy: 'one_for_all' as any }),
      /strategy .* 'oneForOne', 'oneForAll', 'restForOne'/,
    ],
    ['an unknown until', () => supervise({ until: 'some' as any }), /until .* 'any', 'all', 'never'/],
    [
      'a negative intensity',
      () => supervise({ intensity: { restarts: -1 } }),
      /restarts that are a whole number/,
    ],
    [
      'a broken intensity',
      () => supervise({ intensity: { restarts: 1.5 } }),
      /restarts that are a whole number/,
    ],
    [
      'an intensity that is a number',
      () => supervise({ intensity: 3 as any }),
      /intensity .* needs an object/,
    ],
    [
      'an unknown name in it',
      () => supervise({ intensity: { max: 3 } as any }),
      /no option "max"; there are: restarts, within/,
    ],
    ['no time in it', () => supervise({ intensity: { within: 0 } }), /time above 0/],
    ['a bad time in it', () => supervise({ intensity: { within: -1 } }), /duration/],
    ['a bad back-off', () => supervise({ backoff: -1 }), /backoff/],
    ['a bad jitter', () => supervise({ jitter: 2 }), /jitter from 0 to 1/],
    [
      'an onDone that is none',
      () => supervise({ onDone: 1 as any }),
      /onDone of supervise\(\) needs a function/,
    ],
    ['an async onError', () => supervise({ onError: (async () => {}) as any }), /async function/],
    ['one fiber', () => supervise(spin(body) as any), /array of fibers, got one fiber/],
    ['options twice', () => supervise({} as any, {}), /array of children before its options/],
    [
      'a child that is none',
      () => supervise(['worker' as any]),
      /is a fiber or \{name, body, args, restart, grace\}, got "worker"/,
    ],
    ['a function', () => supervise([body as any]), /is a fiber or/],
    [
      'an unknown name in a spec',
      () => supervise([{ body, start: 1 } as any]),
      /no option "start"; there are: name, body/,
    ],
    ['a spec without a body', () => supervise([{ name: 'x' } as any]), /needs a function/],
    ['an async body', () => supervise([{ body: (async () => {}) as any }]), /async function/],
    ['arguments that are no array', () => supervise([{ body, args: 1 as any }]), /args of .* are an array/],
    ['a bad grace', () => supervise([{ body, grace: -1 }]), /grace/],
    ['a bad name', () => supervise([{ body, name: '' }]), /name/],
    ['a bad rule in a spec', () => supervise([{ body, restart: 'x' as any }]), /restart/],
  ]
  for (const [what, call, message] of wrong) {
    test(what, function* () {
      assert.throws(call, { code: 'BAD_ARGUMENT', message })
      yield* Fiber.current.shutdownChildren()
    })
  }

  test('the same fiber twice', function* () {
    const child = spin('child', () => sleep(1))
    assert.throws(() => supervise([child, child]), { code: 'BAD_ARGUMENT', message: /main > child twice/ })
    yield* child
  })
})

describe('what cannot be supervised', () => {
  test('oneself and an ancestor: nothing is spun or moved', function* () {
    let runs = 0
    const main = Fiber.current
    const other = spin('other', () => sleep(10))
    const supervisor = spin('supervisor', function* () {
      const spec = { body: () => void runs++ }
      const self = yield* thrownBy(supervise([spec, other, Fiber.current]))
      assert.equal(self.code, 'BAD_STATE')
      assert.match(self.message, /main > supervisor cannot supervise itself/)
      const above = yield* thrownBy(supervise([spec, other, main]))
      assert.equal(above.code, 'BAD_STATE')
      assert.match(above.message, /main > supervisor cannot supervise main, which it belongs to/)
    })
    yield* supervisor
    assert.equal(runs, 0)
    assert.equal(other.parent, main)
  })

  test('the root of another tree: what was spun before it is stopped again', function* () {
    const root = Fiber.outOfBand(() => sleep(10))
    const child = spin('child', () => sleep())
    const error = yield* thrownBy(supervise([child, root]))
    assert.equal(error.code, 'BAD_STATE')
    assert.match(error.message, /root of its tree/)
    assert.equal(child.state, 'dead')
    yield* root
  })

  test('without a fiber it is an error at the yield*', () => {
    const op = supervise()
    assert.throws(() => op[Symbol.iterator]().next(), { code: 'NOT_IN_FIBER' })
  })
})
