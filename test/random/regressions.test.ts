// Programs that once went wrong, as they were printed by npm run test:random, the smallest form of each.

import { test } from 'node:test'
import { agrees, keepsRules } from './check.js'

test('S41 a stop after two restarts ends the fiber with its own value', () =>
  agrees([
    { do: 'restart', of: 0 },
    { do: 'restart', of: 0 },
    { do: 'stop', of: 0, how: 'value', wait: false },
    { do: 'sleep', ms: 0 },
  ]))

test('S19 a forced body whose error is caught inside ends with its block: nothing after it is run', () =>
  agrees([
    {
      do: 'cancelAfter',
      ms: 0,
      body: [
        {
          do: 'try',
          body: [{ do: 'ensure', body: [], cleanup: [{ do: 'receive' }] }],
          catch: 'errors',
          handler: [],
          finally: null,
        },
      ],
    },
  ]))

test('S17 a limit set while unwinding may cut cleanup that was begun by a refusal', () =>
  agrees([
    { do: 'try', body: [{ do: 'receive' }], catch: 'all', handler: [], finally: null },
    {
      do: 'moveOn',
      ms: 1,
      body: [
        {
          do: 'try',
          body: [{ do: 'receive' }],
          catch: 'nothing',
          handler: [],
          finally: [{ do: 'sleep', ms: 2 }],
        },
      ],
    },
  ]))

test('S26 S31 an error that comes up as Fiber.await begins is thrown at once, and nobody is stopped', () =>
  keepsRules([
    { do: 'spin', link: true, body: [{ do: 'await', of: 1 }] },
    { do: 'snooze' },
    { do: 'spin', link: true, body: [] },
    { do: 'awaitAll', of: [2, 1] },
  ]))

test('S44 supervise does not try to restart a child that goes back to a scope which is over', () =>
  keepsRules([
    { do: 'all', body: [{ do: 'use', ms: 0, fails: false }] },
    {
      do: 'supervise',
      strategy: 'oneForOne',
      restart: 'always',
      until: 'all',
      ms: 0,
      body: [{ do: 'await', of: 1 }],
    },
  ]))
