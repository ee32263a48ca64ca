// Datagrams over real sockets on the loopback: in, out, who waits, what is refused, what is left behind.

import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import {
  all,
  BadArgument,
  BadYield,
  ensure,
  Fiber,
  moveOnAfter,
  type Routine,
  race,
  run,
  scope,
  shield,
  sleep,
  snooze,
  spin,
  until,
  use,
} from 'polyphony'
import { type Datagram, IOError, StreamClosed, type UdpOptions, type UdpSocket, udp } from 'polyphony/io'
import { virtual } from 'polyphony/testing'
import { everyOrder } from '../explore/orders.js'
import { program, thrownBy } from '../prelude.js'
import { killers } from '../shared/killers.js'
import { disturb, held, untilHeld } from '../shared/outside.js'

const HOST = '127.0.0.1'
const text = ({ data }: Datagram) => String(data)

/** A socket on the loopback that is closed with the fiber. */
function* open(options: UdpOptions = {}): Routine<UdpSocket> {
  return yield* use(yield* udp({ host: HOST, ...options }))
}

/** Waits until a socket has received so many. */
function* untilReceived(socket: UdpSocket, count: number): Routine<void> {
  while (socket.stats().received + socket.stats().dropped < count) {
    yield* until(new Promise<void>((resolve) => setImmediate(resolve)))
  }
}

/** A datagram comes at this very moment. */
function arrive(socket: UdpSocket, data: string): void {
  const from = { address: HOST, port: 1, family: 'IPv4' }
  ;(socket as any).arrived(Buffer.from(data), from)
}

describe('a UDP socket', () => {
  it('is bound when it is given: it has an address and a port of its own', () =>
    virtual(function* () {
      const socket = yield* open()
      assert.equal(socket.address, HOST)
      assert.equal(socket.family, 'IPv4')
      assert.ok(socket.port > 0)
      assert.equal(socket.remote, undefined)
      assert.equal(socket.name, `udp ${HOST}:${socket.port}`)
    }))

  it('receives what is sent to it, and tells from whom', () =>
    virtual(function* () {
      const [a, b] = [yield* open(), yield* open()]
      yield* a.send('tea', b.port, HOST)
      const { data, ...from } = yield* b.recv()
      assert.deepEqual(from, { address: HOST, port: a.port, family: 'IPv4' })
      assert.deepEqual(data, Buffer.from('tea'))
    }))

  it('takes a destination in every form', () =>
    virtual(function* () {
      const [a, b] = [yield* open(), yield* open()]
      yield* a.send('port', b.port)
      yield* a.send('port and host', b.port, HOST)
      yield* a.send('by name', b.port, 'localhost')
      yield* a.send('object', { port: b.port })
      yield* a.send('object with host', { port: b.port, host: 'localhost' })
      yield* a.send('socket', b)
      const got: string[] = []
      for (let i = 0; i < 6; i++) got.push(text(yield* b.recv()))
      assert.deepEqual(got, ['port', 'port and host', 'by name', 'object', 'object with host', 'socket'])
    }))

  it('a datagram is a destination: the answer goes where it came from', () =>
    virtual(function* () {
      const [client, server] = [yield* open(), yield* open()]
      yield* client.send('ping', server)
      yield* server.send('pong', yield* server.recv())
      assert.equal(text(yield* client.recv()), 'pong')
    }))

  it('takes text and bytes, also none, and gives them back as bytes of their own', () =>
    virtual(function* () {
      const socket = yield* open()
      for (const data of ['caf\xe9', '', new Uint8Array([1, 0, 255]), Buffer.from('abcdef').subarray(2, 4)]) {
        yield* socket.send(data, socket)
        assert.deepEqual((yield* socket.recv()).data, Buffer.from(data as string))
      }
    }))

  it('takes the largest datagram there can be, and EMSGSIZE tells of one that is larger', () =>
    virtual(function* () {
      const socket = yield* open()
      yield* socket.send(Buffer.alloc(65_507, 'x'), socket)
      assert.equal((yield* socket.recv()).data.length, 65_507)
      const error = yield* thrownBy(socket.send(Buffer.alloc(65_508), socket))
      assert.ok(error instanceof IOError)
      assert.deepEqual([error.code, error.syscall], ['EMSGSIZE', 'send'])
      assert.match(error.message, /^udp 127\.0\.0\.1:\d+\.send\(\) of 65508 bytes failed: .*\(EMSGSIZE\)$/)
      yield* socket.send('still works', socket)
      assert.equal(text(yield* socket.recv()), 'still works')
    }))

  it('talks to sockets of Node', async () => {
    const foreign = createSocket('udp4')
    foreign.bind(0, HOST)
    await once(foreign, 'listening')
    foreign.on('message', (data, from) => foreign.send(`${data}!`, from.port, from.address))
    await run(function* () {
      const socket = yield* open()
      yield* socket.send('hello', foreign.address().port, HOST)
      assert.equal(text(yield* socket.recv()), 'hello!')
    })
    foreign.close()
    await once(foreign, 'close')
  })

  it('of IPv6 works as one of IPv4, where the machine has it', () =>
    virtual(function* () {
      try {
        const socket = yield* open({ host: '::1' })
        assert.deepEqual([socket.family, socket.name], ['IPv6', `udp [::1]:${socket.port}`])
        yield* socket.send('six', socket.port)
        const { address, family, data } = yield* socket.recv()
        assert.deepEqual([address, family, String(data)], ['::1', 'IPv6', 'six'])
      } catch (error) {
        assert.match((error as IOError).code, /^(EADDRNOTAVAIL|EAFNOSUPPORT)$/)
      }
    }))

  it('two programs in one turn each have their own', async () => {
    const echo = (word: string) =>
      run(function* () {
        const socket = yield* open()
        yield* socket.send(word, socket)
        return text(yield* socket.recv())
      })
    assert.deepEqual(await Promise.all([echo('one'), echo('two')]), ['one', 'two'])
  })
})

