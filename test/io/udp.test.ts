// Datagrams over real sockets on the loopback: in, out, waiting, closing, and what is left behind.

import { type Datagram, IOError, StreamClosed, type UdpOptions, type UdpSocket, udp } from 'polyphony/io'
import { everyOrder } from '../explore/orders.js'
import {
  all,
  assert,
  BadArgument,
  BadYield,
  describe,
  eventually,
  Fiber,
  failAfter,
  moveOnAfter,
  type Op,
  type Routine,
  race,
  run,
  runtime,
  scope,
  shield,
  sleep,
  snooze,
  spin,
  test,
  thrownBy,
  until,
  use,
  waits,
} from '../prelude.js'
import { killers } from '../shared/killers.js'
import { disturb } from '../shared/outside.js'
import { realTest, struckWaiting } from './real.js'

const HOST = '127.0.0.1'
const text = ({ data }: Datagram) => String(data)

/** A socket on the loopback that is closed with the fiber. */
function* open(options: UdpOptions = {}): Routine<UdpSocket> {
  return yield* use(yield* udp({ host: HOST, ...options }))
}

/** A socket that is connected to a port where nothing listens. */
function* openToNothing(): Routine<UdpSocket> {
  const gone = yield* open()
  const client = yield* open({ connect: { host: HOST, port: gone.port } })
  gone.destroy()
  return client
}

/** A fiber that waits. */
function* begun<T>(body: () => Op<T>): Routine<Fiber<T>> {
  const fiber = spin({ link: false }, body) as Fiber<T>
  yield* snooze()
  return fiber
}

/** A datagram comes at this very moment. */
function arrive(socket: UdpSocket, data: string): void {
  ;(socket as any).arrived(Buffer.from(data), { address: HOST, port: 1, family: 'IPv4' })
}

/** Waits until a socket has received so many, or dropped them. */
const untilReceived = (socket: UdpSocket, count: number) =>
  eventually(() => socket.stats().received + socket.stats().dropped === count)

describe('a UDP socket', () => {
  test('is bound when it is given: it has an address and a port of its own', function* () {
    const { address, family, port, remote, name } = yield* open()
    assert.ok(port > 0)
    assert.deepEqual([address, family, remote, name], [HOST, 'IPv4', undefined, `udp ${HOST}:${port}`])
  })

  test('receives what is sent to it in every form of destination, and tells from where it came', function* () {
    const [a, b] = [yield* open(), yield* open()]
    const { port } = b
    yield* a.send('port', port)
    yield* a.send('port and host', port, HOST)
    yield* a.send('by name', port, 'localhost')
    yield* a.send('object', { port })
    yield* a.send('object with host', { port, host: 'localhost' })
    yield* a.send('socket', b)
    for (const word of ['port', 'port and host', 'by name', 'object', 'object with host']) {
      assert.equal(text(yield* b.recv()), word)
    }
    const last = yield* b.recv()
    assert.deepEqual(last, { address: HOST, port: a.port, family: 'IPv4', data: Buffer.from('socket') })
    yield* b.send('a datagram is a destination', last)
    assert.equal(text(yield* a.recv()), 'a datagram is a destination')
    assert.equal(a.stats().sent, 6)
  })

  test('takes text and bytes, also none, and gives them back as bytes of their own', function* () {
    const socket = yield* open()
    for (const data of ['caf\xe9', '', new Uint8Array([1, 0, 255]), Buffer.from('abcdef').subarray(2, 4)]) {
      yield* socket.send(data, socket)
      assert.deepEqual((yield* socket.recv()).data, Buffer.from(data as string))
    }
  })

  test('takes the largest datagram there can be, and EMSGSIZE tells of one that is larger', function* () {
    const socket = yield* open()
    const error = yield* thrownBy(socket.send(Buffer.alloc(65_508), socket))
    assert.ok(error instanceof IOError)
    assert.deepEqual([error.code, error.syscall], ['EMSGSIZE', 'send'])
    assert.match(error.message, /^udp 127\.0\.0\.1:\d+\.send\(\) of 65508 bytes failed: .*\(EMSGSIZE\)$/)
    yield* socket.send(Buffer.alloc(65_507), socket)
    assert.equal((yield* socket.recv()).data.length, 65_507)
  })

  test('of IPv6 works as one of IPv4, where the machine has it', function* () {
    for (const options of [{ host: '::1' }, { host: '::1', type: 'udp6', ipv6Only: true }] as UdpOptions[]) {
      try {
        const socket = yield* open(options)
        assert.deepEqual([socket.family, socket.name], ['IPv6', `udp [::1]:${socket.port}`])
        yield* socket.send('six', socket.port)
        const { address, family, data } = yield* socket.recv()
        assert.deepEqual([address, family, String(data)], ['::1', 'IPv6', 'six'])
      } catch (error) {
        assert.match((error as IOError).code, /^(EADDRNOTAVAIL|EAFNOSUPPORT)$/)
      }
    }
  })
})

