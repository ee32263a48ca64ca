// The tasks that are measured: one that only computes, a disk that is imitated, and a real one. Each is an object:
//
//   title, about   what the chart is called, and a few lines on what is done
//   name, template   what the executors are made from
//   items, passes  how many items, and how often; the shortest time counts. `quick` has others, for a smoke test
//   seeks          what the seeks of its disk are called in the chart; undefined if it has none
//   kind           which sentences are said of its figures (analysis.js)
//   open(use, seek)   calls `use({ task, batchTask })` with what is done for one item, and for many: bodies, which call
//                  `seek()` whenever the disk must be waited for
import { Mutex, sleep, until } from '../../dist/index.js'
import { Proco } from '../../dist/proco/index.js'
import { append, RECORD, withFile } from '../disk.js'

const NUMBERS = Array.from({ length: 10_000 }, (_, i) => i + 1)
const add = (a, b) => a + b
const sum = () => NUMBERS.reduce(add)

const cpu = {
  kind: 'cpu',
  items: 20_000,
  passes: 5,
  quick: { items: 200, passes: 1 },
  open: (use) =>
    use({
      task: sum,
      batchTask: (items) => {
        for (let i = 0; i < items.length; i++) sum()
      },
    }),
}

const disk = {
  title: 'Safe disk I/O, imitated',
  about: [
    'Each item is a record of 50 kB that must be on the disk: 10 ms for the seek of an fsync, and 1 ms for the transfer of',
    'each record. There is one disk, behind a mutex.',
  ],
  kind: 'disk',
  name: 'Proco',
  template: Proco,
  items: 300,
  passes: 1,
  quick: { items: 10, passes: 1 },
  seeks: 'seeks',
  open: (use, seek) => {
    const arm = new Mutex()
    function* write(records) {
      seek()
      yield* sleep(10)
      yield* sleep(records)
    }
    return use({
      task: () => arm.synchronize(() => write(1)),
      batchTask: (items) => arm.synchronize(() => write(items.length)),
    })
  },
}

const realDisk = {
  title: 'Safe disk I/O, with a real file',
  about: [
    'Each item is a record of 50 kB, appended to a file and followed by fsync; in a batch, by one fsync for all. No mutex:',
    'the system decides what happens side by side.',
  ],
  kind: 'disk',
  name: 'Proco',
  template: Proco,
  items: 1000,
  passes: 2,
  quick: { items: 10, passes: 1 },
  seeks: 'fsyncs',
  open: (use, seek) =>
    withFile((handle) => {
      function* write(records) {
        seek()
        yield* until(append(handle, records))
        yield* until(handle.sync())
      }
      return use({ task: () => write([RECORD]), batchTask: (items) => write(items.map(() => RECORD)) })
    }),
}

export const models = [
  {
    ...cpu,
    title: 'Work that only computes',
    about: [
      'Each item is the sum of the numbers from 1 to 10,000. In a batch, there is one such sum for each item.',
    ],
    name: 'Proco',
    template: Proco,
  },
  {
    ...cpu,
    title: 'Work that only computes, at most 100 in a batch',
    about: ['The same work, with `const proco = Proco.batchSize(100)`.'],
    name: 'proco',
    template: Proco.batchSize(100),
  },
  disk,
  realDisk,
]
