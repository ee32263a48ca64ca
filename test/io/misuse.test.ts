// What sockets and processes refuse at the call, by name.

import {
  connect,
  exec,
  listen,
  lookup,
  spawnProcess,
  type TlsServerOptions,
  type UdpOptions,
  udp,
  watchProcess,
} from 'polyphony/io'
import { assert, BadArgument, describe, test } from '../prelude.js'
import { opened, realTest } from './real.js'
import { local } from './tls.js'

const LONGEST = process.platform === 'linux' ? 107 : 103

type Rows = [given: unknown, message: RegExp][]

const refusals: Record<string, [call: (given: any) => unknown, rows: Rows]> = {
  connect: [
    connect,
    [
      [8080, /^connect\(\) needs an object of options: connect\(\{ port: 8080 \}\)/],
      [{ port: 80, host: 'http://x' }, /the host of connect\(\) must be a name or an address and no URL/],
      [{}, /connect\(\) needs a port, or the path of a Unix socket/],
      [{ port: 0 }, /the port of connect\(\) must be a whole number from 1 to 65535, got 0/],
      [{ port: '80' }, /from 1 to 65535, got "80"/],
      [{ port: 65536 }, /got 65536/],
      [{ port: 80, path: '/x' }, /either a path or a host and port, not both/],
      [{ port: 80, host: '' }, /the host of connect\(\) must be a string that is not empty/],
      [{ path: 5 }, /the path of connect\(\) must be a string/],
      [
        { path: 'x'.repeat(200) },
        new RegExp(`of connect\\(\\) has 200 bytes, but .* can have ${LONGEST}: xx`),
      ],
      [{ port: 80, timeout: -1 }, /the timeout of connect\(\) needs a duration/],
      [{ port: 80, family: 5 }, /the family of connect\(\) must be 4 or 6, got 5/],
      [{ port: 80, localAddress: 'here' }, /localAddress of connect\(\) must be an IP address, got "here"/],
      [{ port: 80, noDelay: 'yes' }, /noDelay of connect\(\) must be true or false, got "yes"/],
      [{ port: 80, keepAlive: -5 }, /keepAlive of connect\(\) needs a duration/],
      [{ port: 80, keepAlive: 'x' }, /keepAlive of connect\(\) must be true or false, got "x"/],
      [{ port: 80, tiemout: 5 }, /connect\(\) has no option "tiemout"; there are: host, port, path/],
      [{ port: 1, alpn: ['h2'] }, /connect\(\) has alpn but no tls/],
      [{ port: 1, tls: false, alpn: ['h2'] }, /connect\(\) has alpn but no tls/],
      [{ port: 1, tls: true, alpn: 'h2' }, /alpn of connect\(\) needs a list of protocols .* got "h2"/],
      [{ port: 1, tls: { certs: 1 } }, /tls of connect\(\) has no option "certs"; there are: ca, cert,/],
      [{ port: 1, tls: { servername: '::1' } }, /servername of connect\(\) needs the name .* got "::1"/],
    ],
  ],
  listen: [
    listen,
    [
      [8080, /^listen\(\) needs an object of options: listen\(\{ port: 8080 \}\)/],
      [{ port: -1 }, /the port of listen\(\) must be a whole number from 0 to 65535, got -1/],
      [{ port: 80, path: '/x' }, /either a path or a host and port/],
      [{ backlog: 0 }, /the backlog of listen\(\) needs a whole number, 1 or more, got 0/],
      [{ maxConnections: 1.5 }, /maxConnections of listen\(\) needs a whole number, 1 or more, got 1.5/],
      [{ path: '/x', mode: 0o1777 }, /the mode of listen\(\) must be from 0 to 0o777/],
      [{ mode: 0o600 }, /listen\(\) has mode for Unix sockets only/],
      [{ removeStale: true }, /listen\(\) has removeStale for Unix sockets only/],
      [{ ipv6Only: 1 }, /ipv6Only of listen\(\) must be true or false, got 1/],
      [{ path: `/${'x'.repeat(150)}` }, /the path of listen\(\) has 151 bytes/],
      [{ prot: 80 }, /listen\(\) has no option "prot"; there are: port, host/],
      [{ alpn: ['h2'] }, /listen\(\) has alpn but no tls/],
      [{ tls: local, alpn: [''] }, /alpn of listen\(\) needs a list/],
      [{ tls: 5 }, /tls of listen\(\) needs an object of options, got 5/],
    ],
  ],
  'listen with TLS': [
    (tls: TlsServerOptions) => listen({ tls }),
    [
      [{ handshakeTimeout: -1 }, /handshakeTimeout of listen\(\) needs a duration/],
      [{ *onHandshakeError() {} }, /onHandshakeError of listen\(\) needs a plain function, no function\*/],
      [{ onHandshakeError: 1 }, /onHandshakeError of listen\(\) needs a plain function, .*got 1/],
      [{ onHandshakeError: async () => {} }, /onHandshakeError of listen\(\) needs a plain function/],
      [{ certs: 1 }, /tls of listen\(\) has no option "certs"/],
    ],
  ],
  lookup: [
    (args: Parameters<typeof lookup>) => lookup(...args),
    [
      [[''], /^lookup\(\) needs a host, a name or an address, got ""/],
      [[4], /got 4/],
      [['a\0b'], /needs a host/],
      [['x', { family: 5 }], /the family of lookup\(\) is 4 or 6, got 5/],
      [['x', { all: 1 }], /is true or false, got 1/],
      [['x', { hints: 1 }], /no option "hints"; there are: family, all/],
    ],
  ],
  udp: [
    udp,
    [
      [{ port: 70_000 }, /^udp\(\) needs a port from 0 to 65535, got 70000$/],
      [{ port: '53' }, /got "53"/],
      [{ host: '' }, /^udp\(\) needs a host, a name or an address, got ""$/],
      [{ host: 5 }, /got 5/],
      [{ type: 'tcp' }, /^the type of udp\(\) needs one of 'udp4', 'udp6', got "tcp"$/],
      [{ prot: 1 }, /udp\(\) has no option "prot"; there are: host, port,/],
      [53, /needs an object of options, got 53/],
      [{ connect: { host: 'x' } }, /connect of udp\(\) needs a port from 1/],
      [{ connect: { host: 'x', port: 0 } }, /from 1 to 65535, got 0/],
      [{ connect: { port: 5 } }, /needs a host/],
      [{ connect: { host: 'x', port: 5, at: 1 } }, /connect of udp\(\) has no option "at"/],
      [{ broadcast: 'yes' }, /^the broadcast of udp\(\) needs true or false, got "yes"$/],
      [{ ttl: 0 }, /^the ttl of udp\(\) needs a whole number from 1 to 255, got 0$/],
      [{ ttl: -1 }, /got -1$/],
      [{ ttl: 1.5 }, /got 1\.5$/],
      [
        { multicast: { ttl: 256 } },
        /^the ttl of multicast of udp\(\) needs a whole number from 0 to 255, got 256$/,
      ],
      [{ multicast: { hops: 1 } }, /no option "hops"/],
      [{ multicast: { interface: '' } }, /^the interface of multicast of udp\(\) needs a host/],
      [{ multicast: { loopback: 1 } }, /^the loopback of multicast of udp\(\) needs true or false/],
      [{ recvBufferSize: 0 }, /^the recvBufferSize of udp\(\)/],
      [{ capacity: 0 }, /^the capacity of udp\(\) needs a whole number above 0, or Infinity, got 0$/],
      [{ detached: 1 }, /^the detached of udp\(\) needs true or false, got 1$/],
    ] satisfies [UdpOptions | unknown, RegExp][],
  ],
  exec: [
    (args: Parameters<typeof exec>) => exec(...args),
    [
      [[undefined], /^exec\(\) needs the name of a program, got undefined/],
      [[''], /^exec\(\) needs the name of a program, got ""/],
      [['ls', { cwd: '/' }], /^exec\(ls\) needs an array of arguments, got an object/],
      [['ls', ['-l', 3]], /^exec\(ls\) needs arguments that are strings.*got 3/],
      [['ls', ['a\0b']], /^exec\(ls\) needs arguments that are strings without \\0/],
      [
        ['ls', [], { shell: true }],
        /^exec\(ls\) has no option "shell"; there are: cwd, env, grace, group, stderr, input/,
      ],
      [[Symbol('ls')], /^exec\(\) needs the name of a program, got Symbol\(ls\)/],
      [['l\0s'], /^exec\(l\0s\) needs arguments that are strings without \\0/],
      [['ls', 'x'], /^exec\(ls\) needs an array of arguments, got "x"/],
      [['ls', null], /^exec\(ls\) needs an array of arguments, got null/],
      // biome-ignore lint/suspicious/noSparseArray: a hole is not a string
      [['ls', ['a', , 'b']], /^exec\(ls\) needs arguments that are strings.*got undefined/],
      [['ls', [], null], /^exec\(ls\) needs an object of options, got null/],
      [['ls', [], { cwd: 3 }], /^the cwd of exec\(ls\) needs a path, or a file: URL, got 3/],
      [['ls', [], { cwd: '/a\0b' }], /^the cwd of exec\(ls\) needs a path/],
      [['ls', [], { cwd: new URL('http://a/') }], /^the cwd of exec\(ls\) needs a path/],
      [['ls', [], { env: 'A=1' }], /^the env of exec\(ls\) needs an object of strings, got "A=1"/],
      [['ls', [], { env: ['A=1'] }], /^the env of exec\(ls\) needs an object of strings, got /],
      [['ls', [], { env: { A: 1 } }], /^the env of exec\(ls\) needs strings without \\0, got 1 for "A"/],
      [['ls', [], { env: { A: 'x\0' } }], /^the env of exec\(ls\) needs strings without \\0, got "x/],
      [['ls', [], { group: 'yes' }], /^the group of exec\(ls\) needs true or false, got "yes"/],
      [['ls', [], { stderr: 'stdout' }], /^the stderr of exec\(ls\) needs one of 'merge', got "stdout"/],
      [['ls', [], { stdio: 'pipe' }], /^exec\(ls\) has no option "stdio"/],
      [['ls', [], { grace: NaN }], /^the grace of exec\(ls\) .* got NaN/],
      [['ls', [], { encoding: 'klingon' }], /^the encoding of exec\(ls\) .* got "klingon"/],
      [['ls', [], { limit: 0 }], /^the limit of exec\(ls\) .* got 0/],
      [['ls', [], { input: 3 }], /^the input of exec\(ls\) .* got 3/],
      [['ls', [], { grace: -1 }], /^the grace of exec\(ls\) .* got -1/],
      [['ls', [], { check: 'yes' }], /^the check of exec\(ls\) needs true or false, got "yes"/],
    ],
  ],
  spawnProcess: [
    (args: Parameters<typeof spawnProcess>) => spawnProcess(...args),
    [
      [['ls', [], { stdio: 'tty' }], /^the stdio of spawnProcess\(ls\) is one of 'pipe', .* got "tty"$/],
      [['ls', [], { stdio: ['pipe'] }], /got \["pipe"\]$/],
      [['ls', [], { detached: true }], /"detached"; there are: cwd, env, grace, group, stderr, stdio$/],
      [['ls', [], { stdio: [] }], /three or more of them, .* got \[\]$/],
      [['ls', [], { stdio: ['pipe', 'pipe', -1] }], /got \["pipe", "pipe", -1\]$/],
      [['ls', [], { stdio: ['pipe', 'pipe', 'pipe', 'ipc'] }], /"ipc"\]$/],
      [['ls', [], { stdio: ['pipe', 'pipe', 'pipe', 1.5] }], /1\.5\]$/],
      // biome-ignore lint/suspicious/noSparseArray: a hole is not a descriptor
      [['ls', [], { stdio: ['pipe', , 'pipe'] }], /got \["pipe", undefined, "pipe"\]$/],
      [
        ['ls', [], { stdio: ['pipe', 'pipe', 'ignore'], stderr: 'merge' }],
        /^spawnProcess\(ls\) has stderr 'merge', so .* must be the same; got "pipe" and "ignore"$/,
      ],
      [['ls', [], { grace: -1 }], /^the grace of spawnProcess\(ls\) .* got -1/],
      [['ls', [], { grace: 'long' }], /^the grace of spawnProcess\(ls\)/],
      [[{}], /^spawnProcess\(\) needs the name of a program/],
    ],
  ],
  watchProcess: [
    (args: Parameters<typeof watchProcess>) => watchProcess(...args),
    [
      [['ls', [], { stdio: 5 }], /^the stdio of watchProcess\(ls\)/],
      [['ls', [], { stdio: [0, 1] }], /got \[0, 1\]$/],
      [['ls', [], { check: 1 }], /^the check of watchProcess\(ls\)/],
    ],
  ],
}