describe('a connected UDP socket', () => {
  test('sends to its other end, and receives from nowhere else', function* () {
    const [server, stranger] = [yield* open(), yield* open()]
    const client = yield* open({ connect: { host: 'localhost', port: server.port } })
    assert.deepEqual(client.remote, { address: HOST, port: server.port })
    yield* stranger.send('buy this', client)
    yield* client.send('hello')
    yield* server.send('welcome', yield* server.recv())
    assert.equal(text(yield* client.recv()), 'welcome')
    assert.equal(client.stats().received, 1)
    assert.throws(() => client.send('x', server.port), /is connected to 127\.0\.0\.1:\d+: send\(data\)/)
    assert.throws(() => client.send('x', server), BadArgument)
  })

  test('a fiber that receives is told that nothing listens at the other end', function* () {
    const client = yield* openToNothing()
    const waiting = yield* begun(() => client.recv())
    yield* client.send('are you there?')
    const error = yield* thrownBy(waiting)
    assert.ok(error instanceof IOError)
    assert.deepEqual([error.code, client.stats().errors], ['ECONNREFUSED', 1])
  })

  test('if none waits, the next that receives is told, and only once', function* () {
    const client = yield* openToNothing()
    yield* client.send('are you there?')
    yield* eventually(() => client.stats().errors > 0)
    assert.equal((yield* thrownBy(client.recv())).code, 'ECONNREFUSED')
    assert.equal(yield* moveOnAfter(10, () => client.recv(), 'nothing'), 'nothing')
  })
})

describe('fibers that wait for datagrams', () => {
  test('are served in the order they came; one that is stopped takes no datagram with it', function* () {
    const socket = yield* open()
    const fibers = [1, 2, 3].map(() => spin(() => socket.recv()))
    yield* snooze()
    assert.deepEqual([socket.stats().waiting, fibers[0]?.waitsFor], [3, `${socket.name}.recv()`])
    yield* fibers[1]!.stop()
    for (const word of ['a', 'b', 'c']) yield* socket.send(word, socket)
    assert.deepEqual((yield* Fiber.await(fibers[0]!, fibers[2]!)).map(text), ['a', 'b'])
    assert.equal(text(yield* socket.recv()), 'c')
  })

  test('to receive is to wait for new work: a fiber that is being stopped cannot, but it can send', function* () {
    const [socket, other] = [yield* open(), yield* open()]
    let caught = 0
    const deaf = yield* begun(function* () {
      for (;;) {
        try {
          yield* socket.recv()
        } catch {
          caught++
        }
      }
    })
    yield* deaf.stop()
    assert.deepEqual([deaf.state, caught, socket.stats().waiting], ['dead', 3, 0])
    let got = ''
    const shielded = yield* begun(() =>
      shield(function* () {
        got = text(yield* other.recv())
      }),
    )
    shielded.stop()
    const polite = yield* begun(() => waits(() => socket.send('goodbye', other)))
    yield* polite.stop()
    yield* shielded.join()
    assert.equal(got, 'goodbye') // in a shield it can receive, too
  })

  test('recv() iterated by hand is a named error, and costs no datagram', function* () {
    const socket = yield* open()
    const byHand = () => [...(socket.recv() as any)]
    assert.throws(byHand, BadYield)
    assert.equal(socket.stats().waiting, 0)
    let failed = 0
    for (let n = 0; n < 200; n++) {
      arrive(socket, `${n}`)
      try {
        byHand()
      } catch (error) {
        failed++
        assert.ok(error instanceof BadYield)
        assert.equal(text(yield* socket.recv()), `${n}`)
      }
      assert.equal(socket.stats().unread, 0)
    }
    assert.ok(failed > 0, 'the budget never ran out')
    socket.destroy()
    assert.throws(byHand, StreamClosed)
  })

  for (const [how, kill] of killers) {
    test(`three of them and ${how} lose no datagram and no wake-up, in every order`, async (t) => {
      const socket = await run(() => udp({ host: HOST, capacity: 2, detached: true }))
      let got: string[] = []
      let before = socket.stats()
      everyOrder(t, function* () {
        got = []
        const fibers = [1, 2, 3].map(() =>
          spin({ link: false }, function* () {
            got.push(text(yield* socket.recv()))
          }),
        )
        spin(() => kill(fibers))
        for (const word of ['a', 'b', 'c']) {
          arrive(socket, word)
          yield* snooze()
        }
        yield* snooze()
        for (const fiber of fibers) yield* fiber.stop()
        for (let left = socket.tryRecv(); left !== undefined; left = socket.tryRecv()) got.push(text(left))
        const { received, dropped, waiting } = socket.stats()
        assert.equal(got.length, 3 - (dropped - before.dropped))
        assert.deepEqual(
          [received - before.received, new Set(got).size, waiting],
          [got.length, got.length, 0],
        )
        before = socket.stats()
      })
      socket.destroy()
    })
  }
})

