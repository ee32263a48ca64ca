// Chapter "Streams": what a stream of bytes promises. Here the streams in memory keep it, in virtual time; the same tests
// run against sockets, TLS and streams of Node in test/io/stream/stream.test.ts. What only connections and files promise is tested
// with real ones.

import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import {
  connect,
  type File,
  fromNode,
  LimitExceeded,
  listen,
  openFile,
  pair,
  pipe,
  type Server,
  type Socket,
  type Stream,
  StreamClosed,
  type UdpSocket,
  udp,
} from 'polyphony/io'
import { folder, listening, placeOf, rawClient, realTest } from '../io/real.js'
import { scripted } from '../io/scripted.js'
import {
  all,
  assert,
  describe,
  eventually,
  Fiber,
  forEach,
  moveOnAfter,
  now,
  type Op,
  once,
  type Routine,
  race,
  retry,
  scope,
  sleep,
  snooze,
  spin,
  suspend,
  TimedOut,
  test,
  thrownBy,
  turns,
  until,
  untilWaiting,
  use,
} from '../prelude.js'
import { keeps, MEMORY, outcomeOf, type Rule } from '../shared/stream.js'

const inMemory = (rule: Rule) => {
  for (const kind of MEMORY) keeps(rule, kind)
}

describe('S71 order', () => {
  inMemory('S71')

  test('write hands its chunks over at its yield*, not before', function* () {
    const stream = pipe()
    const [first, second] = [stream.write('a'), stream.write('b')]
    assert.equal(stream.stats().written, 0)
    yield* second
    yield* first
    assert.equal(`${yield* stream.readExactly(2)}`, 'ba')
  })

  test('unread puts bytes back before all that has arrived, also for a reader that waits', function* () {
    const stream = pipe()
    yield* stream.write('hello world\n')
    const first = yield* stream.readExactly(5)
    stream.unread(first)
    first.fill('x') // it was copied
    assert.equal(yield* stream.gets(), 'hello world')
    const reader = spin(() => stream.gets())
    yield* untilWaiting(reader)
    stream.unread(Buffer.from('back again\n'))
    assert.equal(yield* reader, 'back again')
  })

  test('tryRead takes what has arrived, and nothing while a fiber waits', function* () {
    const stream = pipe()
    assert.equal(stream.tryRead(), undefined)
    yield* stream.write('one two')
    assert.deepEqual(
      [`${stream.tryRead(3)}`, `${stream.tryRead()}`, stream.tryRead()],
      ['one', ' two', undefined],
    )
    const reader = spin(() => stream.gets())
    yield* untilWaiting(reader)
    yield* stream.write('half')
    assert.equal(stream.tryRead(), undefined)
    yield* stream.write(' a line\n')
    assert.equal(yield* reader, 'half a line')
  })
})

describe('S72 a cut wait takes nothing with it', () => {
  inMemory('S72')

  test('half a line that a leaving fiber had no use for goes to the next, if that has', function* () {
    const stream = pipe()
    const line = spin(() => stream.gets())
    yield* untilWaiting(line)
    const bytes = spin(() => stream.read())
    yield* untilWaiting(bytes)
    yield* stream.write('half')
    yield* sleep(1)
    assert.equal(bytes.state, 'waiting')
    yield* line.stop()
    assert.equal(`${yield* bytes}`, 'half')
  })

  test('bytes that were handed over before the fiber was struck are received', function* () {
    const [client, server] = pair()
    for (const strike of ['stop', 'kill', 'raise'] as const) {
      let got: unknown
      const reader = spin({ link: false }, function* () {
        got = yield* server.gets()
      })
      yield* untilWaiting(reader)
      yield* client.write('line\n')
      reader[strike]()
      yield* reader.join()
      assert.equal(got, 'line', strike)
    }
  })

  for (const how of ['stop', 'kill', 'raise', 'time out'] as const) {
    test(`a writer that meets a ${how} while it waits for room leaves nothing behind`, function* () {
      const [client, server] = pair()
      const full = spin(() => client.write(Buffer.alloc(100_000)))
      yield* untilWaiting(full)
      for (let n = 0; n < 20; n++) {
        if (how === 'time out') yield* moveOnAfter(1, () => client.write('cut'))
        else {
          const writer = spin({ link: false }, () => client.write('cut'))
          yield* untilWaiting(writer)
          yield* writer[how]()
        }
      }
      assert.deepEqual([client.stats().written, client.stats().writers], [100_000, 1])
      const last = spin(() => client.end('last'))
      assert.equal(`${(yield* server.readAll()).subarray(100_000)}`, 'last')
      yield* last
      yield* full
    })
  }
})

