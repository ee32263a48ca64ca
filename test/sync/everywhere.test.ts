// The scenarios of this room, stopped, raised in and made to fail at each of their switchpoints.

import { assert, describe, failEverywhere, raiseEverywhere, stopEverywhere, test } from '../prelude.js'
import { scenarios } from './scenarios.js'

describe('disturbed anywhere, nothing is lost', () => {
  for (const [name, scenario] of Object.entries(scenarios)) {
    test(name, () => {
      let last = () => {}
      const run = () => scenario({ check: (check) => (last = check), kill() {} })
      const options = { check: () => last() }
      const { switchpoints } = stopEverywhere(run, options)
      assert.ok(switchpoints >= 4, `${switchpoints} switchpoints`)
      raiseEverywhere(run, options)
      failEverywhere(run, options)
    })
  }
})
