// Jobs, a desk that knows about them, and three workers that break down now and then. A supervisor starts them again, a little
// later each time; a job that was under way goes back to the front of the queue.

import {
  type Call,
  call,
  each,
  type Fiber,
  main,
  Queue,
  receiveLoop,
  sleep,
  spin,
  supervise,
} from 'polyphony'

type Message =
  | { type: 'done'; job: number }
  | { type: 'broken'; job: number }
  | Call<{ type: 'stats' }, Stats>
  | Call<{ type: 'all done' }, Stats>

interface Stats {
  done: number
  broken: number
}

/** Counts, and answers questions: some at once, some when the time has come. */
function* desk(jobs: number) {
  const stats: Stats = { done: 0, broken: 0 }
  const waiting: Call<{ type: 'all done' }, Stats>[] = []
  yield* receiveLoop((message: Message) => {
    switch (message.type) {
      case 'done':
        stats.done++
        break
      case 'broken':
        stats.broken++
        break
      case 'stats':
        message.reply({ ...stats })
        break
      case 'all done':
        waiting.push(message)
    }
    if (stats.done === jobs) for (const question of waiting.splice(0)) question.reply(stats)
  })
}

let started = 0
function* work() {
  yield* sleep(2)
  if (++started % 10 === 0) throw new Error('worn out')
}

function* worker(jobs: Queue<number>, office: Fiber<void, Message>) {
  yield* each(jobs, function* (job) {
    let type: 'done' | 'broken' = 'broken'
    try {
      yield* work()
      type = 'done'
    } finally {
      if (type === 'broken') jobs.unshift(job)
      office.send({ type, job })
    }
  })
}

main(function* () {
  const jobs = new Queue<number>({ name: 'jobs' })
  const office: Fiber<void, Message> = spin('desk', desk, 100)
  const workers = ['ann', 'bob', 'cho'].map((name) => ({ name, body: worker, args: [jobs, office] }))
  spin('staff', () =>
    supervise(workers, {
      restart: 'onError',
      backoff: { delay: 5, max: 50 },
      jitter: 0.5,
      intensity: { restarts: 20, within: 10_000 },
    }),
  )
  console.log(yield* call(office, { type: 'stats' }))
  for (let job = 1; job <= 100; job++) yield* jobs.push(job)
  console.log(yield* call(office, { type: 'all done' }, { timeout: 10_000 }))
})
