// Every example is run as a program of its own, with its output in a pipe, as CI and `npm start | cat` see it.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Line, talk } from '../talk.js'

/** Where an example has been built. */
const built = (name: string) => fileURLToPath(new URL(`../../examples/${name}.js`, import.meta.url))
const sources = fileURLToPath(new URL('../../../examples/', import.meta.url))

interface Run {
  name: string
  args?: string[]
  /** What is typed, and when. Without it, input stays open and nothing comes. */
  typed?: Line[]
  printed: string[]
  /** What depends on the clock, as [pattern, replacement]. */
  settled?: [RegExp, string][]
  code?: number
  /** Nothing, unless it says so. */
  stderr?: string
}

const TIME: [RegExp, string] = [/\d\d:\d\d:\d\d/g, 'now']

const runs: Run[] = [
  {
    name: 'counter',
    args: ['20'],
    typed: [{ seen: 'count: 3\n', write: '\n' }],
    printed: ['Press return to stop this program', 'count: 1', 'count: 2', 'count: 3'],
    settled: [[/count: ([4-9]|\d\d+)\n/g, '']], // as many more as pass until the key is noticed
  },
  { name: 'sleep-and-suspend', printed: ['Going to sleep...', 'Woke up', "We're done"] },
  {
    name: 'stop-restart-await',
    printed: ['going to sleep', 'stopped', 'going to sleep', 'done sleeping', 'stopped'],
  },
  { name: 'await-chain', printed: ['foo'] },
  { name: 'crawler', args: ['30'], printed: ['30 pages, the first /0', 'some had to be tried again'] },
  { name: 'job-queue', printed: ['{ done: 0, broken: 0 }', '{ done: 100, broken: 11 }'] },
  {
    name: 'timers',
    printed: [
      'the user was notified',
      'tick 1',
      'tick 2',
      'tick 3',
      'the query of 10 ms is closed',
      'an answer after 10 ms',
      'the query of 1000 ms is closed',
      'no answer',
      'the query of 2000 ms is closed',
      'main was cancelled after 10 ms',
    ],
  },
  {
    name: 'resource-pool',
    printed: [
      ...[1, 2, 3, 4, 5].map((n) => `rows of "select ${n}"`),
      '5 queries, 2 connections; 3 queries had to wait for one',
      'too slow',
      'rows of "select 6"',
      'every connection is closed',
    ],
  },
  {
    name: 'throttler',
    args: ['100'],
    printed: [...Array(6).fill('to somebody: something'), '6 mails, no faster than 100 a second'],
    settled: [[/(?<=to )(ann|bob): (welcome|news|goodbye)/g, 'somebody: something']], // on a busy machine turns come together
  },
  {
    name: 'chat-room',
    typed: [
      { seen: 'disconnect\n', write: 'ada connect tea\nbob connect tea\ncy connect coffee\nwhat\n' },
      { seen: 'disconnect\n', write: 'ada send hello\n' },
      { seen: '[bob] ada: hello\n', write: 'cy send alone\n' },
      { seen: '[cy] cy: alone\n', write: 'bob disconnect\nbob send lost\n' },
      { seen: '', write: 'ada send anybody?\nada dance\n\n' },
    ],
    printed: [
      'NAME connect ROOM, NAME send TEXT, or NAME disconnect',
      'NAME connect ROOM, NAME send TEXT, or NAME disconnect',
      '[ada] ada: hello',
      '[bob] ada: hello',
      '[cy] cy: alone',
      '[ada] connect ROOM, send TEXT, or disconnect',
      '[ada] ada: anybody?',
    ],
  },
  {
    name: 'watch-process',
    typed: [{ seen: 'worker 3: at work\n', write: '\n' }],
    printed: [
      'Press return to stop this program',
      'worker 1: at work',
      'crashed: watchProcess(sh) was ended by SIGKILL',
      'worker 2: at work',
      'crashed: watchProcess(sh) was ended by SIGKILL',
      'worker 3: at work',
      'worker 3: goodbye',
    ],
  },
  { name: 'await-all', printed: ['[ 0, 10, 20 ]'] },
  { name: 'select', printed: ['paris was first: a reply from paris'] },
  {
    name: 'fibonacci',
    printed: [1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55].map(String),
  },
  {
    name: 'switching',
    printed: ['Hi from main fiber', 'Hi from f1', 'Hi from f2', 'Hi again from f1', 'Bye from main fiber'],
  },
  { name: 'ping-pong', printed: ['ping', 'pong', 'ping', 'pong', 'ping', 'game over'] },
  { name: 'ping-pong-values', printed: ['ping', 'pong', 'ping', 'pong', 'ping', 'pong'] },
  { name: 'reset-increment', printed: [1, 2, 3, 0, 1, 2, 3].map((count) => `count = ${count}`) },
  { name: 'lazy', args: ['10'], printed: ['Got O hi!', 'Got O hi!', 'Got O hi!'] },
  {
    name: 'echo-and-time',
    args: ['20'],
    typed: [
      { seen: 'Time: ', write: 'hello\n' },
      { seen: 'hello\n', write: 'wor' },
      { seen: 'Time: ', write: 'ld\n' },
      { seen: 'ld\n' },
    ],
    printed: ['hello', 'world'],
    settled: [TIME, [/Time: now\n/g, '']],
  },
  {
    name: 'run-queue',
    args: ['50'],
    typed: [{ seen: 'Time: ', write: 'hello\n' }, { seen: 'hello\n' }],
    printed: [
      'at first                []',
      'echoPrinter can run     [echoPrinter]',
      'timePrinter can run     [echoPrinter, timePrinter]',
      'echoPrinter runs        [timePrinter]',
      'timePrinter runs        []',
      'timePrinter can run     [timePrinter]',
      'timePrinter runs        []',
      'Time: now',
      'echoPrinter can run     [echoPrinter]',
      'echoPrinter runs        []',
      'hello',
      'echoPrinter can run     [echoPrinter]',
      'echoPrinter runs        []',
      'main can run            [main]',
      'main runs               []',
      'timePrinter can run     [timePrinter]',
      'timePrinter runs        []',
    ],
    settled: [
      TIME,
      [/(?<=Time: now\n|hello\n)(timePrinter can run .*\ntimePrinter runs .*\nTime: now\n)+/g, ''], // and later ones
    ],
  },
  { name: 'supervise', printed: ['supervise threw: foo'] },
  {
    name: 'supervision-tree',
    printed: [
      '  + database',
      '  + catalogue',
      '  + counter',
      'database failed: connection lost',
      '  - counter',
      '  - catalogue',
      '  + database',
      '  + catalogue',
      '  + counter',
      '  - counter',
      'sales failed: RestartIntensityError, out of paper',
      '  + counter',
      '  + till',
      '',
      'half an hour before closing:',
      'main  waiting for supervise(4 children)',
      '├─ clock  running',
      '├─ database  waiting for sleep()',
      '├─ catalogue  waiting for sleep()',
      '└─ sales  waiting for supervise(2 children)',
      '   ├─ counter  waiting for sleep()',
      '   └─ till  waiting for sleep()',
      '',
      '  - till',
      '  - counter',
      '  - catalogue',
      'the shop is closed',
    ],
  },
  { name: 'starving-pair', printed: ['the timer was served', 'still in the run queue: 1'] },
  {
    name: 'fetch-abort',
    printed: [
      'client: here you are',
      'server: /quick was answered',
      'client: too slow, moving on',
      'server: /slow was given up',
      'client: stopped',
      'server: /huge was given up',
    ],
  },
  {
    name: 'callbacks',
    printed: [
      '2 to the power of 10 is 1024',
      'that one never ends: killed',
      'exit code 3',
      'localhost is 127.0.0.1',
    ],
  },
  { name: 'with-timeout', printed: ['downloaded in 10 ms', 'too late: Error: timeout'] },
  {
    name: 'gets-with-timeout',
    args: ['60000'],
    typed: [
      { seen: 'name?', write: 'Ada\n' },
      { seen: 'colour?', write: 'teal\n' },
    ],
    printed: ['What is your name?', 'Hello, Ada', 'What is your favourite colour?', 'Your colour: teal'],
  },
  {
    name: 'gets-with-timeout',
    args: ['20'],
    printed: [
      'What is your name?',
      'Hello, stranger',
      'What is your favourite colour?',
      'Your colour: gets was cancelled',
    ],
  },
  {
    name: 'rescue-ctrl-c',
    typed: [{ seen: 'wakes me up', signal: 'SIGINT' }],
    printed: [
      'going to sleep... (Ctrl-C wakes me up)',
      'got SIGINT, waking up',
      'kitchen: lights out (SIGINT)',
      'pantry: lights out (SIGINT)',
    ],
    code: 130,
    stderr: 'polyphony: SIGINT: stopping, cleanup has up to 5 s; Ctrl-C again cuts it short\n',
  },
  {
    name: 'await-signal',
    args: ['10'],
    typed: [{ seen: 'page 2', signal: 'SIGTERM' }],
    printed: ['page 1', 'page 2', 'got SIGTERM, quitting', 'nobody objects'],
    settled: [[/page ([3-9]|\d\d+)\n/g, '']], // as many more as pass until the signal is noticed
  },
  {
    name: 'signal-watcher',
    typed: [
      { seen: 'app 1 is up', signal: 'SIGHUP' },
      { seen: 'app 2 is up', signal: 'SIGHUP' },
      { seen: 'app 3 is up', signal: 'SIGTERM' },
    ],
    printed: [
      'process n',
      'app 1 is up',
      ...[1, 2].flatMap((n) => ['watcher: SIGHUP', `app ${n} is down`, `app ${n + 1} is up`]),
      'watcher: SIGTERM',
      'app 3 is down',
      'good bye',
    ],
    settled: [[/process \d+/, 'process n']],
  },
  {
    name: 'signal-watcher',
    args: ['(Ctrl-C)'],
    typed: [{ seen: 'app 1 is up', signal: 'SIGINT' }],
    printed: ['process n', 'app 1 is up', 'watcher: SIGINT'],
    settled: [[/process \d+/, 'process n']],
    code: 130,
  },
  {
    name: 'proco',
    printed: ['on its own: 7', 'handed in: queued', 'together: 30, 30', 'after exit: 5, idle'],
  },
  {
    name: 'proco-modes',
    printed: [
      'ONE',
      'queued false',
      'TWO done true',
      "[ 'red green blue', 'red green blue', 'red green blue' ]",
      "[ 'red green', 'red green', 'blue' ]",
      "[ 'red, one of 3', 'green, one of 3', 'blue, one of 3' ]",
    ],
  },
  {
    name: 'proco-queues',
    printed: [
      'one queue, one thread: 1 at a time',
      '  a1 b1 c1 a2 b2 c2 a3 b3 c3',
      'four queues, five threads: no more than five at a time: true',
      '  all 9 were handled, in an order of their own',
      'the same with keys: no more than three at a time: true',
      '  a1 a2 a3',
      '  b1 b2 b3',
      '  c1 c2 c3',
    ],
  },
  {
    name: 'proco-options',
    printed: [
      ...[
        'plain: started: 1 thread, 1 queue of 1000',
        'chained: started: 8 threads, 4 queues of 100, every 100 ms, in batches of at most 10',
        'from an object: started: 8 threads, 4 queues of 100, every 100 ms, in batches of at most 10',
        'two by two: started: 2 threads, 2 queues of 1000',
        'three in batches: started: 3 threads, 2 queues of 1000, in batches',
      ].flatMap((line) => {
        const name = line.split(':')[0]
        const counts = '0 accepted, 0 done, 0 failed, 0 cancelled'
        return [line, `${name}: exiting: 0 items to go`, `${name}: exited: ${counts}`]
      }),
      'the threads of new Proco() need a whole number above 0, got 0',
      'new Proco() has no option "thread"; there are: threads, queues, queueSize, interval, batch, batchSize, results, logger, name',
    ],
  },
  {
    name: 'proco-quit',
    printed: [
      'before the start: idle',
      '  zero: shop is not running: start() it first',
      'started: running',
      'told to exit: draining',
      '  four: shop takes no more items: it has been told to exit',
      '  handled one',
      '  handled two',
      '  handled three',
      'after exit: idle',
      '  five: shop is not running: it has ended; start() it again',
      'started again: running',
      '  busy with six',
      'after kill: idle, cancelled,cancelled',
      '  dropped six',
      '  Killed: shop was killed while this item was being handled',
      '  Killed: shop was killed while this item was in its queue',
    ],
  },
  {
    name: 'proco-blocks',
    printed: [
      '42',
      'a fiber body',
      'an async function',
      'failed: SyntaxError',
      'the one after the failure',
      '5 blocks: 4 done, 1 failed',
    ],
  },
  {
    name: 'proco-timeout',
    printed: [
      'just in time',
      '  the block was stopped',
      'the handler gave up after 50 ms',
      'and works on: just in time',
      'the submitter gave up: an item of proco was queued for too long: its timeout is 20 ms',
      '  the block was stopped',
      'and works on: just in time',
    ],
  },
  {
    name: 'proco-retries',
    printed: [
      'printer works at try 1',
      '  scanner: try 1 failed',
      '  scanner: try 2 failed',
      'scanner works at try 3',
      '  fax: try 1 failed',
      '  fax: try 2 failed',
      '  fax: try 3 failed',
      'Error: fax is out of order',
    ],
  },
  {
    name: 'proco-callbacks',
    printed: ['we got 27', 'oh: RangeError: division by zero', 'quiet: 0.25; broken: failed'],
  },
  {
    name: 'proco-group-commit',
    printed: [
      '640 records, n fsyncs',
      'fewer fsyncs than records: true',
      'every acknowledged record is in the file: true',
    ],
    settled: [[/\d+ fsyncs/, 'n fsyncs']], // what came in while the disk was busy is a matter of its speed
  },
  {
    name: 'proco-notification',
    printed: [
      'in the morning [',
      "  'to ann: bob likes your photo; cho likes your photo; dan wrote to you',",
      "  'to bob: ann wrote to you'",
      ']',
      "in the evening [ 'to bob: ann wrote again; cho wrote to you' ]",
    ],
  },
  {
    name: 'proco-write-behind',
    typed: [{ seen: 'counting visits', signal: 'SIGINT' }],
    printed: [
      'counting visits (Ctrl-C ends it)',
      'the newest count of every page is stored: true',
      'fewer lines than visits: true',
    ],
    code: 130,
    stderr: 'polyphony: SIGINT: stopping, cleanup has up to 5 s; Ctrl-C again cuts it short\n',
  },
  {
    name: 'proco-async',
    printed: [
      'one at a time',
      '  1',
      'many at a time',
      '  51 inserted, 1 failed',
      '  ann is there already',
      '  statements: 2',
      'not for ever',
      '  slow: gave up after 20 ms',
      '  an item of users was cancelled by its signal: the client has gone',
      '53 rows; cho is there: true',
    ],
  },
]

