// What does a question to another fiber cost, and its answer? Beside message.js: a call is told when the other dies, and a
// late answer never reaches the wrong question.
import { call, receive, run, spin } from '../../dist/index.js'
import { PlainQueue } from '../plain.js'

function* answerer() {
  for (;;) {
    const question = yield* receive()
    question.reply(question.message)
  }
}
function* ask(n) {
  const other = spin(answerer)
  for (let i = 0; i < n; i++) yield* call(other, i)
  yield* other.stop()
}

/** async: a queue of questions, each with the function that answers it. */
async function asyncAnswerer(questions, n) {
  for (let i = 0; i < n; i++) {
    const { message, reply } = await questions.shift()
    reply(message)
  }
}
async function asyncAsk(n) {
  const questions = new PlainQueue()
  const answering = asyncAnswerer(questions, n)
  for (let i = 0; i < n; i++) await new Promise((reply) => questions.push({ message: i, reply }))
  await answering
}

export const rows = [
  {
    name: 'call a fiber and get its answer',
    ours: (n) => run(() => ask(n)),
    async: asyncAsk,

    // effect: a Queue of questions, each with a Deferred.
    effect: ({ Deferred, Effect, Fiber, Queue }) => {
      const answerer = Effect.fnUntraced(function* (questions) {
        for (;;) {
          const { message, answer } = yield* Queue.take(questions)
          yield* Deferred.succeed(answer, message)
        }
      })
      const asking = Effect.fnUntraced(function* (n) {
        const questions = yield* Queue.unbounded()
        const answering = yield* Effect.forkChild(answerer(questions))
        for (let i = 0; i < n; i++) {
          const answer = Deferred.makeUnsafe()
          yield* Queue.offer(questions, { message: i, answer })
          yield* Deferred.await(answer)
        }
        yield* Fiber.interrupt(answering)
      })
      return (n) => Effect.runPromise(asking(n))
    },

    // effection: a queue of questions, each with its resolvers.
    effection: ({ run, spawn, createQueue, withResolvers }) => {
      function* answerer(questions) {
        for (;;) {
          const { message, answer } = (yield* questions.next()).value
          answer.resolve(message)
        }
      }
      function* asking(n) {
        const questions = createQueue()
        const answering = yield* spawn(() => answerer(questions))
        for (let i = 0; i < n; i++) {
          const answer = withResolvers()
          questions.add({ message: i, answer })
          yield* answer.operation
        }
        yield* answering.halt()
      }
      return (n) => run(() => asking(n))
    },
  },
]
