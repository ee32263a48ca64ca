// The least that runs generators in turn: what a switch costs before a library adds anything. A queue of tasks; `pass` is one op
// for all, whose iterator is shared and whose two answers are made once. There is no stop, no error, no parent, no turn of the
// event loop in between, and nothing is counted.

/** The shared `next`: a look-up on each generator would cost more than the switch, since every closure's have their own hidden class. */
const { next } = Object.getPrototypeOf(function* () {}).prototype

const WAITING = { done: false, value: undefined }
const DONE = { done: true, value: undefined }

class Task {
  isResumed = false

  constructor(generator) {
    this.generator = generator
  }
}

/** The task that runs. */
let current = null

/** Lets all others go first: `yield* pass`. */
export const pass = {
  [Symbol.iterator]() {
    return this
  },
  next() {
    if (!current.isResumed) return WAITING
    current.isResumed = false
    return DONE
  },
}

/** Runs generators to their ends, a step of each in turn. */
export function trampoline(generators) {
  const size = 2 ** Math.ceil(Math.log2(generators.length + 1))
  const queue = new Array(size).fill(null)
  const mask = size - 1
  let head = 0
  let tail = 0
  for (const generator of generators) queue[tail++] = new Task(generator)
  while (head !== tail) {
    const task = queue[head]
    head = (head + 1) & mask
    current = task
    if (next.call(task.generator).done) continue
    task.isResumed = true
    queue[tail] = task
    tail = (tail + 1) & mask
  }
  current = null
}