describe('recvLoop', () => {
  test('runs the body for each datagram, and ends when it returns false', function* () {
    const socket = yield* open()
    const got: string[] = []
    for (const word of ['a', 'b', 'c']) yield* socket.send(word, socket)
    yield* socket.recvLoop(function* (datagram) {
      yield* sleep(1)
      return got.push(text(datagram)) < 2
    })
    assert.deepEqual([...got, text(yield* socket.recv())], ['a', 'b', 'c'])
  })

  test('ends when the socket is closed, also if it was closed before', function* () {
    const socket = yield* open()
    const loop = yield* begun(() => socket.recvLoop(() => {}))
    socket.destroy()
    assert.equal(yield* loop, undefined)
    assert.equal(yield* socket.recvLoop(() => {}), undefined)
  })

  test('throws what its body throws, and can be entered again', function* () {
    const socket = yield* open()
    const loop = socket.recvLoop((datagram) => {
      if (text(datagram) === 'bad') throw new Error('bad input')
      return false
    })
    for (const word of ['bad', 'good']) yield* socket.send(word, socket)
    assert.equal((yield* thrownBy(loop)).message, 'bad input')
    yield* loop
  })
})

test('datagrams are kept up to the capacity; what comes then is dropped and counted', function* () {
  const socket = yield* open({ capacity: 3 })
  for (let i = 0; i < 5; i++) yield* socket.send(`${i}`, socket)
  yield* untilReceived(socket, 5)
  const { received, dropped, unread, capacity } = socket.stats()
  assert.deepEqual([received, dropped, unread, capacity], [3, 2, 3, 3])
  assert.deepEqual(
    [0, 1, 2].map(() => text(socket.tryRecv() as Datagram)),
    ['0', '1', '2'],
  )
  assert.equal(socket.tryRecv(), undefined)
  assert.equal((yield* open()).capacity, 1024)
  assert.equal((yield* open({ capacity: Infinity })).capacity, Infinity)
})

