// A tour in seven scenes: `npm start`. Each scene is one function below. Before it runs, its own source is shown,
// so what you read in the terminal is what runs. Nothing is simulated; only pauses for reading are added.

import { readFileSync } from 'node:fs'
import {
  errorFiber,
  every,
  Fiber,
  main,
  moveOnAfter,
  printTree,
  type Routine,
  receive,
  runtimeStats,
  scope,
  sleep,
  spin,
  until,
} from 'polyphony'
import { virtual } from 'polyphony/testing'

main(function* () {
  title('polyphony: a tour of fibers, about fifteen seconds')
  yield* show(sideBySide, 'Fibers work side by side. spin() starts one, yield* waits for it.')
  yield* show(timeOut, 'A time-out ends the block, not the fiber, and leaves no work behind.')
  yield* show(stopping, 'A stop lets finally wait until it is done. The code after it never runs.')
  yield* show(restarting, 'A fiber can be restarted. Whoever holds its handle still holds it.')
  yield* show(errors, 'An error stops the siblings, travels up, and knows where it came from.')
  yield* show(liveTree, 'The tree can be seen at any moment: who lives, what each waits for.')
  yield* show(deadlock, 'When nothing can go on, you are told who waits for what (in a test here).')
  const { switches, fibers, timers } = runtimeStats()
  title(`The end: ${switches} switches. Still alive: ${fibers} fiber (this one), ${timers} timers.`)
  print(`  Next: ${bold('README.md')}, then ${bold('docs/tutorial.md')}, one idea at a time.\n`)
})

// ---- the scenes

function* sideBySide() {
  function* cook(dish: string, ms: number) {
    for (let step = 1; step <= 3; step++) {
      yield* sleep(ms)
      say(`step ${step} of 3`)
    }
    return dish
  }
  const soup = spin('soup', cook, 'soup', 220)
  const bread = spin('bread', cook, 'bread', 150)
  say(`served: ${yield* Fiber.await(soup, bread)}`)
}

function* timeOut() {
  const answer = yield* moveOnAfter(
    300,
    function* () {
      yield* sleep(60_000)
      return 'an answer'
    },
    'nobody answered',
  )
  say(answer)
}

function* stopping() {
  function* upload() {
    try {
      yield* sleep(60_000)
    } finally {
      say('finally: telling the server, which takes a while')
      yield* sleep(400)
      say('finally: done')
    }
  }
  const uploader = spin('uploader', function* () {
    yield* upload()
    say('THIS LINE NEVER RUNS')
  })
  yield* sleep(200)
  say('stop!')
  const outcome = yield* uploader.stop()
  say(`the uploader is dead, its outcome: ${outcome.type}`)
}

function* restarting() {
  const counter = spin(
    'counter',
    function* (from: number) {
      for (let n = from; ; n++) {
        say(`${n}`)
        yield* sleep(120)
      }
    },
    1,
  )
  yield* sleep(300)
  counter.restart(100)
  yield* sleep(300)
  yield* counter.stop()
  say(`it was started ${counter.incarnation} times`)
}

function* errors() {
  function* server() {
    spin('connection', function* () {
      yield* sleep(250)
      throw new Error('connection reset')
    })
    yield* sleep() // for ever
  }
  function* metrics() {
    try {
      yield* sleep()
    } finally {
      say('stopped, because a sibling failed')
    }
  }
  try {
    yield* scope(function* () {
      spin('server', server)
      spin('metrics', metrics)
    })
  } catch (error) {
    const { message } = error as Error
    say(`caught "${message}", from ${errorFiber(error)?.path}`)
  }
}

function* liveTree() {
  const barista = spin('barista', function* () {
    for (;;) yield* sleep(yield* receive<number>())
  })
  const bob = spin('bob', function* () {
    try {
      yield* every(400, () => void barista.send(250))
    } finally {
      yield* sleep(400) // finishes his cake first
    }
  })
  spin('carol', () => bob.join())
  spin('waiter', function* () {
    yield* sleep(900)
    yield* bob.stop()
  })
  yield* watchTree(1500)
}

