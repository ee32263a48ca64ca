// Durations, paces, rates and backoffs that cannot be meant.

import { now } from 'polyphony'
import { check } from 'polyphony/op'
import { BACKOFF_OPTIONS, readBackoff } from '#time/backoff'
import { after, describe, every, sleep, spinLoop, Throttler, throttledLoop } from '../prelude.js'
import { NO_BODIES, needFiber, refuses } from '../shared/refuses.js'

const nothing = () => {}
const throttler = new Throttler(1)
const backoff = (options: any) => readBackoff(check.options(options, BACKOFF_OPTIONS, 'test()'), 'test()')
const WRONG_MS = [-1, Number.NaN, Infinity, 2 ** 31, '10', null]

describe('refused at the call', () => {
  refuses([
    [
      'sleep()',
      (ms) => sleep(ms),
      [...WRONG_MS.filter((ms) => ms !== Infinity), undefined],
      /sleep\(\) needs a duration/,
    ],
    ['after()', (ms) => after(ms, nothing), [...WRONG_MS, undefined], /after\(\) needs a duration/],
    ['after()', (body) => after(1, body), NO_BODIES, /after\(\)|function/],
    ['every()', (ms) => every(ms, nothing), WRONG_MS, /every\(\) needs a duration/],
    ['every()', (ms) => every(ms, nothing), [0], /every\(\) needs a period above 0/],
    ['every()', (body) => every(1, body), NO_BODIES, /every\(\)|function/],
    ['throttledLoop()', (body) => throttledLoop(1, body), NO_BODIES, /throttledLoop\(\)|function/],
    [
      'throttledLoop()',
      (pace) => throttledLoop(pace, nothing),
      [{}, { rate: 1, interval: 1 }],
      /needs either/,
    ],
    [
      'throttledLoop()',
      (pace) => throttledLoop(pace, nothing),
      [0, { rate: -1 }],
      /the rate of throttledLoop\(\) needs a number above 0/,
    ],
    ['throttledLoop()', (pace) => throttledLoop(pace, nothing), [{ speed: 1 }], /no option "speed"/],
    [
      'throttledLoop()',
      (burst) => throttledLoop({ interval: 0, burst }, nothing),
      [0, 1.5, '1'],
      /the burst of/,
    ],
    ['spinLoop()', (body) => spinLoop(body), NO_BODIES, /spinLoop\(\)|function/],
    ['spinLoop()', (options) => spinLoop(nothing, options), [null, 10], /needs an object of options/],
    ['spinLoop()', (options) => spinLoop(nothing, options), [{ nmae: 'x' }], /"nmae"; there are: .*\bname\b/],
    ['spinLoop()', (name) => spinLoop(nothing, { name }), [5, ''], /the name of spinLoop\(\) needs a string/],
    [
      'spinLoop()',
      (count) => spinLoop(nothing, { count }),
      [-1, Number.NaN, '2', null],
      /the count of spinLoop\(\) needs a number of 0 or more/,
    ],
    [
      'Throttler',
      (rate) => new Throttler(rate),
      [0, -1, Number.NaN, { rate: '1' }],
      /the rate of new Throttler\(\) needs a number above 0/,
    ],
    ['Throttler', (rate) => new Throttler(rate), [{ interval: 0 }], /needs an interval above 0/],
    ['Throttler', (rate) => new Throttler(rate), [Number.MIN_VALUE, 1e-306], /interval would be infinite/],
    ['Throttler', (rate) => new Throttler(rate), [{}, { rate: 1, interval: 1 }], /needs either a rate/],
    ['Throttler', (rate) => new Throttler(rate), [undefined, null, 'x'], /needs an object of options/],
    ['Throttler', (rate) => new Throttler(rate), [{ interval: -1 }], /needs a duration/],
    [
      'Throttler',
      (burst) => new Throttler({ rate: 1, burst }),
      [0, 1.5, null],
      /the burst of new Throttler\(\) needs a whole number above 0/,
    ],
    ['process()', (body) => throttler.process(body), NO_BODIES, /process\(\)|function/],
    [
      'a backoff',
      (wrong) => backoff({ backoff: wrong }),
      ['long', null],
      /is a number of milliseconds, \{delay/,
    ],
    ['a backoff', (wrong) => backoff({ backoff: wrong }), [-5], /the backoff of test\(\) needs a duration/],
    ['a backoff', (wrong) => backoff({ backoff: wrong }), [{ delay: 5, min: 1 }], /delay, factor, max/],
    ['a backoff', (delay) => backoff({ backoff: { delay } }), [undefined, -1], /the delay of the backoff/],
    ['a backoff', (max) => backoff({ backoff: { delay: 5, max } }), [-1, '1'], /the max of the backoff/],
    ['a backoff', (factor) => backoff({ backoff: { delay: 5, factor } }), [0.5, '2', Infinity], /1 or more/],
    ['a backoff', (ms) => backoff({ backoff: () => ms })(1), ['soon', -1], /needs a duration/],
    [
      'jitter',
      (jitter) => backoff({ jitter }),
      [-0.1, 1.1, '1', Number.NaN],
      /the jitter of test\(\) needs a number from 0 to 1/,
    ],
  ])
})

describe('outside any fiber', () => {
  needFiber([
    [() => throttler.tryWait(), /^throttler\.tryWait\(\) was used outside/],
    [() => now(), /^now\(\) was used outside/],
  ])
})