describe('a connected UDP socket', () => {
  it('sends to its other end, and receives from nobody else', () =>
    virtual(function* () {
      const [server, stranger] = [yield* open(), yield* open()]
      const client = yield* open({ connect: { host: 'localhost', port: server.port } })
      assert.deepEqual(client.remote, { address: HOST, port: server.port })
      yield* stranger.send('buy this', client)
      yield* client.send('hello')
      yield* server.send('welcome', yield* server.recv())
      assert.equal(text(yield* client.recv()), 'welcome')
      assert.equal(client.stats().received, 1)
    }))

  it('takes no other destination', () =>
    virtual(function* () {
      const server = yield* open()
      const client = yield* open({ connect: { host: HOST, port: server.port } })
      assert.throws(() => client.send('x', server.port), /is connected to 127\.0\.0\.1:\d+: send\(data\)/)
      assert.throws(() => client.send('x', server), BadArgument)
    }))

  it('tells who receives that nobody listens at the other end', () =>
    virtual(function* () {
      const gone = yield* open()
      const client = yield* open({ connect: { host: HOST, port: gone.port } })
      gone.destroy()
      const waiting = spin({ link: false }, () => client.recv())
      yield* snooze()
      yield* client.send('anybody there?')
      const error = yield* thrownBy(waiting)
      assert.ok(error instanceof IOError)
      assert.equal(error.code, 'ECONNREFUSED')
      assert.equal(client.stats().errors, 1)
    }))

  it('tells it to the next who receives, if nobody waits, and only once', () =>
    virtual(function* () {
      const gone = yield* open()
      const client = yield* open({ connect: { host: HOST, port: gone.port } })
      gone.destroy()
      yield* client.send('anybody there?')
      while (client.stats().errors === 0) yield* until(new Promise<void>((resolve) => setImmediate(resolve)))
      assert.equal((yield* thrownBy(client.recv())).code, 'ECONNREFUSED')
      assert.equal(yield* moveOnAfter(10, () => client.recv(), 'nothing'), 'nothing')
    }))
})

