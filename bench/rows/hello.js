// What does a request for "hello world" cost an HTTP server with 64 connections that stay open?
import { traffic } from '../traffic/traffic.js'

const exchange = {
  request:
    'GET /hello HTTP/1.1\r\nHost: localhost:8080\r\nUser-Agent: bench/1.0\r\nAccept: text/plain, */*;q=0.5\r\nAccept-Encoding: gzip, deflate\r\n\r\n',
  answer: 'http',
}

export const rows = [
  {
    name: 'HTTP hello world, acceptLoop and readLoop',
    note: 'Ours is a few lines by hand, which find the end of each head and look at its first line; a full HTTP server does more.',
    aim: { 'node:http': 1.6 },
    multiple: 64,
    ours: traffic('hello.js', 'readLoop', exchange),
    'node:http': traffic('hello.js', 'nodeHttp', exchange),
  },
]