describe('S73 whose bytes', () => {
  inMemory('S73')
})

describe('S74 room', () => {
  inMemory('S74')

  test('room is 64 KiB, counted in bytes and not in characters', function* () {
    const stream = pipe()
    yield* stream.write('é'.repeat(32 * 1024 - 1), 'x')
    const writer = spin(() => stream.write('x'))
    yield* untilWaiting(writer)
    yield* stream.readExactly(64 * 1024)
    yield* writer
  })

  test('at most 64 KiB and one chunk lie unread, unless a reader asks for more at once', function* () {
    const [client, server] = pair()
    const writer = spin(function* () {
      for (let n = 0; n < 20; n++) yield* client.write(Buffer.alloc(20_000))
    })
    yield* server.readExactly(1)
    yield* sleep(1)
    assert.equal(server.stats().unread, 79_999)
    yield* server.readExactly(399_999)
    yield* writer
  })

  test('a stream holds 64 KiB and one write, however many writes are cut', function* () {
    const [client] = pair()
    for (let n = 0; n < 100; n++) yield* moveOnAfter(1, () => client.write(Buffer.alloc(60_000)))
    const { written, unsent } = client.stats()
    assert.deepEqual([written, unsent], [180_000, 120_000]) // the first is on its way
  })

  test('tryWrite says false where nothing can be sent, and has sent nothing', function* () {
    const [client, server] = pair()
    server.destroy()
    assert.equal(client.tryWrite('x'), false)
    assert.equal(client.stats().written, 0)
  })
})

describe('S75 the end', () => {
  inMemory('S75')

  test('broken: whole lines that had come can be read, then the IOError, then the rest as bytes', function* () {
    const [client, server] = pair()
    yield* client.write('one\n', 'two\n', 'thr')
    assert.equal(yield* server.gets(), 'one')
    client.destroy()
    assert.equal(yield* server.gets(), 'two')
    assert.equal((yield* thrownBy(server.gets())).code, 'ECONNRESET')
    assert.equal(`${yield* server.read()}`, 'thr')
  })

  test('close throws if what was written cannot be sent', function* () {
    const [client, server] = pair()
    yield* moveOnAfter(1, () => client.write(Buffer.alloc(100_000)))
    const closer = spin(() => thrownBy(client.close()))
    yield* untilWaiting(closer)
    server.destroy()
    assert.equal((yield* closer).code, 'ECONNRESET')
    assert.equal(client.isClosed, true)
  })

  test('close sends what writes that wait for room have to send', function* () {
    const [client, server] = pair()
    const writers: Fiber[] = []
    for (const letter of 'abc') {
      writers.push(spin(() => client.write(letter.repeat(100_000))))
      yield* untilWaiting(...writers)
    }
    const closing = spin(() => client.close())
    yield* untilWaiting(closing)
    const all = `${yield* server.readAll()}`
    assert.deepEqual([all.length, [...new Set(all)].join('')], [300_000, 'abc'])
    yield* Fiber.await(closing, ...writers)
  })

  test('close of a pipe: writes that wait for room are refused, since no fiber can read them', function* () {
    const stream = pipe()
    const writers = [1, 2, 3].map(() => spin(() => thrownBy(stream.write(Buffer.alloc(100_000)))))
    yield* untilWaiting(...writers)
    yield* stream.close()
    for (const error of yield* Fiber.await(...writers)) assert.ok(error instanceof StreamClosed)
  })

  test('close of a stream of Node: the writes that it sends are told so', function* () {
    const node = new PassThrough()
    const stream = fromNode(node)
    const writers: Fiber[] = []
    for (const letter of 'abc') {
      writers.push(spin(() => stream.write(letter.repeat(100_000))))
      yield* untilWaiting(...writers)
    }
    const closing = spin(() => stream.close())
    yield* untilWaiting(closing)
    let count = 0
    node.on('data', (chunk: Buffer) => void (count += chunk.length))
    yield* Fiber.await(closing, ...writers)
    assert.equal(count, 300_000)
  })

  for (const how of ['killed', 'stopped, and its grace is over'] as const) {
    test(`close closes at once in a fiber that is ${how}`, function* () {
      const [client, server] = pair()
      const fiber = spin(function* () {
        try {
          yield* client.write(Buffer.alloc(100_000))
        } finally {
          yield* client.close()
        }
      })
      yield* untilWaiting(fiber)
      yield* how === 'killed' ? fiber.kill() : fiber.stop(undefined, { grace: 100 })
      assert.equal(client.isClosed, true)
      assert.equal((yield* thrownBy(server.readExactly(200_000))).code, 'ECONNRESET')
    })
  }

  test('after closeTimeout a close that is not over cuts, and throws TimedOut', function* () {
    const unable = { write: () => false, close: () => undefined }
    const closing = {
      closeTimeout: 300,
      does: { ...unable, destroy: (it: { closed(): void }) => it.closed() },
    }
    const { stream, calls } = scripted(closing as object)
    stream.tryWrite('12345')
    const error = yield* thrownBy(stream.close())
    assert.ok(error instanceof TimedOut)
    assert.equal(
      error.message,
      'script.close() took longer than 300 ms: 5 bytes were not taken by the other side, and are lost',
    )
    assert.deepEqual([now(), calls], [300, ['write', 'close', 'destroy']])
    const quick = scripted({ closeTimeout: 300, does: { close: (it) => it.closed() } })
    yield* quick.stream.close()
    yield* sleep(1000) // the limit is over with the close
    assert.deepEqual(quick.calls, ['close'])
  })

  test('when the last bytes of both sides have been taken, the stream closes by itself', function* () {
    const [client, server] = pair()
    yield* server.end()
    assert.equal(yield* client.read(), undefined)
    const ending = spin(() => client.end(Buffer.alloc(100_000)))
    yield* untilWaiting(ending)
    yield* server.readAll()
    yield* ending
    assert.deepEqual([client.isClosed, server.isClosed], [true, true])
  })
})