describe('who waits for datagrams', () => {
  it('S52 fibers are served in the order they came', () =>
    virtual(function* () {
      const socket = yield* open()
      const fibers = [1, 2, 3].map(() => spin(() => socket.recv()))
      yield* snooze()
      assert.equal(socket.stats().waiting, 3)
      for (const word of ['a', 'b', 'c']) yield* socket.send(word, socket)
      assert.deepEqual((yield* Fiber.await(...fibers)).map(text), ['a', 'b', 'c'])
    }))

  it('S52 a fiber that is stopped leaves its place and takes no datagram with it', () =>
    virtual(function* () {
      const socket = yield* open()
      const [first, second, third] = [1, 2, 3].map(() => spin(() => socket.recv())) as Fiber<Datagram>[]
      yield* snooze()
      yield* second!.stop()
      yield* socket.send('a', socket)
      yield* socket.send('b', socket)
      assert.deepEqual((yield* Fiber.await(first!, third!)).map(text), ['a', 'b'])
      assert.equal(yield* moveOnAfter(5, () => socket.recv(), 'late'), 'late')
      yield* socket.send('c', socket)
      assert.equal(text(yield* socket.recv()), 'c')
    }))

  it('S34 a datagram that has been handed over is not lost to a stop', () =>
    virtual(function* () {
      const socket = yield* open()
      let got = ''
      const fiber = spin(function* () {
        got = text(yield* socket.recv())
        yield* sleep()
      })
      yield* snooze()
      arrive(socket, 'in time')
      yield* fiber.stop()
      assert.equal(got, 'in time')
    }))

  it('S17 a loop that swallows its stop and receives again is refused, and ends', () =>
    virtual(function* () {
      const socket = yield* open()
      let caught = 0
      const deaf = spin(function* () {
        for (;;) {
          try {
            yield* socket.recv()
          } catch {
            caught++
          }
        }
      })
      yield* snooze()
      yield* deaf.stop()
      assert.deepEqual([deaf.state, caught, socket.stats().waiting], ['dead', 3, 0])
    }))

  it('S16 a fiber can say goodbye while it is being stopped', () =>
    virtual(function* () {
      const [a, b] = [yield* open(), yield* open()]
      const polite = spin(function* () {
        try {
          yield* sleep()
        } finally {
          yield* a.send('goodbye', b)
        }
      })
      yield* snooze()
      yield* polite.stop()
      assert.equal(text(yield* b.recv()), 'goodbye')
    }))

  it('S69 recv() iterated by hand is a named error, and costs no datagram', () =>
    virtual(function* () {
      const socket = yield* open()
      assert.throws(() => [...(socket.recv() as any)], BadYield)
      assert.equal(socket.stats().waiting, 0)
      let taken = 0
      for (let n = 0; n < 200; n++) {
        arrive(socket, `${n}`)
        try {
          const [_] = socket.recv() as any
          taken++
        } catch (error) {
          assert.ok(error instanceof BadYield)
          assert.equal(text(yield* socket.recv()), `${n}`)
        }
        assert.equal(socket.stats().unread, 0)
      }
      assert.ok(taken < 200, 'the budget never ran out')
    }))

  it('a body may close the socket: those who were served before keep what they got', () =>
    virtual(function* () {
      const socket = yield* open()
      const others = spin({ link: false }, () => socket.recv())
      yield* snooze()
      const loop = spin(() => socket.recvLoop(() => socket.close()))
      yield* snooze()
      yield* socket.send('one', socket)
      yield* socket.send('two', socket)
      assert.equal(text(yield* others), 'one')
      yield* loop
      assert.equal(socket.isClosed, true)
    }))
})

describe('in every order', () => {
  for (const [how, kill] of killers) {
    it(`S34 S36 S52 three who receive and ${how} lose no datagram and no wake-up`, async (t) => {
      const socket = await run(() => udp({ host: HOST, capacity: 2 }))
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
        assert.equal(received - before.received, got.length)
        assert.deepEqual([...new Set(got)].length, got.length)
        assert.equal(waiting, 0)
        before = socket.stats()
      })
      socket.destroy()
    })
  }
})

