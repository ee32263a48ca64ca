// The operators that make mutants: what each does to a piece of code, and that every mutant can be switched on alone.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

const { instrument, isUsual } = await import(
  new URL('../../../scripts/mutate/operators.js', import.meta.url).href
)

interface Mutant {
  id: number
  operator: string
  key: string
}

/** What the body of a function gives with no mutant on, and with each one: `operator text: result`. */
function tried(body: string, ...args: unknown[]): string[] {
  const { mutants, source } = instrument('made-up.js', `function f(a, b, log) {${body}}`, 0, '')
  const run = (active: number) => {
    const made = new Function('$m', `${source}; return f`)((id: number) => id === active)
    const log: unknown[] = []
    return `${made(...args, log)} ${log}`.trim()
  }
  return [
    run(-1),
    ...mutants.map(
      ({ id, operator, key }: Mutant) => `${operator} ${key.split(` ${operator} `)[1]}: ${run(id)}`,
    ),
  ]
}

describe('operators', () => {
  const rows: [string, string, unknown[], string[]][] = [
    [
      'a branch is never, or always, taken',
      "if (a) return 'yes'; return 'no'",
      [1, 0],
      ['yes', 'never a: no', 'always a: yes'],
    ],
    [
      'a branch that throws is never taken',
      "if (!a) throw new Error('no'); return 'yes'",
      [1, 0],
      ['yes', 'never !a: yes'],
    ],
    ['either half of a condition', 'return a && b', [1, 2], ['2', 'left a && b: 1', 'right a && b: 2']],
    ['an edge', 'return a < b', [1, 1], ['false', 'edge a < b: true']],
    ['the other value', "return a ? 'x' : 'y'", [1, 0], ['x', 'other a: y']],
    ['a sentence is left empty', "return 'it is so'", [1, 0], ['it is so', "mute 'it is so': "]],
    [
      'a statement is left out',
      'log.push(a); a += b; a++; return a',
      [1, 2],
      ['4 1', 'without log.push(a);: 4', 'without a += b;: 2 1', 'without a++;: 3 1'],
    ],
    [
      'the only statement of an if is not left out: never does that',
      'if (a) { log.push(1) }',
      [1, 0],
      ['undefined 1', 'never a: undefined', 'always a: undefined 1'],
    ],
    [
      'nested places',
      'return a ? (b < 1 ? 1 : 2) : 3',
      [1, 1],
      ['2', 'other a: 3', 'other b < 1: 1', 'edge b < 1: 1'],
    ],
  ]
  for (const [what, body, args, expected] of rows) {
    test(what, () => assert.deepEqual(tried(body, ...args), expected))
  }

  test('a call in a constructor stays', () => {
    const { mutants } = instrument('made-up.js', 'class A { constructor() { this.x = 1 } }', 0, '')
    assert.deepEqual(mutants, [])
  })

  test('keys name the function and not the line, and equal places are numbered', () => {
    const { mutants } = instrument('a.js', 'class A { b() { f(1); f(1); } }\nfunction c() { f(1); }', 7, '')
    assert.deepEqual(
      mutants.map(({ id, key }: Mutant) => [id, key]),
      [
        [7, 'a.js A.b without f(1);'],
        [8, 'a.js A.b without f(1); #2'],
        [9, 'a.js c without f(1);'],
      ],
    )
  })

  test('lines stay where they were', () => {
    const source = 'function f(a) {\n  if (a) return 1\n  f(\n    2,\n  )\n}\n'
    assert.equal(instrument('a.js', source, 0, 'h;').source.split('\n').length, source.split('\n').length)
  })

  test('only never, other and without must be noticed', () => {
    const usual = ['never', 'always', 'left', 'right', 'edge', 'other', 'mute', 'without'].filter(
      (operator) => isUsual({ operator }),
    )
    assert.deepEqual(usual, ['never', 'other', 'without'])
  })
})