describe('closing a UDP socket', () => {
  test('gives fibers that wait a typed error, frees the port at once, and can be done again', function* () {
    const socket = yield* open()
    yield* socket.send('unread', socket)
    yield* untilReceived(socket, 1)
    const busy = yield* open()
    const waiting = [yield* begun(() => busy.recv()), yield* begun(() => busy.recv())]
    yield* busy.close()
    for (const fiber of waiting) {
      const error = yield* thrownBy(fiber)
      assert.ok(error instanceof StreamClosed)
      assert.equal(error.message, `${busy.name}.recv() failed: the socket is closed`)
    }
    assert.equal((yield* open({ port: busy.port })).port, busy.port)
    yield* socket.close()
    yield* socket.close()
    socket.destroy()
    arrive(socket, 'too late')
    const { closed, unread, received, sending, waiting: left } = socket.stats()
    assert.deepEqual([closed, unread, received, sending, left], [true, 0, 1, 0, 0])
    assert.deepEqual([socket.address, socket.isClosed], [HOST, true]) // what it says of itself stays
  })

  test('waits until the system has what is being sent', function* () {
    const [socket, other] = [yield* open(), yield* open()]
    const sender = yield* begun(() => socket.send('the last word', other))
    assert.equal(socket.stats().sending, 1)
    const closer = yield* begun(() => socket.close())
    assert.deepEqual([closer.waitsFor, socket.isClosed], [`${socket.name}.close()`, true])
    assert.throws(() => socket.joinGroup('239.1.2.3'), StreamClosed)
    yield* sender
    yield* closer
    assert.equal(text(yield* other.recv()), 'the last word')
  })

  test('at once, by giving up the wait for it, gives fibers that send a typed error', function* () {
    const socket = yield* open()
    const sender = yield* begun(() => socket.send('x', socket))
    const closers = [yield* begun(() => socket.close()), yield* begun(() => socket.close())]
    yield* closers[0]!.stop()
    yield* closers[1]!
    for (const op of [sender, socket.send('x', socket), socket.recv()]) {
      assert.ok((yield* thrownBy(op)) instanceof StreamClosed)
    }
    assert.equal(socket.tryRecv(), undefined)
    assert.equal(socket.stats().sending, 0)
  })

  test('what is asked of it afterwards fails with its name, where it is asked', function* () {
    const socket = yield* open()
    yield* socket.close()
    const { name } = socket
    const asked: [verb: string, ask: () => unknown][] = [
      ['send', () => socket.send('x', socket)],
      ['send', () => socket.send('x', socket.port, 'localhost')],
      ['recv', () => socket.recv()],
      ['joinGroup', () => socket.joinGroup('239.1.2.3')],
      ['leaveGroup', () => socket.leaveGroup('239.1.2.3')],
    ]
    for (const [verb, ask] of asked) {
      const error = yield* thrownBy(spin({ name: 'asking', link: false }, () => ask() as Op<unknown>))
      assert.ok(error instanceof StreamClosed, `${error}`)
      assert.deepEqual(
        [error.code, error.message],
        ['STREAM_CLOSED', `${name}.${verb}() failed: the socket is closed`],
      )
    }
    assert.equal(socket.tryRecv(), undefined)
  })

  test('is done even by a fiber that cannot wait for it any more', function* () {
    const sockets: UdpSocket[] = []
    const closing = yield* begun(function* () {
      sockets.push(yield* udp({ host: HOST, detached: true }))
      try {
        yield* sleep()
      } finally {
        yield* sockets[0]!.close()
      }
    })
    yield* eventually(() => sockets.length === 1)
    closing.kill()
    yield* closing.join()
    assert.equal(sockets[0]!.isClosed, true)
  })

  test('use(), [Symbol.dispose] and [Symbol.asyncDispose] do it, also when the scope is stopped', function* () {
    const sockets: UdpSocket[] = []
    yield* moveOnAfter(5, () =>
      scope(function* () {
        sockets.push(yield* open())
        yield* sockets[0]!.recv()
      }),
    )
    sockets.push(yield* open(), yield* open())
    sockets[1]![Symbol.dispose]()
    yield* until(sockets[2]![Symbol.asyncDispose]())
    assert.deepEqual(
      sockets.map(({ isClosed }) => isClosed),
      [true, true, true],
    )
  })
})