describe('recvLoop', () => {
  it('runs the body for each datagram, and ends when it returns false', () =>
    virtual(function* () {
      const socket = yield* open()
      const got: string[] = []
      for (const word of ['a', 'b', 'c', 'd']) yield* socket.send(word, socket)
      yield* socket.recvLoop(function* (datagram) {
        yield* sleep(1)
        got.push(text(datagram))
        return got.length < 3
      })
      assert.deepEqual(got, ['a', 'b', 'c'])
      assert.equal(text(yield* socket.recv()), 'd')
    }))

  it('ends when the socket is closed, also if it was closed before', () =>
    virtual(function* () {
      const socket = yield* open()
      const loop = spin(() => socket.recvLoop(() => {}))
      yield* snooze()
      socket.destroy()
      assert.equal(yield* loop, undefined)
      assert.equal(yield* socket.recvLoop(() => {}), undefined)
    }))

  it('throws what its body throws, and can be entered again', () =>
    virtual(function* () {
      const socket = yield* open()
      const loop = socket.recvLoop((datagram) => {
        if (text(datagram) === 'bad') throw new Error('bad input')
        return false
      })
      for (const word of ['bad', 'good']) yield* socket.send(word, socket)
      assert.equal((yield* thrownBy(loop)).message, 'bad input')
      yield* loop
    }))

  it('refuses what is not a body', () =>
    virtual(function* () {
      const socket = yield* open()
      assert.throws(() => socket.recvLoop(undefined as any), /recvLoop\(\) needs a function\*/)
      assert.throws(() => socket.recvLoop((async () => {}) as any), /async function/)
    }))
})

describe('datagrams that nobody takes', () => {
  it('are kept up to the capacity; what comes then is dropped and counted', () =>
    virtual(function* () {
      const socket = yield* open({ capacity: 3 })
      for (let i = 0; i < 5; i++) yield* socket.send(`${i}`, socket)
      yield* untilReceived(socket, 5)
      const { received, dropped, unread, capacity } = socket.stats()
      assert.deepEqual(
        { received, dropped, unread, capacity },
        { received: 3, dropped: 2, unread: 3, capacity: 3 },
      )
      assert.deepEqual(
        [0, 1, 2].map(() => text(socket.tryRecv() as Datagram)),
        ['0', '1', '2'],
      )
      assert.equal(socket.tryRecv(), undefined)
    }))

  it('are at most 1024 unless said otherwise', () =>
    virtual(function* () {
      assert.equal((yield* open()).stats().capacity, 1024)
      assert.equal((yield* open({ capacity: Infinity })).capacity, Infinity)
    }))
})

