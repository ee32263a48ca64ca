// A job server that speaks lines: whoever connects adds jobs and asks how they are; three workers do them.
//
//   npm run example job-server 5000          and then, elsewhere:  nc localhost 5000
//
//   add 300 write report     ->  job 1              wait 1  ->  done: write report
//   status                   ->  1 waiting, 1 running, 0 done

import { main, Queue, type Routine, sleep, spinLoop } from 'polyphony'
import { listen, type Stream } from 'polyphony/io'

interface Job {
  id: number
  ms: number
  what: string
  isDone: boolean
  /** Those who wait for it. */
  tell: ((answer: string) => void)[]
}

const jobs = new Map<number, Job>()
const queue = new Queue<Job>()

function* worker(): Routine<void> {
  const job = yield* queue.shift()
  yield* sleep(job.ms) // the work
  job.isDone = true
  for (const tell of job.tell) tell(`done: ${job.what}`)
}

function* client(socket: Stream): Routine<void> {
  for (let line: string | undefined; (line = yield* socket.gets()) !== undefined; ) {
    const [, verb, number, what = ''] = /^(\w+) ?(\d*) ?(.*)$/.exec(line) ?? []
    const job = jobs.get(Number(number))
    if (verb === 'add') {
      const added: Job = { id: jobs.size + 1, ms: Number(number), what, isDone: false, tell: [] }
      jobs.set(added.id, added)
      yield* queue.push(added)
      yield* socket.write(`job ${added.id}\n`)
    } else if (verb === 'status') {
      const done = [...jobs.values()].filter(({ isDone }) => isDone).length
      yield* socket.write(`${queue.size} waiting, ${jobs.size - queue.size - done} running, ${done} done\n`)
    } else if (verb === 'wait' && job !== undefined) {
      if (job.isDone) yield* socket.write(`done: ${job.what}\n`)
      else job.tell.push((answer) => void socket.tryWrite(`${answer}\n`))
    } else yield* socket.write('add MS WHAT, wait NUMBER, or status\n')
  }
}

main(function* () {
  for (const name of ['ann', 'bob', 'cy']) spinLoop(worker, { name })
  const server = yield* listen({ port: Number(process.argv[2] ?? 0) })
  console.log(`listening on port ${server.port}`)
  yield* server.acceptLoop(client)
})