describe('a UDP socket belongs to what opened it:', () => {
  /** How a fiber that has opened a socket ends. */
  const ends: [how: string, body: () => Op<unknown>, end: (fiber: Fiber) => unknown][] = [
    ['its end', () => snooze(), () => {}],
    ['its error', () => failAfter(5, new Error('no')), () => {}],
    ['a stop', () => sleep(), (fiber) => fiber.stop()],
    ['a kill', () => sleep(), (fiber) => fiber.kill()],
    ['a raise', () => sleep(), (fiber) => fiber.raise(new Error('no'))],
    ['a grace that is over', () => shield(() => sleep()), (fiber) => fiber.stop(undefined, { grace: 5 })],
  ]
  for (const [how, body, end] of ends) {
    test(`closed after ${how} of the fiber, unless it is detached`, function* () {
      for (const detached of [false, true]) {
        let socket: UdpSocket | undefined
        const fiber = spin({ link: false }, function* () {
          socket = yield* udp({ host: HOST, detached })
          yield* body()
        })
        yield* eventually(() => socket !== undefined)
        end(fiber)
        yield* fiber.join()
        assert.equal(socket?.isClosed, !detached)
        socket?.destroy()
      }
    })
  }

  test('the innermost scope, and its children are gone before', function* () {
    const log: unknown[] = []
    let inner: UdpSocket | undefined
    yield* scope(function* () {
      const socket = yield* udp({ host: HOST })
      inner = socket
      spin(function* () {
        yield* sleep(5)
        log.push(socket.isClosed)
        yield* socket.send('goodbye', socket)
      })
    })
    assert.deepEqual([log, inner?.isClosed, inner?.stats().sent], [[false], true, 1])
  })

  test('a body, whose result is given', function* () {
    let socket: UdpSocket | undefined
    const body = function* (given: UdpSocket): Routine<string> {
      socket = given
      yield* given.send('hello', given)
      return text(yield* given.recv())
    }
    assert.equal(yield* udp({ host: HOST }, body), 'hello')
    assert.equal(socket?.isClosed, true)
    const failure = yield* thrownBy(
      udp({ host: HOST }, (given) => failAfter(given.port > 0 ? 1 : 0, new Error('no'))),
    )
    assert.equal(failure.message, 'no')
    assert.equal(yield* udp({ host: HOST }, ({ name }) => name.slice(0, 3)), 'udp')
    const waiting = yield* begun(() =>
      udp({ host: HOST }, function* (given) {
        socket = given
        yield* given.recv()
      }),
    )
    yield* eventually(() => waiting.waitsFor?.endsWith('recv()') ?? false)
    yield* waiting.stop()
    assert.equal(socket?.isClosed, true)
  })

  test('one that is closed is forgotten by its owner', function* () {
    for (let i = 0; i < 3; i++) {
      const socket = yield* udp({ host: HOST })
      yield* socket.close()
    }
    assert.equal((Fiber.current as any).rare?.cleanups ?? null, null)
  })
})

describe('a fiber that is stopped', () => {
  realTest('while it opens a socket closes it, and leaves a lookup behind', function* () {
    for (const options of [{ host: 'localhost' }, { connect: { host: HOST, port: 1 } }]) {
      const { outcome } = yield* struckWaiting(
        () => udp(options),
        (fiber) => fiber.stop(),
      )
      assert.equal(outcome?.type, 'stopped')
    }
    const op = udp({ host: 'localhost' })
    yield* moveOnAfter(0, () => op)
    const socket = yield* op // the same op again
    for (let i = 0; i < 5; i++) yield* thrownBy(udp({ host: HOST, port: socket.port })) // closed when refused, too
    socket.destroy()
  })

  test('while it sends waits until the datagram is sent', function* () {
    const socket = yield* open()
    const sender = yield* begun(() => socket.send('already on its way', socket))
    assert.equal(sender.waitsFor, `${socket.name}.send()`)
    const stopped = sender.stop()
    yield* snooze()
    assert.equal(sender.state, 'waiting') // the bytes are still needed
    assert.equal((yield* stopped).type, 'stopped')
    assert.equal(text(yield* socket.recv()), 'already on its way')
  })

  test('or killed or raised at, at any switchpoint of a conversation, leaves nothing behind', async () => {
    const runs = await disturb(function* () {
      const server = yield* open()
      const answering = spin('server', () =>
        server.recvLoop((question) => server.send(`${text(question)}!`, question)),
      )
      const asking = function* (): Routine<void> {
        const client = yield* use(yield* udp({ connect: { host: 'localhost', port: server.port } }))
        yield* client.send('hello')
        assert.equal(text(yield* client.recv()), 'hello!')
      }
      // Without the server there is no answer to wait for.
      yield* race([() => all([asking, asking]), () => answering.join()])
    })
    assert.ok(runs > 40)
  })

  test('a wait holds the program only as long as it lasts', function* () {
    const { external } = runtime()
    const socket = yield* open()
    const client = yield* openToNothing()
    const fibers: Fiber<unknown>[] = []
    for (const op of [socket.recv(), client.recv(), socket.recv(), socket.recvLoop(() => {})]) {
      fibers.push(yield* begun<unknown>(() => op))
    }
    assert.equal(runtime().external, external + 4)
    yield* socket.send('one', socket)
    yield* client.send('nothing')
    for (const fiber of fibers.slice(0, 2)) yield* fiber.join()
    yield* fibers[2]!.stop()
    socket.destroy()
    yield* fibers[3]!
    assert.equal(runtime().external, external)
  })
})