describe('closing a UDP socket', () => {
  it('gives those who wait a typed error, and frees the port at once', () =>
    virtual(function* () {
      const socket = yield* open()
      const waiting = [1, 2].map(() => spin({ link: false }, () => socket.recv()))
      yield* snooze()
      yield* socket.close()
      for (const fiber of waiting) {
        const error = yield* thrownBy(fiber)
        assert.ok(error instanceof StreamClosed)
        assert.equal(error.code, 'STREAM_CLOSED')
        assert.equal(error.message, `${socket.name}.recv() came too late: the socket is closed`)
      }
      const again = yield* open({ port: socket.port })
      assert.equal(again.port, socket.port)
    }))

  it('waits until the system has what is being sent', () =>
    virtual(function* () {
      const [socket, other] = [yield* open(), yield* open()]
      const sender = spin(() => socket.send('the last word', other))
      yield* snooze()
      assert.equal(socket.stats().sending, 1)
      const closer = spin(() => socket.close())
      yield* snooze()
      assert.deepEqual([closer.waitsFor, socket.isClosed], [`${socket.name}.close()`, true])
      assert.throws(() => socket.joinGroup('239.1.2.3'), StreamClosed)
      yield* sender
      yield* closer
      assert.equal(text(yield* other.recv()), 'the last word')
    }))

  it('at once gives those who send a typed error', () =>
    virtual(function* () {
      const socket = yield* open()
      const sender = spin({ link: false }, () => socket.send('x', socket))
      yield* snooze()
      const closer = spin(() => socket.close())
      yield* snooze()
      yield* closer.stop() // who gives up waiting for the close closes at once
      const error = yield* thrownBy(sender)
      assert.deepEqual([error.code, error.constructor], ['STREAM_CLOSED', StreamClosed])
      assert.equal((yield* thrownBy(socket.send('x', socket))).code, 'STREAM_CLOSED')
      assert.equal((yield* thrownBy(socket.recv())).code, 'STREAM_CLOSED')
      assert.equal(socket.tryRecv(), undefined)
      assert.equal(socket.stats().sending, 0)
    }))

  it('again changes nothing, and what it says of itself stays', () =>
    virtual(function* () {
      const socket = yield* open()
      const { port } = socket
      yield* socket.send('unread', socket)
      yield* untilReceived(socket, 1)
      yield* socket.close()
      yield* socket.close()
      socket.destroy()
      const { closed, unread, received, sending, waiting } = socket.stats()
      assert.deepEqual([closed, unread, received, sending, waiting], [true, 0, 1, 0, 0])
      assert.deepEqual([socket.port, socket.address, socket.isClosed], [port, HOST, true])
    }))

  it('S60 use() closes it at the end of the scope, also when that is stopped', () =>
    virtual(function* () {
      let inside: UdpSocket | undefined
      yield* scope(function* () {
        inside = yield* use(yield* udp({ host: HOST }))
        assert.equal(inside.isClosed, false)
      })
      assert.equal(inside?.isClosed, true)
      yield* moveOnAfter(5, () =>
        scope(function* () {
          inside = yield* use(yield* udp({ host: HOST }))
          yield* inside.recv()
        }),
      )
      assert.equal(inside?.isClosed, true)
    }))

  it('S60 [Symbol.dispose] and [Symbol.asyncDispose] close it', () =>
    virtual(function* () {
      const [a, b] = [yield* open(), yield* open()]
      a[Symbol.dispose]()
      yield* until(b[Symbol.asyncDispose]())
      assert.deepEqual([a.isClosed, b.isClosed], [true, true])
    }))
})

describe('S35 stopped while opening', () => {
  it('closes what was opened, and leaves a lookup behind', async () => {
    const before = held()
    await run(function* () {
      const fiber = spin(() => udp({ host: 'localhost' }))
      yield* snooze()
      yield* fiber.stop()
      const op = udp({ host: 'localhost' })
      yield* moveOnAfter(0, () => op)
      const socket = yield* op // the same op again
      socket.destroy()
    })
    await untilHeld(before)
  })

  it('a datagram that is being sent is sent, then the stop strikes', () =>
    virtual(function* () {
      const socket = yield* open()
      let isAfter = false
      const sender = spin(function* () {
        yield* socket.send('already on its way', socket)
        isAfter = true
      })
      yield* snooze()
      assert.equal(sender.waitsFor, `${socket.name}.send()`)
      const stopped = sender.stop()
      yield* snooze()
      assert.equal(sender.state, 'waiting') // the bytes are still needed
      assert.equal((yield* stopped).type, 'stopped')
      assert.equal(isAfter, false)
      assert.equal(text(yield* socket.recv()), 'already on its way')
      assert.equal(socket.stats().sending, 0)
    }))

  it('a socket that the system refused is closed', async () => {
    const before = held()
    await run(function* () {
      const socket = yield* open()
      for (let i = 0; i < 5; i++) yield* thrownBy(udp({ host: HOST, port: socket.port }))
    })
    await untilHeld(before)
  })

  it('trouble at every switchpoint of a conversation leaves nothing behind', async (t) => {
    const runs = await disturb(function* () {
      const server = yield* use(yield* udp({ host: HOST }))
      const answering = spin('server', () =>
        server.recvLoop((question) => server.send(`${text(question)}!`, question)),
      )
      const asking = function* (word: string) {
        const client = yield* use(yield* udp({ connect: { host: 'localhost', port: server.port } }))
        yield* ensure(
          function* () {
            yield* client.send(word)
            assert.equal(text(yield* client.recv()), `${word}!`)
          },
          () => client.send('bye'),
        )
      }
      // Without the server there is no answer to wait for.
      yield* race([() => all([() => asking('one'), () => asking('two')]), () => answering.join()])
    })
    assert.ok(runs > 40)
    t.diagnostic(`${runs} runs`)
  })
})

