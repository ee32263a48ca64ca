// Measures every line of a chart.
import { run } from '../../dist/index.js'
import { configurationsOf } from './configurations.js'

/** The lines of a model's chart: its configurations, with `seconds`, and how many `seeks` it took. */
export async function measure(model, isQuick, progress) {
  const { items, passes } = isQuick ? model.quick : model
  const lines = configurationsOf(model.name, model.template).map((configuration) => ({
    ...configuration,
    items,
    seconds: Infinity,
  }))
  for (let pass = 1; pass <= passes; pass++) {
    for (const [i, line] of lines.entries()) {
      progress(model, (pass - 1) * lines.length + i, passes * lines.length, line.name)
      const result = await once(model, line, items)
      if (result.seconds < line.seconds) Object.assign(line, result)
    }
  }
  return lines
}

async function once(model, line, items) {
  let seeks = 0
  const seek = () => void seeks++
  const seconds = await model.open((tasks) => elapsed(line, tasks, items), seek)
  return { seconds, seeks: model.seeks === undefined ? undefined : seeks }
}

async function elapsed({ make, batch }, { task, batchTask }, items) {
  const begin = performance.now()
  if (make === undefined) await run(() => loop(task, items))
  else await run(() => submitAll(make().start(batch ? batchTask : task), items))
  return (performance.now() - begin) / 1000
}

/** Without an executor: one item after the other. */
function* loop(task, items) {
  for (let i = 0; i < items; i++) {
    const doing = task(i)
    if (typeof doing === 'object') yield* doing
  }
}

function* submitAll(proco, items) {
  for (let i = 0; i < items; i++) yield* proco.submitAsync(i)
  yield* proco.exit()
}
