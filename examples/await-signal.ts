// The work is done in a fiber of its own; main waits for a signal. Because somebody waits for it, the signal does not stop the
// program: what comes next is for main to say. Try Ctrl-C, or: kill -TERM <pid>

import { awaitSignal, every, main, moveOnAfter, spin } from 'polyphony'

const [pace = '500'] = process.argv.slice(2)

main(function* () {
  let pages = 0
  const worker = spin('worker', () => every(Number(pace), () => console.log(`page ${++pages}`)))

  const signal = yield* awaitSignal('INT', 'TERM')
  console.log(`got ${signal}, quitting`)
  yield* worker.stop()

  const again = yield* moveOnAfter(50, () => awaitSignal('INT'), 'nobody objects')
  console.log(again)
})