describe('S76 limits', () => {
  inMemory('S76')

  const MIB = 1024 * 1024
  const most: [what: string, length: number, take: (stream: Stream) => Op<unknown>][] = [
    ['gets takes lines of 1 MiB', MIB, (stream) => stream.gets()],
    ['lines gives lines of 1 MiB', MIB, (stream) => stream.lines().next()],
    ['readUntil takes 1 MiB with the delimiter', MIB - 1, (stream) => stream.readUntil('\n')],
    ['readAll takes 64 MiB', 64 * MIB - 1, (stream) => stream.readAll()],
  ]
  for (const [what, length, take] of most) {
    test(`${what}, and not a byte more`, function* () {
      for (const more of [0, 1]) {
        const stream = pipe()
        const ending = spin(() => outcomeOf(stream.end(Buffer.alloc(length + more), '\n')))
        const error = yield* outcomeOf(take(stream))
        assert.equal(error instanceof LimitExceeded, more === 1, `${error}`)
        stream.destroy()
        yield* ending
      }
    })
  }
})

describe('S86 what a fiber opens is closed with it', () => {
  /** What can be opened, with and without an owner. */
  interface Opening {
    name: string
    open(server: Server, path: string, options: { detached?: boolean }): Op<Owned>
  }
  type Owned = { readonly isClosed: boolean; destroy(): void; name?: string }
  const openings: Opening[] = [
    {
      name: 'connect',
      open: (server, _, options) => connect({ ...placeOf(server), ...options }) as Op<Owned>,
    },
    {
      name: 'accept',
      *open(server, _, options): Routine<Owned> {
        yield* rawClient(server)
        return (yield* server.accept(options)) as Owned
      },
    },
    {
      name: 'tryAccept',
      *open(server, _, options): Routine<Owned> {
        yield* rawClient(server)
        yield* eventually(() => server.stats().backlog > 0)
        return server.tryAccept(options) as Owned
      },
    },
    {
      name: 'listen',
      open: (_server, _path, options) => listen({ host: '127.0.0.1', ...options }) as Op<Owned>,
    },
    { name: 'openFile', open: (_, path, options) => openFile(path, 'w', options) as Op<Owned> },
    { name: 'udp', open: (_server, _path, options) => udp({ host: '127.0.0.1', ...options }) as Op<Owned> },
  ]
  /** How the owner ends. */
  const ends: Record<string, (fiber: Fiber) => unknown> = {
    returns: (fiber) => fiber.schedule(),
    fails: (fiber) => fiber.raise('no luck'),
    'is stopped': (fiber) => fiber.stop(),
    'is killed': (fiber) => fiber.kill(),
  }

  for (const { name, open } of openings) {
    realTest(`${name}: it is closed when its fiber is over, however that ends`, function* () {
      const [server, path] = [yield* listening(), join(yield* folder(), 'a')]
      for (const [how, end] of Object.entries(ends)) {
        let opened: Owned | undefined
        const fiber = spin({ link: false }, function* () {
          opened = yield* open(server, path, {})
          yield* suspend()
        })
        yield* eventually(() => opened !== undefined && fiber.state === 'waiting')
        assert.equal(opened?.isClosed, false)
        end(fiber)
        yield* fiber.join()
        assert.equal(opened?.isClosed, true, how)
      }
    })

    realTest(`${name}: in a scope it belongs to the scope; detached, to no fiber`, function* () {
      const [server, path] = [yield* listening(), join(yield* folder(), 'a')]
      yield* scope(function* () {
        const opened: Owned[] = []
        yield* scope(function* () {
          opened.push(yield* open(server, path, {}))
        })
        yield* spin(function* () {
          opened.push(yield* open(server, path, { detached: true }))
        })
        assert.deepEqual(
          opened.map(({ isClosed }) => isClosed),
          [true, false],
        )
        opened[1]?.destroy()
      })
    })

    realTest(`${name}: as a result, alone or in an array, it goes to what receives it`, function* () {
      const [server, path] = [yield* listening(), join(yield* folder(), 'a')]
      const opening = () => open(server, path, {})
      const ways: Record<string, () => Op<Owned>> = {
        scope: () => scope(opening) as Op<Owned>,
        spin: () => spin(opening) as Op<Owned>,
        retry: () => retry(opening) as Op<Owned>,
        race: () => race([opening]) as Op<Owned>,
        *all() {
          return (yield* all([opening]))[0] as Owned
        },
        *forEach() {
          return (yield* forEach([1], opening))[0] as Owned
        },
      }
      for (const [way, make] of Object.entries(ways)) {
        let got: Owned | undefined
        yield* scope(function* () {
          got = yield* make()
          assert.equal(got.isClosed, false, way)
        })
        assert.equal(got?.isClosed, true, way)
      }
    })
  }

  realTest('it outlives the children of its owner, and what was written is sent', function* () {
    const server = yield* listening()
    yield* scope(function* () {
      const socket = yield* connect(placeOf(server))
      spin(function* () {
        yield* until(turns(2))
        yield* socket.write('last words')
      })
      yield* snooze()
    })
    const other = (yield* server.accept()) as Socket
    assert.equal(`${yield* other.readAll()}`, 'last words')
  })

  realTest('a later use throws StreamClosed, which names the owner', function* () {
    const path = join(yield* folder(), 'a')
    const opened = {} as { server: Server; socket: Socket; file: File; datagrams: UdpSocket }
    yield* spin('opener', function* () {
      opened.server = yield* listen({ host: '127.0.0.1' })
      opened.socket = yield* connect(placeOf(opened.server))
      opened.file = yield* openFile(path, 'w')
      opened.datagrams = yield* udp({ host: '127.0.0.1' })
    })
    for (const use of [
      () => opened.socket.write('x'),
      () => opened.file.write('x'),
      () => opened.server.accept(),
      () => opened.server.acceptLoop(() => {}),
      () => opened.datagrams.recv(),
      () => opened.datagrams.recvLoop(() => {}),
      () => opened.datagrams.send('x', 1, '127.0.0.1'),
    ] as (() => Op<unknown>)[]) {
      const error = yield* thrownBy(use())
      assert.ok(error instanceof StreamClosed, `${use}: ${error}`)
      assert.match(
        error.message,
        /\(\) failed: it was closed at the end of the scope or fiber that it belonged to \(run > test > opener\)\. To keep it open, open it with detached: true$/,
      )
    }
  })

  realTest('one that is closed before leaves nothing to its owner', function* () {
    const server = yield* listening()
    yield* spin(function* () {
      for (let n = 0; n < 5; n++) {
        const socket = yield* connect(placeOf(server))
        assert.ok((Fiber.current as any).rare.cleanups)
        yield* socket.close()
        assert.equal((Fiber.current as any).rare.cleanups, null)
      }
    })
  })

  realTest('with a body it is closed when the body is over, and gives its result', function* () {
    const server = yield* listening()
    let kept: Socket | undefined
    const result = yield* connect(placeOf(server), function* (socket) {
      kept = socket
      yield* socket.write('hello\n')
      return 'done'
    })
    assert.deepEqual([result, kept?.isClosed], ['done', true])
    assert.equal(yield* ((yield* server.accept()) as Socket).gets(), 'hello')
    const error = yield* thrownBy(
      connect(placeOf(server), (socket) => {
        kept = socket
        throw new RangeError('no luck')
      }),
    )
    assert.deepEqual([error.message, kept?.isClosed], ['no luck', true])
  })
})

