// What is inferred: the results of bodies, plain and generator, through every construct.

import {
  after,
  type Call,
  call,
  cancelAfter,
  createLocal,
  ensure,
  every,
  Fiber,
  moveOnAfter,
  type Op,
  type Outcome,
  ResourcePool,
  type Routine,
  type Running,
  receive,
  receiveLoop,
  run,
  scope,
  shield,
  sleep,
  spin,
  suspend,
  Throttler,
  throttledLoop,
  tryReceive,
  until,
} from 'polyphony'
import { expectType } from './equal.js'

function* half(n: number) {
  yield* sleep(1)
  return n / 2
}
function* words(...list: string[]): Routine<string[]> {
  yield* sleep(1)
  return list
}

// spin: of a generator function, a plain function, a function that returns an op; with and without a name
expectType<Fiber<number>>()(spin(half, 4))
expectType<Fiber<number>>()(spin('half', half, 4))
expectType<Fiber<number>>()(spin({ name: 'half', link: false }, half, 4))
expectType<Fiber<string[]>>()(spin(words, 'a', 'b'))
expectType<Fiber<string>>()(spin(() => 'plain'))
expectType<Fiber<void>>()(spin(() => sleep(1)))
expectType<Fiber<void>>()(spin(function* () {}))
expectType<Fiber<number>>()(Fiber.current.spin(half, 4))

// run: a promise of the result that can be stopped
expectType<Running<number>>()(run(() => half(4)))
expectType<Running<string>>()(run(() => 'plain'))
expectType<Promise<Outcome<string>>>()(run(() => 'plain').stop())
expectType<Fiber<string>>()(run(() => 'plain').fiber)

// blocks
expectType<Op<number>>()(scope(() => half(4)))
expectType<Op<string>>()(
  scope(function* () {
    yield* sleep(1)
    return 'done'
  }),
)
expectType<Op<number | undefined>>()(moveOnAfter(10, () => half(4)))
expectType<Op<number | string>>()(moveOnAfter(10, () => half(4), 'too late' as string))
expectType<Op<number | null>>()(moveOnAfter(10, () => half(4), null))
expectType<Op<number | string>>()(moveOnAfter(10, () => half(4), { value: 'too late' as string, grace: 5 }))
expectType<Op<number | undefined>>()(moveOnAfter(10, () => half(4), { grace: 5 }))
expectType<Op<number>>()(cancelAfter(10, () => half(4)))
expectType<Op<number>>()(cancelAfter(10, () => half(4), 'too late'))
expectType<Op<number>>()(cancelAfter(10, () => half(4), RangeError))
expectType<Op<number>>()(shield(() => half(4)))
expectType<Op<number>>()(
  ensure(
    () => half(4),
    () => sleep(1),
  ),
)
moveOnAfter(10, function* (timeout) {
  expectType<number>()(timeout.remaining)
  timeout.extend(10)
  timeout.reset()
  yield* sleep(1)
})

// time
expectType<Op<void>>()(sleep(1))
expectType<Op<never>>()(sleep())
expectType<Fiber<number>>()(after(10, () => half(4)))
expectType<Op<void>>()(every(10, () => console.log('tick')))

// promises
expectType<Op<number>>()(until(Promise.resolve(1)))
expectType<Op<string>>()(until((signal) => Promise.resolve(String(signal.aborted))))

// fiber-local values
expectType<string>()(createLocal('default').get())