describe('groups and broadcast', () => {
  it('a member of a group receives what is sent to it, and no more after it has left', () =>
    virtual(function* () {
      const face = { interface: HOST }
      const sender = yield* open({ multicast: { interface: HOST, ttl: 1, loopback: true } })
      const member = yield* open({ host: '0.0.0.0' })
      member.joinGroup('239.7.7.7', face)
      yield* sender.send('to the group', member.port, '239.7.7.7')
      assert.equal(text(yield* member.recv()), 'to the group')
      member.leaveGroup('239.7.7.7', face)
      yield* sender.send('too late', member.port, '239.7.7.7')
      yield* sender.send('to you', member.port, HOST)
      assert.equal(text(yield* member.recv()), 'to you')
    }))

  it('what is no group is refused with the code of the system', () =>
    virtual(function* () {
      const socket = yield* open()
      for (const call of [
        () => socket.joinGroup('10.0.0.1'),
        () => socket.leaveGroup('239.7.7.7'),
        () => socket.joinGroup('239.7.7.7', { source: 'not an address', interface: HOST }),
      ]) {
        assert.throws(call, (error: IOError) => error instanceof IOError && /^E[A-Z]+$/.test(error.code))
      }
      assert.throws(() => socket.joinGroup('', {}), BadArgument)
      assert.throws(() => socket.joinGroup('239.1.1.1', { face: 1 } as any), /no option "face"/)
    }))

  it('broadcast must be asked for', () =>
    virtual(function* () {
      const receiver = yield* open({ host: '0.0.0.0' })
      const shy = yield* open({ host: '0.0.0.0' })
      const error = yield* thrownBy(shy.send('all', receiver.port, '127.255.255.255'))
      assert.equal(error.code, 'EACCES')
      const loud = yield* open({ host: '0.0.0.0', broadcast: true, ttl: 1 })
      yield* loud.send('all', receiver.port, '127.255.255.255')
      assert.equal(text(yield* receiver.recv()), 'all')
    }))

  it('reuseAddr lets several sockets have one port', () =>
    virtual(function* () {
      const first = yield* open({ reuseAddr: true })
      const second = yield* open({ port: first.port, reuseAddr: true })
      assert.equal(second.port, first.port)
    }))
})