describe('S87 gone()', () => {
  test('tells whether the other side has ended or is lost, and takes no byte', function* () {
    for (const how of ['ended', 'lost'] as const) {
      const [client, server] = pair()
      const watcher = spin(() => server.gone())
      yield* client.write('a line\n')
      yield* untilWaiting(watcher)
      if (how === 'ended') yield* client.end()
      else client.destroy()
      assert.equal(yield* watcher, how)
      assert.equal(yield* server.gone(), how)
      assert.equal(yield* server.gets(), 'a line')
    }
  })

  test('takes no place among the readers', function* () {
    const [client, server] = pair()
    const watcher = spin(() => server.gone())
    yield* untilWaiting(watcher)
    const reader = spin(() => server.gets())
    yield* untilWaiting(reader)
    assert.equal(server.stats().readers, 1)
    yield* client.end('for the reader\n')
    assert.deepEqual([yield* reader, yield* watcher], ['for the reader', 'ended'])
  })

  test('beyond the read-ahead nothing is noticed until some of it is read', function* () {
    const [client, server] = pair()
    const watcher = spin(() => server.gone())
    const writer = spin(() => client.end(Buffer.alloc(200_000), Buffer.alloc(60_000)))
    yield* sleep(1)
    assert.equal(watcher.state, 'waiting')
    yield* server.readExactly(200_000)
    assert.equal(yield* watcher, 'ended')
    yield* writer
  })

  test('closed by us, it throws StreamClosed; a stopped wait leaves nothing', function* () {
    const [, server] = pair()
    yield* moveOnAfter(1, () => server.gone())
    const watcher = spin(() => thrownBy(server.gone()))
    yield* untilWaiting(watcher)
    server.destroy()
    for (const error of [yield* watcher, yield* thrownBy(server.gone())]) {
      assert.ok(error instanceof StreamClosed)
    }
  })
})