describe('groups and broadcast', () => {
  test('a member of a group receives what is sent to it, and no more after it has left', function* () {
    const sender = yield* open({ multicast: { interface: HOST, ttl: 1, loopback: true } })
    const member = yield* open({ host: '0.0.0.0' })
    for (const [group, source] of [
      ['239.7.7.7', undefined],
      ['232.7.7.7', HOST],
    ] as const) {
      const face = { interface: HOST, ...(source && { source }) }
      member.joinGroup(group, face)
      yield* sender.send('to the group', member.port, group)
      assert.equal(text(yield* member.recv()), 'to the group')
      member.leaveGroup(group, face)
      yield* sender.send('too late', member.port, group)
      yield* sender.send('to you', member.port, HOST)
      assert.equal(text(yield* member.recv()), 'to you')
    }
  })

  test('what is no group is refused with the code of the system', function* () {
    const socket = yield* open()
    for (const call of [
      () => socket.joinGroup('10.0.0.1'),
      () => socket.leaveGroup('239.7.7.7'),
      () => socket.joinGroup('239.7.7.7', { source: 'not an address', interface: HOST }),
    ]) {
      assert.throws(call, (error: IOError) => error instanceof IOError && /^E[A-Z]+$/.test(error.code))
    }
  })

  test('broadcast must be asked for', function* () {
    const receiver = yield* open({ host: '0.0.0.0' })
    const shy = yield* open({ host: '0.0.0.0' })
    assert.equal((yield* thrownBy(shy.send('all', receiver.port, '127.255.255.255'))).code, 'EACCES')
    const loud = yield* open({ host: '0.0.0.0', broadcast: true })
    yield* loud.send('all', receiver.port, '127.255.255.255')
    assert.equal(text(yield* receiver.recv()), 'all')
  })

  test('what the system can be told, it is told', function* () {
    const socket = yield* open({ ttl: 3, recvBufferSize: 10_000, sendBufferSize: 20_000, reuseAddr: true })
    const { socket: node } = socket as any
    assert.deepEqual([node.getRecvBufferSize(), node.getSendBufferSize()], [20_000, 40_000]) // Linux doubles them
    assert.equal((yield* open({ port: socket.port, reuseAddr: true })).port, socket.port)
    try {
      const first = yield* open({ reusePort: true })
      assert.equal((yield* open({ reusePort: true, port: first.port })).port, first.port)
    } catch (error) {
      assert.match((error as Error).message, /needs Node 22\.12|ENOTSUP/)
    }
  })
})

test('what the system refuses is told with its code, and what was to be opened is named', function* () {
  const { port } = yield* open()
  const rows: [UdpOptions, string, RegExp][] = [
    [{ host: HOST, port }, 'EADDRINUSE', /^udp\(127\.0\.0\.1:\d+\) in main > opener failed: .*EADDRINUSE/],
    [{ host: '192.0.2.1' }, 'EADDRNOTAVAIL', /192\.0\.2\.1/],
    [{ host: 'a..b' }, 'ENOTFOUND', /^lookup\(a\.\.b\)/],
    [{ connect: { host: 'a..b', port: 1 } }, 'ENOTFOUND', /a\.\.b/],
    [{ host: '::1', type: 'udp4' }, 'ENOTFOUND', /it is not an IPv4 address/],
    [
      { host: HOST, connect: { host: '192.0.2.1', port: 1 } },
      'EINVAL',
      /^udp\(127\.0\.0\.1:0 to 192\.0\.2\.1:1\)/,
    ],
    [{ host: HOST, multicast: { interface: '192.0.2.1' } }, 'EADDRNOTAVAIL', /127\.0\.0\.1/],
  ]
  for (const [options, code, message] of rows) {
    const error = yield* thrownBy(spin({ name: 'opener', link: false }, () => udp(options)))
    assert.ok(error instanceof IOError, String(error))
    assert.equal(error.code, code)
    assert.match(error.message, message)
  }
  assert.equal((yield* thrownBy((yield* open()).send('x', 5, 'a..b'))).code, 'ENOTFOUND')
})
