// Wrong uses: each is refused with a sentence that says what is allowed.

import { assert, describe, Fiber, sleep, spin, supervise, test, thrownBy } from '../prelude.js'
import { refuses } from '../shared/refuses.js'

const body = () => 1
const list = (child: any) => supervise([child])
const spec = (options: object) => supervise([{ body, ...options }])
const intensity = (wrong: any) => supervise({ intensity: wrong })

describe('wrong arguments are refused at the call', () => {
  refuses([
    ['supervise()', supervise, [{ strategie: 1 }], /no option "strategie"; there are: restart, strategy/],
    [
      'supervise()',
      supervise,
      [{ restart: 'sometimes' }],
      /restart .* 'always', 'onError', 'never', got "sometimes"/,
    ],
    [
      'supervise()',
      supervise,
      [{ restart: true }],
      /the restart of supervise\(\) needs one of 'always', 'onError', 'never', got true/,
    ],
    ['supervise()', supervise, [{ strategy: 'all' }], /strategy .* 'oneForOne', 'oneForAll', 'restForOne'/],
    ['supervise()', supervise, [{ until: 'some' }], /until .* 'any', 'all', 'never'/],
    ['supervise()', supervise, [{ backoff: -1 }], /backoff/],
    ['supervise()', supervise, [{ jitter: 2 }], /the jitter of supervise\(\) needs a number from 0 to 1/],
    ['supervise()', supervise, [{ onDone: 1 }], /onDone of supervise\(\) needs a function/],
    ['supervise()', supervise, [{ onError: async () => {} }], /async function/],
    [
      'an intensity',
      intensity,
      [{ restarts: -1 }, { restarts: 1.5 }],
      /the restarts of the intensity of supervise\(\) need a whole number of 0 or more, or Infinity/,
    ],
    ['an intensity', intensity, [3], /intensity .* needs an object/],
    ['an intensity', intensity, [{ max: 3 }], /no option "max"; there are: restarts, within/],
    [
      'an intensity',
      intensity,
      [{ within: 0 }],
      /the within of the intensity of supervise\(\) needs a duration above 0/,
    ],
    ['an intensity', intensity, [{ within: -1 }], /duration/],
    [
      'before options, supervise()',
      (wrong) => supervise(wrong, {}),
      [{}],
      /array of children before its options/,
    ],
    ['a list', list, ['worker'], /is a fiber or \{name, body, args, restart, grace\}, got "worker"/],
    ['a list', list, [body], /is a fiber or/],
    ['a list', list, [{ name: 'x' }], /needs a function/],
    ['a spec', spec, [{ start: 1 }], /no option "start"; there are: name, body/],
    ['a spec', spec, [{ body: async () => {} }], /async function/],
    ['a spec', spec, [{ args: 1 }], /args of .* need an array/],
    ['a spec', spec, [{ grace: -1 }], /grace/],
    ['a spec', spec, [{ name: '' }], /name/],
    ['a spec', spec, [{ restart: 'x' }], /restart/],
  ])

  test('one fiber instead of a list, and the same fiber twice', function* () {
    const child = spin('child', () => sleep(1))
    const code = 'BAD_ARGUMENT'
    assert.throws(() => supervise(child as any), { code, message: /array of fibers, got one fiber/ })
    assert.throws(() => supervise([child, child]), { code, message: /main > child twice/ })
    yield* child
  })
})

describe('what cannot be supervised', () => {
  test('oneself and an ancestor: nothing is spun or moved', function* () {
    const main = Fiber.current
    const other = spin(() => sleep(10))
    const unspun = { body: () => assert.fail('it was spun') }
    yield* spin('supervisor', function* () {
      const self = yield* thrownBy(supervise([unspun, other, Fiber.current]))
      const above = yield* thrownBy(supervise([unspun, other, main]))
      assert.deepEqual([self.code, above.code], ['BAD_STATE', 'BAD_STATE'])
      assert.match(self.message, /main > supervisor cannot supervise itself/)
      assert.match(above.message, /main > supervisor cannot supervise main, which it belongs to/)
    })
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
    assert.throws(() => supervise()[Symbol.iterator]().next(), { code: 'NOT_IN_FIBER' })
  })
})
