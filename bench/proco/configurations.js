// The lines of a chart: every configuration that is measured, by the name it has there.

const THREADS = [2, 4, 8]
const QUEUES = [1, 4]

/** `name` is what the executor is made from in the chart, `template` what it is made from. */
export function configurationsOf(name, template) {
  const list = [
    { name: 'loop' },
    { name: `${name}.new()`, threads: 1, queues: 1, batch: false, make: () => template.new() },
  ]
  for (const threads of THREADS) {
    for (const queues of QUEUES) {
      for (const batch of [false, true]) {
        list.push({
          name: `${name}.threads(${threads}).queues(${queues})${batch ? '.batch(true)' : ''}.new()`,
          threads,
          queues,
          batch,
          make: () => template.threads(threads).queues(queues).batch(batch).new(),
        })
      }
    }
  }
  return list
}
