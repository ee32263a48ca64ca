// Programs that once went wrong, as they were printed by npm run test:random, the smallest form of each.

import { test } from 'node:test'
import { agrees } from './check.js'

test('S41 a stop after two restarts ends the fiber with its own value', () =>
  agrees([
    { do: 'restart', of: 0 },
    { do: 'restart', of: 0 },
    { do: 'stop', of: 0, how: 'value', wait: false },
    { do: 'sleep', ms: 0 },
  ]))
