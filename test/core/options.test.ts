// The checks of arguments and options: what passes, and what is said of the rest.

import { type Check, check } from 'polyphony/op'
import { assert, BadArgument, describe, test } from '../prelude.js'

const nothing = () => {}

describe('a check', () => {
  const rows: [name: string, check: Check, right: unknown[], needed: string, wrong: unknown[]][] = [
    [
      'ms',
      check.ms,
      [0, 1.5, 2 ** 31 - 1],
      'a duration from 0 to 2147483647 milliseconds',
      [-1, Infinity, '1'],
    ],
    ['timeLimit', check.timeLimit, [0, Infinity], 'a duration from 0', [-1, Number.NaN, null]],
    ['name', check.name, ['x'], 'a string that is not empty', ['', 5, undefined]],
    ['boolean', check.boolean, [true, false], 'true or false', [0, 'yes', undefined]],
    ['count', check.count, [1, 1000], 'a whole number above 0', [0, 1.5, Infinity, '1', undefined]],
    ['limit', check.limit, [1, Infinity], 'a whole number above 0, or Infinity', [0, 1.5, -Infinity, '1']],
    ['number(0, 1)', check.number(0, 1), [0, 0.5, 1], 'a number from 0 to 1', [-0.1, 1.1, Number.NaN, '0']],
    ['number(0)', check.number(0), [0, Infinity], 'a number of 0 or more', [-1, Number.NaN, undefined]],
    ['oneOf()', check.oneOf('a', 'b'), ['a', 'b'], "one of 'a', 'b'", ['c', 1, undefined]],
    ['function', check.function, [nothing, async () => {}], 'a function', [1, {}, undefined]],
    ['array', check.array, [[], [1]], 'an array', [{}, 'abc', undefined]],
    ['signal', check.signal, [new AbortController().signal], 'an AbortSignal', [{}, null, undefined]],
    ['any', check.any, [1, undefined, null], '', []],
  ]
  for (const [name, each, right, needed, wrong] of rows) {
    test(`${name} lets pass what is right, and names the rest`, () => {
      for (const value of right) each(value, 'here()')
      for (const value of wrong) {
        const isIt = (error: unknown) =>
          error instanceof BadArgument && error.message.startsWith(`here() needs ${needed}`)
        assert.throws(() => each(value, 'here()'), isIt, String(value))
      }
    })
  }
})

describe('check.options()', () => {
  const TABLE = { name: check.name, args: check.array }
  const of = (given: any, required?: 'name'[]) => check.options(given, TABLE, 'open()', required)

  test('gives the options; one that is undefined counts as left out', () => {
    const given = { name: undefined, args: [] }
    assert.equal(of(given), given)
  })

  const wrong: [given: unknown, required: 'name'[], message: string][] = [
    [5, [], 'open() needs an object of options, got 5'],
    [null, [], 'open() needs an object of options, got null'],
    [[], [], 'open() needs an object of options, got an array of 0'],
    [new Map(), [], 'open() needs an object of options, got an object of class Map'],
    [Promise.resolve(), [], 'open() needs an object of options, got an object of class Promise'],
    [new Error('x'), [], 'open() needs an object of options, got Error: x'],
    [{ nmae: 'x' }, [], 'open() has no option "nmae"; there are: name, args'],
    [{ constructor: 1 }, [], 'open() has no option "constructor"; there are: name, args'],
    [{ name: '' }, [], 'the name of open() needs a string that is not empty, got ""'],
    [{ args: 1 }, [], 'the args of open() need an array, got 1'],
    [{ args: [] }, ['name'], 'the name of open() needs a string that is not empty, got undefined'],
  ]
  for (const [given, required, message] of wrong) {
    test(`refuses: ${message}`, () =>
      assert.throws(() => of(given, required), { code: 'BAD_ARGUMENT', message }))
  }

  test('takes a list of names where there is nothing to check', () => {
    assert.deepEqual(check.options({ a: 1 }, ['a', 'b'], 'open()'), { a: 1 })
    assert.throws(() => check.options({ c: 1 }, ['a', 'b'], 'open()'), { message: /"c"; there are: a, b$/ })
  })
})
