// Ways to break the library by hand, one or two for every rule: [rule, what is broken, text to find, text to put there], and
// further pairs of texts in the same file if one edit is not enough.
//
// The text is looked for in all of src and must be there exactly once, wherever it lies: a file that is renamed or a method
// that moves takes its mutants along. Operators make thousands of others (operators.js); what stands here are the faults
// that a person would make, each of which a test with the number of its rule should notice.
import { readdirSync, readFileSync } from 'node:fs'

const MUTANTS = [
  [
    'S01',
    'a fiber is dead when its body has ended, whatever its children do',
    'if (fiber.newest === null) {',
    'if (fiber.newest === null || fiber._phase === CLOSING) {',
  ],
  ['S02', 'children are waited for, but not asked to stop', 'ranOut()\n  stopChildren(fiber)', 'ranOut()'],
  ['S03', 'children are asked oldest first', 'children.push(child)', 'children.unshift(child)'],
  ['S04', 'a dead child stays in the list of its parent', 'unlink(fiber)\n    const heard', 'const heard'],
  [
    'S05',
    'a body that returns a promise has it as its result',
    'if (isThenable(value)) {',
    'if (body.length < 0 && isThenable(value)) {',
  ],
  [
    'S06',
    'a loop that is forced to end spins a fiber',
    ' || isForced(loop)',
    ' || (isForced(loop) && isOver)',
  ],
  [
    'S07',
    'detach gives a fiber to its grandparent, not to the root',
    'this.attachTo(root)',
    'this.attachTo(this.parent?.parent ?? root)',
  ],
  [
    'S08',
    'until calls its function when it is made',
    'private readonly source: Source<T>,\n    discard?: (value: T) => void,\n  ) {\n    super()\n',
    "private readonly source: Source<T>,\n    discard?: (value: T) => void,\n  ) {\n    super()\n    if (typeof source === 'function') source(new AbortController().signal)\n",
  ],
  ['S09', 'entering a block is no switchpoint', 'if (this.crossesGate) {', 'if (this.fiber !== null) {'],
  [
    'S10',
    'an op whose fiber has spent its budget is entered after the others have run',
    'declare const brand',
    'const paused = new WeakSet<Fiber>()\ndeclare const brand',
    'if (gated === REFUSED) return SUSPENDED\n',
    'if (gated === REFUSED) return SUSPENDED\n    if (gated === 1 && !paused.has(fiber)) {\n      paused.add(fiber)\n      fiber.op = this as BaseOp<any>\n      fiber.how = VALUE\n      fiber.runtime.push(fiber)\n      return SUSPENDED\n    }\n    paused.delete(fiber)\n',
    'if (resume(fiber, this)) return DONE',
    'if (paused.has(fiber)) {\n        forget(fiber)\n        return this.next()\n      }\n      if (resume(fiber, this)) return DONE',
  ],
  [
    'S11',
    'stop acts when its result is yield*ed, not when it is called',
    'cancelRestart(this, stop)\n    requestStop(this, stop)\n    return this.seenThrough()',
    "const self = this\n    return repeatable('stop()', function* () {\n      cancelRestart(self, stop)\n      requestStop(self, stop)\n      return yield* self.join()\n    })",
  ],
  [
    'S12',
    'observers hear of the end of the body, not of the whole subtree',
    'fiber._phase = CLOSING\n',
    'fiber._phase = CLOSING\n  tellObservers(fiber, null)\n',
  ],
  [
    'S13',
    'a fiber that stops itself is struck at the call',
    'if (fiber._state !== WAITING) return\n  if (fiber.how',
    'if (fiber._state === 1 && fiber.stopSignal !== null) throw fiber.stopSignal\n  if (fiber._state !== WAITING) return\n  if (fiber.how',
  ],
  [
    'S14',
    'the reason given to a stop is dropped',
    'options.reason ??',
    '(this === null ? options.reason : undefined) ??',
  ],
  ['S15', 'a dead fiber says that it is still closing', 'fiber._phase = OVER', 'fiber._phase = CLOSING'],
  [
    'S16',
    'a stop ends the generator by return(), not by throw()',
    'fiber._phase === FORCED && fiber.how === SIGNAL',
    'fiber._phase !== LIVE && fiber.how === SIGNAL',
  ],
  [
    'S16',
    'blocks further in are not told that a signal passes through them',
    ';(inner as unknown as Inner).passThrough()',
    '',
  ],
  [
    'S16b',
    'a stop cuts the cleanup of ensure',
    'new Wall(cleanup as () => any, HOLD,',
    'new Wall(cleanup as () => any, OPEN,',
  ],
  [
    'S16b',
    'a raise cuts the cleanup of ensure, a stop does not',
    'new Wall(cleanup as () => any, HOLD,',
    'new Wall(cleanup as () => any, SHIELD,',
  ],
  ['S17', 'a swallower is forced at the fourth refusal', 'SWALLOWS = 3', 'SWALLOWS = 4'],
  [
    'S17',
    'idle ops are allowed in cleanup',
    'op.idle ? unwindingRegion(fiber) : null',
    'null as Region | null',
  ],
  ['S18', 'the grace given to a block is ignored', 'this.grace ?? fiber.grace', 'fiber.grace'],
  [
    'S18',
    'the deadline does not count while a shield holds the stop',
    'armDeadlines(fiber) // held',
    '// held',
  ],
  ['S19', 'a generator is abandoned one yield later', 'FORCED_YIELDS = 100', 'FORCED_YIELDS = 101'],
  [
    'S19',
    'a forced fiber may begin another wait',
    'if (isForced(fiber)) {',
    'if (isForced(fiber) && fiber.id < 0) {',
  ],
  [
    'S20',
    'a shield holds raise too',
    'region.wall === HOLD) return false',
    'region.wall !== OPEN) return false',
  ],
  [
    'S21',
    'a second stop is thrown too',
    'tighten(fiber, stop)\n',
    'fiber._phase = REQUESTED\n    fiber.stopSignal = stop\n    interrupt(fiber)\n',
  ],
  [
    'S22',
    'an error that is kept beside another replaces what was there',
    'const value = [...list, later]',
    'const value = [later]',
  ],
  [
    'S22',
    'an error that cannot be kept is not even reported',
    'if (suppress(first, later)) return',
    'suppress(first, later)\n  if (later !== null) return',
  ],
  ['S23', 'a scope throws the last error', '= failures\n', '= [...failures].reverse()\n'],
  [
    'S24',
    'a parent is not told when somebody else awaits its child',
    'heard !== PARENT)',
    'heard === NOBODY)',
  ],
  ['S25', 'an error received by await comes up again', 'markReceived(error, fiber) // S25', '// S25'],
  [
    'S26',
    'errors of children that were not delivered are lost',
    'if (fromChild)\n',
    'if (fromChild && error === null)\n',
  ],
  [
    'S27',
    'errors of children that fail after the body of their parent are lost',
    'else if (receiver._phase === CLOSING) foldError(receiver, error)',
    'else if (receiver._phase === CLOSING) return',
  ],
  [
    'S28',
    'a scope throws before the other children have ended',
    'if (this.newest !== null) {',
    'if (this.newest !== null && this.failures.length === 0) {',
  ],
  [
    'S29',
    'the error of an isolated fiber goes to its parent',
    'if (fiber.isIsolated) {',
    'if (fiber.isIsolated && owner === null) {',
  ],
  [
    'S30',
    'suppressed errors are not printed',
    'suppressed.forEach(',
    'suppressed.slice(suppressed.length).forEach(',
  ],
  [
    'S31',
    'all takes a member that was stopped for one with a value',
    'return !member.hasValue',
    "return member.outcome?.type === 'error'",
  ],
  ['S31', 'awaiting an abandoned fiber gives undefined', 'if (how === ABANDONED) {', 'if (how === NONE) {'],
  ['S32', 'fibers may await each other in a circle', 'if (f === fiber) throw', 'if (fiber === null) throw'],
  ['S33', 'a deadlock exits with 1', 'DEADLOCK_CODE = 13', 'DEADLOCK_CODE = 1'],
  [
    'S34',
    'a time-out that has not struck replaces the result of its block',
    'const struck = this.wasStruck',
    'const struck = this.hasExpired',
  ],
  [
    'S34',
    'a block forced while its fiber is runnable loses the answer',
    'this._phase === FORCED && fiber.how === SIGNAL',
    'this._phase === FORCED',
  ],
  ['S35', 'the end of an op that ends LATER is not noticed', 'fiber.runtime.push(fiber) // S35', '{} // S35'],
  [
    'S35',
    'who waits for the other side of a named pipe cannot be stopped',
    'if (!statSync(this.path).isFIFO()) return',
    'return',
  ],
  [
    'S36',
    'a second message to a receiver that has not run yet is lost',
    'if (isAwaited && op.offer(fiber, message)) return true',
    'if (op instanceof Receive) {\n    op.offer(fiber, message)\n    return true\n  }',
  ],
  ['S37', 'losers are waited for, not stopped', 'this.stopOurs(', 'if (this.alive < 0) this.stopOurs('],
  [
    'S38',
    'a full mailbox loses the end of a monitored fiber',
    'deliver(this, end, false)',
    'deliver(this, end)',
  ],
  ['S39', 'a full mailbox refuses a call', 'deliver(target, question, false)', 'deliver(target, question)'],
  [
    'S40',
    'the wrong message is taken out',
    'for (let i = index; i > 0; i--)',
    'for (let i = index; i > 1; i--)',
  ],
  [
    'S41',
    'awaiters are told of the end of an incarnation',
    'if (reborn) {\n',
    'if (reborn) {\n      tellObservers(fiber, null)\n',
  ],
  ['S41', 'keepMailbox is ignored', '(options.keepMailbox && (', "(options.keepMailbox === ('' as any) && ("],
  ['S42', 'a held restart happens at once', 'restart === null || restart.isHeld', 'restart === null'],
  [
    'S42',
    'messages for a child that waits for its restart are dropped',
    'restartWith({ keepMailbox: true })',
    'restartWith({})',
  ],
  ['S43', 'one restart too many is allowed', '<= restarts) return', '<= restarts + 1) return'],
  ['S44', 'a supervisor has the grace of any child', '? Infinity : undefined', '? undefined : undefined'],
  ['S45', 'a signal leaves the exit code as it is', '?? signals.code ??', '??'],
  ['S45', 'the code given to exit is ignored', 'requested ?? signals.code', 'signals.code'],
  [
    'S46',
    'the handler of one that was killed before it began runs in its place',
    'fresh.delete(fiber) && calls.pop()',
    'fresh.delete(fiber)',
  ],
  ['S47', 'SIGUSR1 can be trapped', "SIGUSR1: '", "SIGUSR3: '"],
  ['S47', 'a second SIGINT changes nothing', 'root.kill()', 'root'],
  ['S48', 'every listener adds one to the process', 'if (line.isIdle) process.on', 'process.on'],
  ['S49', 'a batch has 20 ms', 'BATCH_MS = 10', 'BATCH_MS = 20'],
  ['S50', 'a fiber takes 129 ready ops in one turn', 'BUDGET = 128', 'BUDGET = 129'],
  [
    'S50',
    'a fiber whose budget is spent does not let others run',
    'if (gated === PASS) {',
    'if (fiber.how !== NONE) {',
  ],
  [
    'S51',
    'a fiber that is struck goes to the head of the queue',
    'else fiber.runtime.push(fiber)\n}',
    'else fiber.runtime.push(fiber, true)\n}',
  ],
  [
    'S52',
    'when the last awaiter is stopped, the others are forgotten',
    'fiber.lastObserver = before',
    'fiber.lastObserver = null',
  ],
  ['S56', 'no step runs in the async context', 'else context(step, fiber)', 'else step(fiber)'],
  [
    'S57',
    'a fiber whose signal is aborted already starts',
    'if (signal.aborted) {',
    'if (signal.aborted && fiber.id < 0) {',
  ],
  [
    'S58',
    'an action that is settled is not cleaned up',
    'this.end(OVER)',
    'this.cleanup = undefined\n      this.end(OVER)',
  ],
  ['S58', 'a listener stays when the next could not be added', 'remove()\n    } catch', '} catch'],
  [
    'S59',
    'a web stream is left as any async iterator',
    'if (isWebStream(some))',
    'if (isWebStream(some) && some.locked)',
  ],
  ['S60', 'the oldest resource goes first', 'let cleanup = list.pop()', 'let cleanup = list.reverse().pop()'],
  [
    'S61',
    'a block may be iterated from another fiber',
    'private resume(how: number, value: unknown): IteratorResult<Switchpoint, T> {\n    if (baton.fiber !== this.fiber) {',
    'private resume(how: number, value: unknown): IteratorResult<Switchpoint, T> {\n    if (baton.fiber === null) {',
  ],
  [
    'S61',
    'blocks may be left in the wrong order',
    'this.outer = null\n    if (!isInnermost) {',
    'this.outer = null\n    if (!isInnermost && fiber.id < 0) {',
  ],
  [
    'S62',
    'transfer does not run the other fiber next',
    'wake(target, this.value, true)',
    'wake(target, this.value, false)',
  ],
  ['S63', 'schedule wakes a fiber from any wait', 'if (!(op instanceof Suspend) || ', 'if (op === null || '],
  ['S64', 'a time-out that was cancelled holds the process', 'else this.timeout.unref()', ''],
  ['S65', 'the children of a scope that is forced are left behind', 'this.handOver(fiber)\n    }', '}'],
  [
    'S65',
    'moveOnAfter takes the signal of an outer region for its own',
    'const own = this.isOwn(error)',
    'const own = isStop(error)',
  ],
  ['S66', 'reset() revives a limit that has expired', ' || this.hasExpired) return', ') return'],
  ['S66', 'a block that was struck and returns gives its own value', 'struck ? this.value : value', 'value'],
  [
    'S67',
    'a fiber that is being stopped can be raised in',
    'if (this._phase !== P.LIVE) {\n      if (tapped)',
    'if (this._phase >= P.CLOSING) {\n      if (tapped)',
  ],
  ['S68', 'of equal timers the last one set fires first', 'a.seq < b.seq', 'a.seq > b.seq'],
  [
    'S69',
    'an op that is looped over is resumed',
    'fiber.op !== op || fiber._state !== RUNNING',
    'fiber.op !== op',
  ],
  [
    'S70',
    'an exception of describe lands in the fiber',
    'return `an op of class',
    'op.describe()\n    return `an op of class',
  ],
  ['S71', 'room is counted in characters', 'this.size += bytes.length', 'this.size += chunk.length'],
  [
    'S72',
    'a writer that is cut closes the stream',
    'this.writers?.leave(fiber)',
    'this.writers?.leave(fiber)\n    this.destroy()',
  ],
  [
    'S72',
    'half a line that one has left does not go to the next',
    'this.serve() // half a line',
    '// half a line',
  ],
  ['S73', 'read gives memory that others use', 'copy.set(bytes)', 'return bytes'],
  ['S74', 'the end waits for room, not for its own', '>= ENDING ? Infinity : ', '>= ENDED ? Infinity : '],
  ['S75', 'who is refused is still in line', 'this.remove(place)\n      fail(', 'fail('],
  [
    'S75',
    'what could not be sent at the close is not told',
    'if (this.error === null) this.closers',
    'if (this.phase > 0) this.closers',
  ],
  [
    'S76',
    'more than a buffer holds may be asked for',
    'if (count > constants.MAX_LENGTH)',
    'if (count > Infinity)',
  ],
  ['S77', 'a process may use all the time of its fiber', 'SHARE * (deadline', '(deadline'],
  ['S77', 'the end of a process leaves its feeder waiting', 'feeder.stop(true)', 'void feeder'],
  ['S78', 'a worker that rests keeps the last result', 'value = undefined //', '//'],
  ['S78', 'weeks are cut off', 'Math.floor(value) : 0', 'Math.min(Math.floor(value), 2 ** 32) : 0'],
  [
    'S79',
    'trySubmit waits in line',
    'return (lanes[0] as Lane).queue.size < queueSize',
    'return (lanes[0] as Lane).queue.size <= queueSize',
  ],
  [
    'S80',
    'equal keys go through different queues',
    'return hash(String(key)) % lanes',
    'return lastNumber++ % lanes',
  ],
  [
    'S81',
    'a queue smaller than the batch waits for the interval',
    'Math.min(batchSize, queueSize)',
    'batchSize',
  ],
  ['S81', 'a batch has no limit', 'Math.min(queue.size, batchSize)', 'queue.size'],
  [
    'S82',
    'a reason that cannot be put in words keeps an item from being cancelled',
    'reason.message : show(reason)',
    'reason.message : String(reason)',
  ],
  [
    'S83',
    'each then of a submission hands in anew',
    'this.future ??= this.handIn()',
    'this.future = this.handIn()',
  ],
  [
    'S84',
    'exit leaves those in line who wait for room',
    'empty(line, FAILED, () => this.notRunning())',
    'void line',
  ],
  ['S84', 'a kill does not stop the handlers', 'this.transport.kill()\n', ''],
  [
    'S85',
    'an async handler may wait for its own end',
    'fiber === null ? isInside : front.isInside(fiber)',
    'fiber !== null && (isInside || front.isInside(fiber))',
  ],
]

/** { rule, breaks, key, file, path, source }: the file under dist that is broken, and the source that breaks it. */
export function handMutants() {
  const sources = readdirSync('src', { recursive: true })
    .map(String)
    .filter((path) => path.endsWith('.ts'))
    .map((path) => ({ path, text: readFileSync(`src/${path}`, 'utf8') }))
  return MUTANTS.map(([rule, breaks, find, put, ...more]) => {
    const places = sources.flatMap(({ path, text }) =>
      Array(text.split(find).length - 1).fill({ path, text }),
    )
    if (places.length !== 1) {
      throw new Error(`${rule} ${breaks}: no longer applies, found ${places.length} times in src: ${find}`)
    }
    const [{ path, text }] = places
    const file = path.replace(/ts$/, 'js')
    let source = text.replace(find, () => put)
    for (let i = 0; i < more.length; i += 2) source = source.replace(more[i], () => more[i + 1])
    return { rule, breaks, key: `${file} ${rule} ${breaks}`, file, path: `src/${path}`, source }
  })
}