// inside a body, yield* gives what the op promises
spin(function* () {
  expectType<number>()(yield* half(4))
  expectType<number>()(yield* spin(half, 4))
  expectType<number>()(yield* spin(half, 4).await())
  expectType<Outcome<number>>()(yield* spin(half, 4).join())
  expectType<Outcome<number>>()(yield* spin(half, 4).stop())
  expectType<string>()(yield* suspend<string>())
  expectType<{ n: number }>()(yield* receive<{ n: number }>())

  const [n, list, text] = yield* Fiber.await(
    spin(half, 4),
    spin(words, 'a'),
    spin(() => 'x'),
  )
  expectType<number>()(n)
  expectType<string[]>()(list)
  expectType<string>()(text)

  const fibers: Fiber<number>[] = [1, 2, 3].map((i) => spin(half, i))
  expectType<number[]>()(yield* Fiber.await(...fibers))

  const mixed = yield* Fiber.select(
    spin(half, 1),
    spin(() => 'text'),
  )
  expectType<[Fiber<number>, number] | [Fiber<string>, string]>()(mixed)

  const [winner, value] = yield* Fiber.select(spin(half, 1), spin(half, 2))
  expectType<Fiber<number>>()(winner)
  expectType<number>()(value)
})

// an outcome is told apart by its type
declare const outcome: Outcome<number>
if (outcome.type === 'value') expectType<number>()(outcome.value)
if (outcome.type === 'error') expectType<unknown>()(outcome.error)

// messages are typed by the second parameter of Fiber
declare const counter: Fiber<void, 'up' | 'down'>
expectType<boolean>()(counter.send('up'))
// @ts-expect-error: not a message it knows
counter.send('sideways')

// messages: typed by the fiber that takes them
type RoomMessage =
  | { type: 'join'; name: string }
  | { type: 'say'; name: string; text: string }
  | Call<{ type: 'count' }, number>
  | Call<{ type: 'who'; name: string }, boolean>
spin(function* () {
  const room: Fiber<void, RoomMessage> = spin(function* () {
    yield* receiveLoop((message: RoomMessage) => {
      switch (message.type) {
        case 'join':
          expectType<string>()(message.name)
          break
        case 'count':
          expectType<(answer: number) => boolean>()(message.reply)
          break
        case 'who':
          expectType<(answer: boolean) => boolean>()(message.reply)
      }
    })
  })
  room.send({ type: 'join', name: 'ada' })
  expectType<Op<boolean>>()(room.mailbox.push({ type: 'join', name: 'ada' }))
  expectType<number>()(yield* call(room, { type: 'count' }))
  expectType<boolean>()(yield* call(room, { type: 'who', name: 'ada' }, { timeout: 100 }))
  expectType<any>()(yield* call(spin(half, 1), 'anything'))
  const isText = (message: unknown): message is string => typeof message === 'string'
  expectType<string>()(yield* receive(isText))
  expectType<string | undefined>()(tryReceive(isText))
  expectType<number>()(yield* receive((n: number) => n > 1))
  const isSaid = (message: RoomMessage): message is Extract<RoomMessage, { text: string }> =>
    message.type === 'say'
  expectType<string>()((yield* receive(isSaid)).text)
})

// a pool knows its resources by what create gives, in each of its forms
spin(function* () {
  const generated = new ResourcePool({
    limit: 1,
    *create() {
      yield* sleep(1)
      return 'a connection'
    },
    destroy: (connection) => expectType<string>()(connection),
  })
  expectType<ResourcePool<string>>()(generated)
  expectType<number>()(yield* generated.acquire((connection) => connection.length))
  expectType<ResourcePool<number>>()(new ResourcePool({ limit: 1, create: async () => 1 }))
  expectType<ResourcePool<number[]>>()(new ResourcePool({ limit: 1, create: () => [1] }))
  expectType<ResourcePool<Map<string, number>>>()(
    new ResourcePool({ limit: 1 }, () => new Map<string, number>()),
  )
  expectType<ResourcePool<number>>()(new ResourcePool({ limit: 1 }, () => half(2)))
  expectType<ResourcePool<string>>()(new ResourcePool({ limit: 1 }, async (signal) => String(signal.aborted)))
  const throttler = new Throttler({ rate: 10, burst: 2 })
  expectType<'done'>()(yield* throttler.process(() => 'done' as const))
  expectType<Op<void>>()(throttledLoop(throttler, () => {}))
})
