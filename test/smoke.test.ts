import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sleep } from 'polyphony'
import { virtual } from 'polyphony/testing'

test('a body runs', async () => {
  assert.equal(
    await virtual(function* () {
      yield* sleep(3_600_000)
      return 42
    }),
    42,
  )
})