describe('the examples print what they promise', { concurrency: 2 }, () => {
  for (const { name, args = [], typed = [], printed, settled = [], code = 0, stderr = '' } of runs) {
    test([name, ...args].join(' '), async () => {
      const ended = await talk(built(name), args, typed)
      const text = settled.reduce((all, [pattern, by]) => all.replace(pattern, by), ended.stdout)
      assert.deepEqual(text.split('\n'), [...printed, ''])
      assert.deepEqual([ended.code, ended.stderr], [code, stderr])
    })
  }
})

test('every example is run, here or in examples-net.test.ts, and listed in their README', () => {
  const names = readdirSync(sources).flatMap((file) => /^(.*)\.ts$/.exec(file)?.[1] ?? [])
  const served = readFileSync(
    fileURLToPath(new URL('../../../test/documents/examples-net.test.ts', import.meta.url)),
    'utf8',
  )
  const servers = [...served.matchAll(/serving\(\s*'([\w-]+)'/g)].map((match) => match[1] as string)
  assert.deepEqual([...new Set([...runs.map(({ name }) => name), ...servers, 'tour'])].sort(), names.sort())
  const listed = readFileSync(`${sources}README.md`, 'utf8').matchAll(/^\| \[(.*)\]\(\1\.ts\)/gm)
  assert.deepEqual([...listed].map(([, name]) => name).sort(), names)
})

const { status, stdout, stderr } = spawnSync(process.execPath, [built('tour')], {
  encoding: 'utf8',
  timeout: 60_000,
})

test('the tour ends by itself with code 0 and a clean stderr', () => {
  assert.equal(stderr, '')
  assert.equal(status, 0)
})

test('the tour shows what it promises, scene by scene', () => {
  const lines = [
    /bread +step 1 of 3/, // side by side
    /sideBySide +served: soup,bread/,
    /timeOut +nobody answered/,
    /uploader +finally: done/,
    /stopping +the uploader is dead, its outcome: stopped/,
    /counter +100/,
    /restarting +it was started 2 times/,
    /metrics +stopped, because a sibling failed/,
    /errors +caught "connection reset", from .*server > connection/,
    /carol {2}waiting for bob to end/, // the live tree
    /left {2}waiting for receive\(\)/, // the deadlock
    /Still alive: 1 fiber \(this one\), 0 timers/,
  ]
  for (const line of lines) assert.match(stdout, line)
})

test('S16 in the tour the code after a stop never runs', () => {
  // The only such line is the one of the source that is shown.
  const said = stdout.split('\n').filter((line) => line.includes('THIS LINE NEVER RUNS'))
  assert.equal(said.length, 1)
  assert.match(said[0] as string, /^ {2}\| /)
})

test('the tour writes plain text where nobody has a screen', () => {
  assert.ok(!stdout.includes('\x1b'), 'an escape sequence was found')
})
