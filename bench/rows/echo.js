// What does it cost a server to send back what it received? 64 connections, one message at a time on each; or a connection for
// each message.
import { traffic, visits } from '../traffic/traffic.js'

function echo(size, name, aims) {
  const exchange = { request: size, answer: 'same' }
  const net = traffic('echo.js', 'plainNet', exchange)
  const read = traffic('echo.js', 'read', exchange)
  const readLoop = traffic('echo.js', 'readLoop', exchange)
  return [
    { name: `TCP echo of ${name}, read()`, aim: { net: aims.slow }, multiple: 64, ours: read, net },
    {
      name: `TCP echo of ${name}, readLoop`,
      aim: { net: aims.net, ...(aims.read && { 'read()': aims.read }) },
      multiple: 64,
      ours: readLoop,
      net,
      'read()': read,
    },
  ]
}

export const rows = [
  ...echo(64, '64 B', { slow: 0.97, net: 0.97 }),
  ...echo(16384, '16 kB', { slow: 0.95, net: 1.15, read: 1.2 }),
  {
    name: 'TCP echo of 16 kB, readInto()',
    aim: { net: 1.15 },
    multiple: 64,
    ours: traffic('echo.js', 'readInto', { request: 16384, answer: 'same' }),
    net: traffic('echo.js', 'plainNet', { request: 16384, answer: 'same' }),
  },
  {
    name: 'a connection for each TCP echo of 64 B',
    aim: { net: 0.95 },
    ours: visits('echo.js', 'read', 64),
    net: visits('echo.js', 'plainNet', 64),
  },
]