function* deadlock() {
  const world = virtual(function* () {
    const left = spin('left', function* () {
      right.send(yield* receive<string>())
    })
    const right = spin('right', function* () {
      left.send(yield* receive<string>())
    })
    yield* Fiber.await(left, right)
  })
  try {
    yield* until(world)
  } catch (error) {
    print(drawing((error as Error).message))
  }
}

// ---- the stage

const isScreen = process.stdout.isTTY === true && process.env.TERM !== 'dumb'
const hasColour = isScreen && !process.env.NO_COLOR
process.stdout.on('error', () => process.exit()) // the reader has left: npm start | head

let began = 0

/** Shows a scene's sentence and code, runs it in a fiber of its own, and waits for the end. */
function* show(scene: () => Routine<void>, sentence: string): Routine<void> {
  print(`\n${bold(sentence)}\n`)
  print(
    `${sourceOf(scene.name)
      .map((line) => `  ${dim('|')} ${highlight(line)}`)
      .join('\n')}\n`,
  )
  yield* pause(900)
  began = performance.now()
  yield* spin(scene.name, scene)
  yield* pause(300)
}

/** Time for reading, where somebody reads. */
function* pause(ms: number): Routine<void> {
  if (isScreen) yield* sleep(ms)
}

/** One line of output: when, which fiber, what. */
function say(text: string): void {
  const time = `${Math.round(performance.now() - began)} ms`.padStart(9)
  print(`${dim(time)}  ${tint(Fiber.current.name)}  ${text}`)
}

/** Draws the tree of the present scene again and again; without a screen, three times. */
function* watchTree(ms: number): Routine<void> {
  let height = 0
  const period = isScreen ? 80 : ms / 3
  for (let time = 0; time < ms; time += period) {
    yield* sleep(period)
    if (isScreen && height > 0) process.stdout.write(`\x1b[${height}A\x1b[0J`)
    printTree((text) => {
      const picture = drawing(text)
      height = picture.split('\n').length
      print(isScreen ? picture : `${picture}\n`)
    })
  }
}

/** The library's own text, indented and coloured. */
function drawing(tree: string): string {
  return tree
    .trimEnd()
    .split('\n')
    .map(
      (line) =>
        `  ${line.replace(/ {2}(waiting for .*|running|runnable)$/, (_, doing) => `  ${cyan(doing)}`)}`,
    )
    .map((line) => line.replace(/\[\w+\]/, (phase) => yellow(phase)))
    .join('\n')
}

/** The lines between the braces of a function of this file. */
function sourceOf(name: string): string[] {
  const source = readFileSync(new URL('../../examples/tour.ts', import.meta.url), 'utf8')
  const [, after = ''] = source.split(`\nfunction* ${name}() {\n`)
  const [body = ''] = after.split('\n}\n')
  return body.split('\n').map((line) => line.slice(2))
}

function title(text: string): void {
  print(`\n${bold(text)}\n${dim('-'.repeat(text.length))}`)
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

function highlight(line: string): string {
  const words =
    /\/\/.*|'[^']*'|(?:yield|function)\*|\b(?:const|let|for|try|catch|finally|throw|return|new)(?=\W)/g
  return line.replace(words, (word) =>
    word.startsWith('//') ? dim(word) : word.startsWith("'") ? green(word) : magenta(word),
  )
}

/** Each fiber has a colour of its own. */
function tint(name: string): string {
  const paints = [green, yellow, magenta, cyan]
  const sum = [...name].reduce((total, letter) => total + letter.charCodeAt(0), 0)
  return (paints[sum % paints.length] as typeof green)(name.padEnd(10))
}

function paint(code: number, text: string): string {
  return hasColour ? `\x1b[${code}m${text}\x1b[0m` : text
}
function bold(text: string): string {
  return paint(1, text)
}
function dim(text: string): string {
  return paint(2, text)
}
function green(text: string): string {
  return paint(32, text)
}
function yellow(text: string): string {
  return paint(33, text)
}
function magenta(text: string): string {
  return paint(35, text)
}
function cyan(text: string): string {
  return paint(36, text)
}
