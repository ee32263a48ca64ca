// Which frames of a stack are the library's own, by the address from which the library was loaded.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { libraryPlaces, userStack } from '#core/debug'

const installed = 'file:///home/me/my%20app/node_modules/polyphony/dist/core/debug.js'
const onWindows = 'file:///C:/app/node_modules/polyphony/dist/core/debug.js'
const fromSource = 'file:///home/me/polyphony/src/core/debug.ts'
const bundled = 'file:///home/me/app/dist/bundle.mjs'
const user = 'at inner (file:///home/me/my%20app/dist/core/boom.js:2:44)'

/** Frames that are removed when the library was loaded from `url`, and frames that stay. */
const rows: { title: string; url: unknown; hidden: string[]; kept: string[] }[] = [
  {
    title: 'installed: frames below its dist and src, as addresses and as paths, are removed',
    url: installed,
    hidden: [
      'at step (file:///home/me/my%20app/node_modules/polyphony/dist/core/step.js:37:28)',
      'at file:///home/me/my%20app/node_modules/polyphony/dist/node/backend.js:36:33',
      'at step (/home/me/my app/node_modules/polyphony/src/core/step.ts:37:28)',
      'at async /home/me/my app/node_modules/polyphony/src/node/run.ts:3:2',
    ],
    kept: [
      user,
      'at inner (/home/me/my app/src/core/boom.ts:2:44)',
      'at inner (/mnt/home/me/my app/node_modules/polyphony/src/boom.ts:2:44)',
      'at inner (file:///home/me/my%20app/node_modules/polyphony-extras/dist/core/step.js:1:1)',
    ],
  },
  {
    title: 'installed on Windows',
    url: onWindows,
    hidden: [
      'at step (file:///C:/app/node_modules/polyphony/dist/core/step.js:37:28)',
      'at step (C:\\app\\node_modules\\polyphony\\src\\core\\step.ts:37:28)',
    ],
    kept: ['at inner (C:\\app\\src\\boom.ts:2:44)', 'at inner (file:///C:/app/dist/boom.js:2:44)'],
  },
  {
    title: 'run from its source',
    url: fromSource,
    hidden: ['at step (file:///home/me/polyphony/src/core/step.ts:37:28)'],
    kept: ['at inner (file:///home/me/polyphony/test/boom.ts:2:44)'],
  },
  {
    title: 'in an ES module bundle no frame but those of the engine is removed',
    url: bundled,
    hidden: ['at process.processTimers (node:internal/timers:520:9)', 'at Generator.next (<anonymous>)'],
    kept: ['at inner (file:///home/me/app/dist/bundle.mjs:2:44)', 'at step (/home/me/app/src/step.ts:3:4)'],
  },
  {
    title: 'in a CommonJS bundle, where a module has no address, likewise',
    url: undefined,
    hidden: ['at process.processTimers (node:internal/timers:520:9)'],
    kept: ['at inner (/home/me/app/dist/bundle.cjs:2:44)', user],
  },
]

describe('frames of the library', () => {
  for (const { title, url, hidden, kept } of rows) {
    it(title, () => {
      const lines = (frames: string[]) => ['Error: boom', ...frames.map((frame) => `    ${frame}`)].join('\n')
      assert.equal(userStack(lines([...hidden, ...kept]), libraryPlaces(url)), lines(kept))
    })
  }
})