const isRefusal = (message: RegExp) => (error: Error) => {
  assert.ok(error instanceof BadArgument, String(error))
  assert.match(error.message, message)
  return true
}

describe('refused at the call, by name:', () => {
  for (const [name, [call, rows]] of Object.entries(refusals)) {
    test(name, () => {
      for (const [given, message] of rows) assert.throws(() => call(given), isRefusal(message))
    })
  }

  test('groups and merged errors on Windows; by default there are none', () => {
    const platform = Object.getOwnPropertyDescriptor(process, 'platform') as PropertyDescriptor
    Object.defineProperty(process, 'platform', { ...platform, value: 'win32' })
    try {
      const rows: [object, RegExp][] = [
        [{ group: true }, /^the group of exec\(ls\) cannot be had on Windows: there are no process groups$/],
        [{ stderr: 'merge' }, /^the stderr of exec\(ls\) cannot be had on Windows: /],
      ]
      for (const [options, message] of rows) assert.throws(() => exec('ls', [], options), isRefusal(message))
      exec('ls', [], { group: false })
      const start = spawnProcess('ls') as unknown as { command: { isGroup: boolean } }
      assert.equal(start.command.isGroup, false)
    } finally {
      Object.defineProperty(process, 'platform', platform)
    }
  })

  realTest('methods of a UDP socket and a process', function* () {
    const socket = yield* opened(udp({ host: '127.0.0.1' }))
    const process = yield* spawnProcess('true')
    const calls: [call: () => unknown, message: RegExp][] = [
      [() => socket.recvLoop(undefined as never), /recvLoop\(\) needs a function\*/],
      [() => socket.recvLoop((async () => {}) as never), /^udp 127.*async function/],
      [() => udp({}, 5 as never), /^udp\(\) needs a function\*/],
      [() => udp({}, (async () => {}) as never), /^udp\(\) was given the async function/],
      [() => udp({ detached: true }, () => {}), /^udp\(\) with a body closes its socket/],
      [() => socket.send(new Float64Array(1) as never, 1), /needs a string or bytes/],
      [() => socket.send(new ArrayBuffer(1) as never, 1), /needs a string or bytes/],
      [() => socket.send(5 as never, 1), /^udp 127\.0\.0\.1:\d+\.send\(\) needs a string or bytes, got 5/],
      [() => socket.send('x'), /is not connected: give send\(data, port, host\) a destination/],
      [() => socket.send('x', 0), /^udp 127\.0\.0\.1:\d+\.send\(\) needs a port from 1 to 65535, got 0/],
      [() => socket.send('x', 65_536, '127.0.0.1'), /got 65536/],
      [() => socket.send('x', { port: 5, host: '' }), /needs a host/],
      [() => socket.send('x', {} as never), /needs a port/],
      [() => socket.send('x', 5, '::1'), /is a socket for IPv4, it cannot send to ::1/],
      [() => socket.joinGroup(''), /^udp 127.*joinGroup\(\) needs a host/],
      [() => socket.joinGroup('239.1.1.1', { source: 5 } as never), /^the source of udp 127.* needs a host/],
      [() => socket.joinGroup('239.1.1.1', { face: 1 } as never), /no option "face"/],
      [() => process.kill('TERM' as never), /^true\.kill\(\) needs a signal such as 'SIGTERM', got "TERM"/],
      [() => process.kill(999), /got 999/],
      [() => process.kill(null as never), /got null/],
      [() => process.close(JSON.parse('{ "grace": -1 }')), /^the grace of true\.close\(\)/],
      [() => process.close({ gracious: 1 } as never), /true\.close\(\) has no option "gracious"/],
    ]
    for (const [call, message] of calls) assert.throws(call, isRefusal(message))
  })
})

test('Infinity is no limit where a time is taken', () => {
  for (const take of [
    () => connect({ port: 80, timeout: Infinity }),
    () => listen({ port: 0, tls: { ...local, handshakeTimeout: Infinity } }),
  ]) {
    assert.doesNotThrow(take, String(take))
  }
})