describe('S88 detach()', () => {
  realTest('gives the socket back to Node, with what was written and what was not read', function* () {
    const server = yield* listening()
    const peer = yield* rawClient(server)
    const stream = (yield* server.accept()) as Socket
    peer.socket.write('first\nrest')
    assert.equal(yield* stream.gets(), 'first')
    yield* eventually(() => stream.stats().unread === 4)
    yield* stream.write('written, ')
    const reader = spin(() => thrownBy(stream.gets()))
    yield* untilWaiting(reader)
    const socket = stream.detach()
    yield* use(socket, () => void socket.destroy())
    assert.ok((yield* reader) instanceof StreamClosed)
    assert.equal(stream.isClosed, true)
    assert.match((yield* thrownBy(stream.read())).message, /read\(\) failed: the stream was detached$/)
    const rest = yield* once(socket, 'data')
    assert.equal(`${rest}`, 'rest')
    socket.end('and more')
    assert.equal(yield* until(peer.all), 'written, and more')
  })

  realTest(
    'its owner leaves the socket open; a place in acceptLoop is free when that is closed',
    function* () {
      const server = yield* listening({ maxConnections: 1 })
      const given: ReturnType<Socket['detach']>[] = []
      spin(() => server.acceptLoop((stream) => void given.push(stream.detach())))
      const peer = yield* rawClient(server)
      yield* rawClient(server)
      yield* eventually(() => given.length === 1 && server.stats().backlog === 1)
      yield* until(turns(5))
      const [socket] = given as [(typeof given)[0]]
      assert.deepEqual([socket.destroyed, given.length, server.stats().open], [false, 1, 1])
      socket.end('bye')
      assert.equal(yield* until(peer.all), 'bye')
      socket.destroy()
      yield* eventually(() => given.length === 2)
      given[1]?.destroy()
    },
  )
})