describe('what is wrong', () => {
  const refused: [string, UdpOptions | (() => unknown), RegExp][] = [
    ['a port that is too large', { port: 70_000 }, /^udp\(\) needs a port from 0 to 65535, got 70000$/],
    ['a port that is no number', { port: '53' as any }, /got "53"/],
    ['a host that is empty', { host: '' }, /^udp\(\) needs a host, a name or an address, got ""$/],
    ['a host that is no string', { host: 5 as any }, /got 5/],
    ['a type that does not exist', { type: 'tcp' as any }, /is 'udp4' or 'udp6', got "tcp"/],
    [
      'an option that does not exist',
      { prot: 1 } as any,
      /udp\(\) has no option "prot"; there are: host, port,/,
    ],
    ['no object', 53 as any, /needs an object of options, got 53/],
    [
      'an other end without a port',
      { connect: { host: HOST } as any },
      /connect of udp\(\) needs a port from 1/,
    ],
    ['an other end of port 0', { connect: { host: HOST, port: 0 } }, /from 1 to 65535, got 0/],
    ['an other end without a host', { connect: { port: 5 } as any }, /needs a host/],
    ['a switch that is no switch', { broadcast: 'yes' as any }, /^broadcast of udp\(\) is true or false/],
    ['a ttl of nothing', { ttl: 0 }, /^the ttl of udp\(\) is a whole number from 1 to 255, got 0$/],
    ['a ttl of groups', { multicast: { ttl: 256 } }, /^the ttl of multicast of udp\(\) is/],
    ['an unknown option of groups', { multicast: { hops: 1 } as any }, /no option "hops"/],
    ['an interface of groups', { multicast: { interface: '' } }, /interface of multicast/],
    ['a buffer of no bytes', { recvBufferSize: 0 }, /^the recvBufferSize of udp\(\)/],
    ['a capacity of nothing', { capacity: 0 }, /^the capacity of udp\(\) is a whole number from 1/],
  ]
  for (const [what, options, message] of refused) {
    it(`${what} is refused at the call`, () => {
      assert.throws(
        () => udp(options as UdpOptions),
        (error: Error) => {
          assert.ok(error instanceof BadArgument)
          assert.match(error.message, message)
          return true
        },
      )
    })
  }

  it('reusePort is refused by name where Node does not know it, and works where it does', () =>
    virtual(function* () {
      try {
        const first = yield* open({ reusePort: true })
        const second = yield* open({ reusePort: true, port: first.port })
        assert.equal(second.port, first.port)
      } catch (error) {
        assert.match((error as Error).message, /needs Node 22\.12|ENOTSUP/)
      }
    }))

  it('what cannot be sent is refused at the call', () =>
    virtual(function* () {
      const socket = yield* open()
      assert.throws(() => socket.send(5 as any, 1), /send\(\) needs a string or bytes, got 5/)
      assert.throws(() => socket.send('x'), /is not connected: say where to/)
      assert.throws(() => socket.send('x', 0), /send\(\) needs a port from 1 to 65535, got 0/)
      assert.throws(() => socket.send('x', 70_000, HOST), /got 70000/)
      assert.throws(() => socket.send('x', { port: 5, host: '' }), /needs a host/)
      assert.throws(() => socket.send('x', {} as any), /needs a port/)
      assert.throws(() => socket.send('x', 5, '::1'), /is a socket for IPv4, it cannot send to ::1/)
    }))

  it('a port in use, an address of another machine and an unknown host are told with their codes', () =>
    virtual(function* () {
      const socket = yield* open()
      const cases: [UdpOptions, string][] = [
        [{ host: HOST, port: socket.port }, 'EADDRINUSE'],
        [{ host: '192.0.2.1' }, 'EADDRNOTAVAIL'],
        [{ host: 'a..b' }, 'ENOTFOUND'],
        [{ connect: { host: 'a..b', port: 1 } }, 'ENOTFOUND'],
        [{ host: '::1', type: 'udp4' }, 'ENOTFOUND'],
      ]
      for (const [options, code] of cases) {
        const error = yield* thrownBy(spin({ name: 'opener', link: false }, () => udp(options)))
        assert.ok(error instanceof IOError, String(error))
        assert.equal(error.code, code)
      }
      const error = yield* thrownBy(udp({ host: HOST, port: socket.port }))
      assert.match(
        error.message,
        new RegExp(`^udp\\(127.0.0.1:${socket.port}\\) in main failed: .*EADDRINUSE`),
      )
      const named = yield* thrownBy(socket.send('x', 5, 'a..b'))
      assert.equal(named.code, 'ENOTFOUND')
    }))
})

describe('S64 the process', () => {
  it('is not held by an open socket that nobody waits for', async () => {
    const { code, stdout, stderr } = await program(`
      import { main } from 'polyphony'
      import { udp } from 'polyphony/io'
      main(function* () {
        const socket = yield* udp({ host: '127.0.0.1' })
        yield* socket.send('unread', socket)
        console.log('done')
      })`)
    assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: 'done\n', stderr: '' })
  })

  it('is held by a fiber that waits for a datagram, which is no deadlock', async () => {
    const { code, stdout, stderr } = await program(`
      import { createSocket } from 'node:dgram'
      import { main } from 'polyphony'
      import { udp } from 'polyphony/io'
      main(function* () {
        const socket = yield* udp({ host: '127.0.0.1' })
        const foreign = createSocket('udp4')
        setTimeout(() => foreign.send('here', socket.port, '127.0.0.1', () => foreign.close()), 50).unref()
        console.log(String((yield* socket.recv()).data))
      })`)
    assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: 'here\n', stderr: '' })
  })

  it('holds again what a shielded fiber waits for, while it is being stopped', () =>
    virtual(function* () {
      const socket = yield* open()
      const fiber = spin(() => shield(() => socket.recv()))
      yield* snooze()
      fiber.stop()
      yield* socket.send('in the shield', socket)
      yield* fiber.join()
      assert.equal(socket.stats().unread, 0)
    }))
})
