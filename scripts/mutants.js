// The ways in which `npm run mutate` breaks the library, rule by rule: each must make a test fail.
//
//   [file under src, what is broken, text to find, text to put there, options]
//
// The text to find must be there exactly once; keep it short. `also` names test files that start processes and are to be
// looked into early; `and` is a second edit of the same file.

function rule(name, ...list) {
  return list.map(([file, breaks, find, replace, { also = [], and = [] } = {}]) => ({
    rule: name,
    breaks,
    file: `src/${file}.ts`,
    edits: [[find, replace], ...and],
    also,
  }))
}

/** The source of a mutant's file, broken. Throws if a text to find is not there exactly once. */
export function breakSource({ rule: name, breaks, file, edits }, source) {
  let broken = source
  for (const [find, replace] of edits) {
    const times = broken.split(find).length - 1
    if (times !== 1)
      throw new Error(`${name} ${breaks}: no longer applies, found ${times} times in ${file}: ${find}`)
    broken = broken.replace(find, () => replace)
  }
  return broken
}

const PROGRAMS = { also: ['programs'] }
const SIGNALS = { also: ['node/signals'] }

/** @type {{ rule: string, breaks: string, file: string, edits: [string, string][], also: string[] }[]} */
export const mutants = [
  // ---- lifetime
  ...rule(
    'S01',
    [
      'core/tree',
      'a parent dies with the first of its children, not with the last',
      'if (owner.newest !== null) return null',
      '',
    ],
    [
      'core/tree',
      'a fiber is dead when its body has ended, whatever its children do',
      'if (fiber.newest === null) {',
      'if (fiber.newest === null || fiber._phase === CLOSING) {',
    ],
  ),
  ...rule('S02', [
    'core/tree',
    'children are waited for, but not asked to stop',
    'ranOut()\n  stopChildren(fiber)',
    'ranOut()',
  ]),
  ...rule(
    'S03',
    ['core/tree', 'children are asked oldest first', 'children.push(child)', 'children.unshift(child)'],
    [
      'core/stop',
      'a stop reaches the children before the body of their parent has ended',
      'fiber.cold?.controller?.abort(stop.reason)',
      'for (const child of listChildren(fiber)) requestStop(child, stop)',
    ],
  ),
  ...rule(
    'S04',
    [
      'core/tree',
      'a dead child stays in the list of its parent',
      'unlink(fiber)\n    const heard',
      'const heard',
    ],
    [
      'core/tree',
      'a fiber that monitors keeps the dead ones it watched',
      'if (!isReborn) monitor.cold?.monitoring?.delete(fiber)',
      '',
    ],
  ),
  ...rule(
    'S05',
    [
      'core/step',
      'a fiber stopped before its start runs up to its first switchpoint',
      'if (fiber._phase !== LIVE || fiber.errors !== null) {',
      'if (fiber.errors !== null) {',
    ],
    ['core/body', 'an async function is accepted as a body', 'kind === AsyncFunctionPrototype || ', ''],
    [
      'core/body',
      'a body that returns a promise has it as its result',
      'if (isThenable(value)) {',
      'if (body.length < 0 && isThenable(value)) {',
    ],
  ),
  ...rule(
    'S06',
    [
      'core/spin',
      'a fiber that is forced may spin',
      'if (parent._phase >= FORCED && ',
      'if (parent._phase > FORCED && ',
    ],
    [
      'core/spin',
      'a fiber that cleans up may not spin',
      'if (parent._phase >= FORCED && ',
      'if (parent._phase > 0 && ',
    ],
  ),
  ...rule(
    'S07',
    [
      'core/fiber',
      'detach gives a fiber to its grandparent, not to the root',
      'this.attachTo(root)',
      'this.attachTo(this.parent?.parent ?? root)',
    ],
    [
      'core/fiber',
      'a cycle of parents is not refused',
      'if (f === this) throw',
      'if (f === this && f === parent) throw',
    ],
    [
      'core/fiber',
      'who waited for a child that was moved away is not told',
      'if (old !== null) childLeft(old)',
      '',
    ],
  ),

  // ---- switchpoints
  ...rule('S08', [
    'interop/until',
    'until calls its function when it is made',
    'super()\n',
    "super()\n    if (typeof source === 'function') source(new AbortController().signal)\n",
  ]),
  ...rule(
    'S09',
    [
      'core/gate',
      'a pending signal is not noticed by an op that can finish at once',
      'const signal = takeSignal(fiber)\n  if (signal !== NOTHING) throw',
      'const signal = op.idle ? takeSignal(fiber) : NOTHING\n  if (signal !== NOTHING) throw',
    ],
    [
      'core/stop',
      'a raise does not make the next op look for signals',
      'fiber.budget = 0\n  if (fiber._state !== WAITING) return',
      'if (fiber._state !== WAITING) return',
    ],
    [
      'core/block',
      'entering a block is no switchpoint',
      'if (this.crossesGate) {',
      'if (this.fiber !== null) {',
    ],
    [
      'core/suspend',
      'snooze does not notice a pending signal',
      'if (--fiber.budget < 0 && gate(fiber, this) === REFUSED) return SUSPENDED',
      '',
    ],
  ),
  ...rule('S10', [
    'core/op',
    'an op whose fiber has spent its budget is entered after the others have run',
    'if (gated === REFUSED) return SUSPENDED\n',
    `if (gated === REFUSED) return SUSPENDED
    if (gated === 1 && !paused.has(fiber)) {
      paused.add(fiber)
      fiber.op = this as BaseOp<any>
      fiber.how = VALUE
      fiber.runtime.push(fiber)
      return SUSPENDED
    }
    paused.delete(fiber)
`,
    {
      and: [
        [
          'if (resume(fiber, this)) return DONE',
          `if (paused.has(fiber)) {
        forget(fiber)
        return this.next()
      }
      if (resume(fiber, this)) return DONE`,
        ],
        ['declare const brand', 'const paused = new WeakSet<Fiber>()\ndeclare const brand'],
      ],
    },
  ]),

  // ---- ending a fiber
  ...rule('S11', [
    'core/fiber',
    'stop acts when its result is yield*ed, not when it is called',
    'cancelRestart(this, stop)\n    requestStop(this, stop)\n    return this.seenThrough()',
    `const self = this
    return repeatable('stop()', function* () {
      cancelRestart(self, stop)
      requestStop(self, stop)
      return yield* self.join()
    })`,
  ]),
  ...rule(
    'S12',
    [
      'core/tree',
      'observers hear of the end of the body, not of the whole subtree',
      'fiber._phase = CLOSING\n',
      'fiber._phase = CLOSING\n  tellObservers(fiber, null)\n',
    ],
    [
      'core/fiber',
      'waiting for a stop throws the error of the fiber',
      'const op = new JoinOp<T>(this)',
      'const op = new AwaitOp<T>(this) as unknown as JoinOp<T>',
    ],
  ),
  ...rule('S13', [
    'core/stop',
    'a fiber that stops itself is struck at the call',
    'if (fiber._state !== WAITING) return\n  if (fiber.how',
    'if (fiber._state === 1 && fiber.stopSignal !== null) throw fiber.stopSignal\n  if (fiber._state !== WAITING) return\n  if (fiber.how',
  ]),
  ...rule(
    'S14',
    [
      'core/tree',
      'a reason does not travel to descendants',
      'const reason = cause?.reason ?? ',
      'const reason = ',
    ],
    [
      'core/fiber',
      'the reason given to a stop is dropped',
      'options.reason ??',
      '(this === null ? options.reason : undefined) ??',
    ],
    [
      'core/fiber',
      'a stop without a reason has none',
      '(baton.fiber === null ?',
      '(this !== null ? undefined : baton.fiber === null ?',
    ],
  ),

  // ---- cleanup and the ladder
  ...rule(
    'S15',
    [
      'core/tree',
      'a dead fiber says that it is still closing',
      'fiber._phase = OVER',
      'fiber._phase = CLOSING',
    ],
    [
      'core/region',
      'once its stop was thrown, a fiber is forced',
      'this._phase = UNWINDING',
      'this._phase = 3',
    ],
  ),
  ...rule(
    'S16',
    ['core/region', 'a stop is thrown again at every switchpoint', 'this._phase = UNWINDING', ''],
    [
      'core/region',
      'blocks further in are not told that a signal passes through them',
      ';(inner as unknown as Inner).passThrough()',
      '',
    ],
    [
      'core/block',
      'a time limit that an outer signal passed through still forces its block',
      'if (this.index >= 0) (this.fiber as Fiber).runtime.timers.remove(this)',
      '',
    ],
    [
      'core/step',
      'a stop ends the generator by return(), not by throw()',
      'fiber._phase === FORCED && fiber.how === SIGNAL',
      'fiber._phase !== LIVE && fiber.how === SIGNAL',
    ],
  ),
  ...rule(
    'S16b',
    ['core/gate', 'an error cuts the cleanup of ensure', ' || region.wall === HOLD', ''],
    [
      'core/timeout',
      'the cleanup of ensure does not begin while a signal is pending',
      'return this.wall !== HOLD',
      'return true',
    ],
    [
      'core/timeout',
      'a stop cuts the cleanup of ensure',
      'new Wall(cleanup as () => any, HOLD,',
      'new Wall(cleanup as () => any, OPEN,',
    ],
    [
      'core/timeout',
      'a raise cuts the cleanup of ensure, a stop does not',
      'new Wall(cleanup as () => any, HOLD,',
      'new Wall(cleanup as () => any, SHIELD,',
    ],
    [
      'core/timeout',
      'ensure loses the error of its cleanup when the body has failed too',
      'keepBeside(Fiber.current, failure, error)',
      '',
    ],
    [
      'core/timeout',
      "ensure throws the error of its cleanup instead of the body's",
      'if (!failed || isStop(failure)) throw error',
      'throw error',
    ],
    [
      'core/timeout',
      "a cleanup that is forced loses the body's error",
      'if (isCut && failed && !isStop(failure)) throw failure',
      '',
    ],
    [
      'core/timeout',
      'an error of the cleanup is lost when the body was stopped',
      'if (!failed || isStop(failure)) throw error',
      'if (!failed) throw error',
    ],
  ),
  ...rule(
    'S17',
    [
      'core/gate',
      'idle ops are allowed in cleanup',
      'op.idle ? unwindingRegion(fiber) : null',
      'null as Region | null',
    ],
    ['core/phase', 'a swallower is forced at the fourth refusal', 'SWALLOWS = 3', 'SWALLOWS = 4'],
    ['core/gate', 'idle ops are refused inside a shield too', 'if (region.wall !== OPEN) return null', ''],
    ['core/gate', 'refusals are not counted', 'runtime.counts.refused++', ''],
    [
      'core/mailbox',
      'receive counts as cleanup',
      ';(Receive.prototype as { idle: boolean }).idle = true',
      '',
    ],
    [
      'core/suspend',
      'suspend and transfer count as cleanup',
      ';(Suspend.prototype as { idle: boolean }).idle = true',
      '',
    ],
    ['time/sleep', 'every counts as cleanup', ';(Tick.prototype as { idle: boolean }).idle = true', ''],
    [
      'time/sleep',
      'a loop without a pace counts as cleanup',
      ';(NextRound.prototype as { idle: boolean }).idle = true',
      '',
    ],
    [
      'core/gate',
      'a swallowed stop is forced without a word',
      "runtime.report({\n    kind: 'forced',",
      "void ({\n    kind: 'forced',",
    ],
  ),
  ...rule(
    'S18',
    ['core/phase', 'the default grace is 6 seconds', 'GRACE = 5000', 'GRACE = 6000'],
    [
      'core/record',
      'a body that has children may use all of the grace',
      'this.hasChildren ? now + Math.max(0, whole - now) / 2 : whole',
      'whole',
    ],
    [
      'core/record',
      'children that are stopped along have a whole grace of their own',
      'childDeadline(): number {\n    return this.deadline',
      'childDeadline(): number {\n    return this.runtime.now() + this.grace',
    ],
    [
      'core/errors',
      'the shorter grace of a child does not count when its parent ends',
      'Math.min(this.deadline, this.since + fiber.grace)',
      'this.deadline',
    ],
    ['core/record', 'a child does not inherit the grace of its parent', 'this._grace = parent._grace', ''],
    [
      'core/stop',
      'the deadline does not count while a shield holds the stop',
      'armDeadlines(fiber) // held',
      '// held',
    ],
    ['core/block', 'the grace given to a block is ignored', 'this.grace ?? fiber.grace', 'fiber.grace'],
    [
      'core/gate',
      'cleanup that waits is never forced',
      '!armDeadlines(fiber) && fiber.errors',
      'fiber._phase === LIVE && fiber.errors',
    ],
    ['core/fiber', 'the grace given to a stop is ignored', 'now + grace, false', 'now + this.grace, false'],
    [
      'core/stop',
      'a fiber that is forced at its deadline is not reported',
      'fiber.runtime.report({',
      'void ({',
    ],
  ),
  ...rule(
    'S19',
    ['core/phase', 'a generator is abandoned one yield later', 'FORCED_YIELDS = 100', 'FORCED_YIELDS = 101'],
    [
      'core/step',
      'a forced fiber gets its stop thrown again, which it can catch',
      'returnOf.call(generator) // S19',
      'throwOf.call(generator, fiber.stopSignal) // S19',
    ],
    [
      'core/step',
      'the finally blocks of a killed fiber are skipped',
      'returnOf.call(generator) // S19',
      '{ done: true, value: undefined } // S19',
    ],
    [
      'core/gate',
      'a forced fiber that takes an op apart by hand goes on for ever',
      '++fiber.coldRecord().refusals <= FORCED_YIELDS',
      'fiber.id > 0',
    ],
    [
      'core/gate',
      'a forced fiber may begin another wait',
      'if (isForced(fiber)) {',
      'if (isForced(fiber) && fiber.id < 0) {',
    ],
    [
      'core/record',
      'an abandoned fiber can be restarted',
      'this.cold !== null && this.cold.forcedYields > FORCED_YIELDS',
      'false',
    ],
    [
      'core/step',
      'an abandoned fiber counts as stopped',
      'bodyEnded(fiber, ABANDONED, undefined)',
      'bodyEnded(fiber, 3, undefined)',
    ],
    ['core/step', 'abandoned fibers are not counted', 'fiber.runtime.counts.abandoned++', ''],
    ['core/block', 'abandoned blocks are not counted', 'fiber.runtime.counts.abandoned++', ''],
    ['core/fiber', 'kill lets cleanup wait', "{ grace: 0, reason: 'killed' }", "{ reason: 'killed' }"],
    ['core/stop', 'forced regions are not counted', 'fiber.runtime.counts.forced++', ''],
    [
      'core/stop',
      'a fiber that waits when it is forced goes on waiting',
      'if (fiber._state === WAITING) withdraw(fiber, false)',
      '',
    ],
  ),
  ...rule(
    'S20',
    [
      'core/gate',
      'a shield does not hold a stop',
      ' || region.wall !== OPEN) return found',
      ') return found',
    ],
    [
      'core/gate',
      'a shield holds raise too',
      'region.wall === HOLD) return false',
      'region.wall !== OPEN) return false',
    ],
  ),
  ...rule(
    'S21',
    [
      'core/stop',
      'a second stop is thrown too',
      'tighten(fiber, stop)\n',
      'fiber._phase = REQUESTED\n    fiber.stopSignal = stop\n    interrupt(fiber)\n',
    ],
    [
      'core/stop',
      'a second stop does not bring the deadline nearer',
      'fiber.coldRecord().tight = deadline',
      '',
    ],
    [
      'core/stop',
      'a second stop with more grace puts the deadline off',
      'if (deadline >= fiber.deadline) return',
      'if (deadline > fiber.deadline) fiber.stopSignal = later',
    ],
    [
      'core/stop',
      'a second stop replaces the value and the reason',
      'const deadline = later.deadlineFor(fiber)',
      'fiber.stopSignal?.become(later)\n  const deadline = later.deadlineFor(fiber)',
    ],
    [
      'core/stop',
      'a nearer deadline does not reach the children of a body that is over',
      'else if (fiber._phase === CLOSING) tightenChildren(fiber, stop)',
      '',
    ],
    [
      'core/stop',
      'a nearer deadline of a forced body does not reach its children',
      'fiber.coldRecord().tight = Math.min(fiber.deadline, stop.deadlineFor(fiber))',
      '',
    ],
  ),
  ...rule(
    'S22',
    [
      'core/tree',
      'a second error of a child that dies after its parent is lost',
      '} else keepBeside(fiber, fiber.value, error)',
      '}',
    ],
    ['core/errors', 'only one error is kept beside another', 'return before.push(later) > 0', 'return true'],
    [
      'core/errors',
      'an error that is kept beside another replaces what was there',
      'const value = [...list, later]',
      'const value = [later]',
    ],
    [
      'core/tree',
      'an error that cannot be kept is not even reported',
      'if (suppress(first, later)) return',
      'suppress(first, later)\n  if (later !== null) return',
    ],
    [
      'core/scope',
      'a scope keeps its first error only',
      'for (const other of others) keepBeside(fiber, first, other)',
      '',
    ],
    [
      'core/scope',
      'the errors of a scope are lost when a stop passes through it',
      'if (failures.length > 0) queueError(fiber, first, true)',
      '',
    ],
    [
      'core/scope',
      'the errors of a scope are lost when it is abandoned',
      'for (const failure of this.failures) queueError(fiber, failure, true)',
      '',
    ],
  ),

  // ---- errors
  ...rule(
    'S23',
    [
      'core/tree',
      'the last error becomes the outcome',
      'if (fiber.how !== ERROR) {',
      'if (fiber.how !== NONE) {',
    ],
    ['core/scope', 'a scope throws the last error', '= failures\n', '= [...failures].reverse()\n'],
  ),
  ...rule(
    'S24',
    [
      'core/tree',
      'a parent is not told when somebody else awaits its child',
      'heard !== PARENT)',
      'heard === NOBODY)',
    ],
    [
      'core/tree',
      'a parent that observes is told a second time',
      'if (observer.watcher === parent) heard = PARENT',
      '',
    ],
    ['core/tree', 'the error of a child reaches nobody', 'else queueError(receiver, error, true)', ''],
    [
      'core/errors',
      'errorFiber names the last fiber that an error left',
      'if (!facts.has(traveller)) facts.set(traveller, { fiber, received: new WeakSet() })',
      'facts.set(traveller, { fiber, received: facts.get(traveller)?.received ?? new WeakSet() })',
    ],
  ),
  ...rule(
    'S25',
    [
      'core/errors',
      'one error object comes up into a fiber twice',
      'if (entry === undefined || entry.received.has(fiber)) return false',
      'if (entry === undefined) return false',
    ],
    [
      'core/observe',
      'an error received by await comes up again',
      'markReceived(error, fiber) // S25',
      '// S25',
    ],
    [
      'core/observe',
      'an error received by join comes up again',
      'if (how === ERROR) markReceived(value, fiber)',
      '',
    ],
    [
      'core/observe',
      'an error received by Fiber.await or Fiber.select comes up again',
      'if (watch.how === ERROR) markReceived(watch.value, fiber)',
      '',
    ],
  ),
  ...rule(
    'S26',
    [
      'core/gate',
      'a stop strikes before the errors that are pending',
      'if (errors !== null && canRaise(fiber)) {',
      'if (errors !== null && canRaise(fiber) && findTarget(fiber) === null) {',
    ],
    [
      'core/gate',
      'the last pending error strikes first',
      'const { error } = errors.shift()',
      'for (let i = 1; i < errors.size; i++) errors.push(errors.shift())\n    const { error } = errors.shift()',
    ],
    [
      'core/stop',
      'the second of two errors replaces the first',
      '(fiber.errors ??= new Ring()).push',
      '(fiber.errors = new Ring<any>()).push',
    ],
    [
      'core/tree',
      'errors of children that were not delivered are lost',
      'if (fromChild)\n',
      'if (fromChild && error === null)\n',
    ],
    [
      'core/tree',
      'a raise that was not delivered fails the fiber',
      'if (fromChild)\n',
      'if (error !== null || fromChild)\n',
    ],
    [
      'core/stop',
      'of a raise and a stop before the start, the stop wins',
      'const pending = fiber.errors?.shift()',
      'const pending = fiber._phase === LIVE ? fiber.errors?.shift() : undefined',
    ],
  ),
  ...rule(
    'S27',
    ['core/gate', 'errors of children interrupt cleanup', 'region._phase >= UNWINDING || ', ''],
    [
      'core/tree',
      'errors of children that fail after the body of their parent are lost',
      'else if (receiver._phase === CLOSING) foldError(receiver, error)',
      'else if (receiver._phase === CLOSING) return',
    ],
  ),
  ...rule(
    'S28',
    [
      'core/scope',
      'the body of a scope is not stopped when a child fails',
      'else if (this._phase === LIVE) this.request(error)',
      '',
    ],
    [
      'core/scope',
      'a child that fails after the body of its scope does not stop the others',
      'if (this.stage !== BODY) this.endChildren()',
      'if (this.stage !== BODY) this.stage = GATHERING',
    ],
    [
      'core/scope',
      'an error of its body does not stop the children of a scope',
      'this.endChildren()\n    return this.waitForChildren()',
      'return this.waitForChildren()',
    ],
    [
      'core/scope',
      'a scope throws before the other children have ended',
      'if (this.newest !== null) {',
      'if (this.newest !== null && this.failures.length === 0) {',
    ],
    [
      'core/scope',
      'a scope stops its children when its body has ended',
      'if (this.failures.length > 0 || this._phase >= UNWINDING) this',
      'this',
    ],
    [
      'core/spin',
      'a fiber spun in a scope belongs to its fiber',
      'while (!region.isOwner)',
      'while (region.outer !== null)',
    ],
  ),
  ...rule(
    'S29',
    [
      'core/tree',
      'the error of an isolated fiber is reported although somebody awaits it',
      'fiber.isIsolated ? heard === NOBODY : heard !== PARENT',
      'heard !== PARENT',
    ],
    [
      'core/tree',
      'the error of an isolated fiber goes to its parent',
      'if (fiber.isIsolated) {',
      'if (fiber.isIsolated && owner === null) {',
    ],
    [
      'core/spin',
      'link: false is ignored',
      'if (options.link === false) fiber.coldRecord().isolated = true',
      '',
    ],
  ),
  ...rule(
    'S30',
    [
      'node/run',
      'run resolves its promise with the error',
      "else if (outcome.type === 'error') settle.reject(outcome.error)",
      "else if (outcome.type === 'error') settle.resolve(outcome.error as T)",
    ],
    ['node/main', 'main prints no error', 'printError(outcome.error)', '', PROGRAMS],
    [
      'node/report',
      'the path of the fiber is not printed',
      'if (fiber !== undefined) lines.push',
      "if (fiber !== undefined && indent === 'none') lines.push",
      PROGRAMS,
    ],
    [
      'node/report',
      'suppressed errors are not printed',
      'suppressed.forEach(',
      'suppressed.slice(suppressed.length).forEach(',
      PROGRAMS,
    ],
  ),

  // ---- waiting for fibers
  ...rule(
    'S31',
    [
      'core/observe',
      'awaiting a fiber that was stopped without a value gives undefined',
      'if (how === STOPPED && value === undefined) {',
      'if (how === NONE) {',
    ],
    [
      'core/observe',
      'awaiting a stopped fiber throws though the stop had a value',
      'if (how === STOPPED && value === undefined) {',
      'if (how === STOPPED) {',
    ],
    [
      'core/observe',
      'awaiting an abandoned fiber gives undefined',
      'if (how === ABANDONED) {',
      'if (how === NONE) {',
    ],
    [
      'core/observe',
      'Fiber.await does not stop the rest at the first error',
      'for (const fiber of fibers) fiber.stop(undefined',
      'for (const fiber of [] as Fiber[]) fiber.stop(undefined',
    ],
    ['core/observe', 'Fiber.await throws before the rest have ended', 'yield* settleRest(fibers, error)', ''],
    [
      'core/observe',
      'Fiber.await gives the values in another order',
      'return op.watches.map((watch) => watch.value)',
      'return op.watches.map((watch) => watch.value).reverse()',
    ],
    [
      'core/observe',
      'a stop while Fiber.await waits for the rest loses the error',
      'if (isCut) queueError(watcher, error, true)',
      '',
    ],
    [
      'core/observe',
      'errors that only a cut Fiber.await or joinChildren has heard of are lost',
      'if (how === ERROR && isOurs && markReceived(value, fiber)) keepError(fiber, value)',
      '',
    ],
  ),
  ...rule(
    'S32',
    [
      'core/observe',
      'a fiber may await itself',
      'if (target === fiber) throw',
      'if (target === fiber && target._state === DEAD) throw',
    ],
    [
      'core/observe',
      'fibers may await each other in a circle',
      'if (f === fiber) throw',
      'if (fiber === null) throw',
    ],
    [
      'core/observe',
      'a circle is refused though a time limit would end it',
      'if (target._state !== WAITING || hasTimeLimit(fiber)) return',
      'if (target._state !== WAITING) return',
    ],
    [
      'core/observe',
      'Fiber.await may wait for its own fiber',
      'watch.target === fiber)',
      'watch.target === null)',
    ],
  ),
  ...rule(
    'S33',
    ['node/main', 'a deadlock exits with 1', 'DEADLOCK_CODE = 13', 'DEADLOCK_CODE = 1', PROGRAMS],
    ['node/run', 'a deadlock is not told', 'endings.get(fiber)?.deadlocked(error)', '', PROGRAMS],
    [
      'testing/world',
      'a deadlock on the virtual clock passes for an end',
      "else this.refuse('nothing can ever happen here again')",
      "else return 'done'",
    ],
  ),

  // ---- races
  ...rule(
    'S34',
    [
      'core/stop',
      'a stop, a raise or a time-out replaces the answer of a fiber that has not run yet',
      'if (fiber._state !== WAITING) return\n  if (fiber.how',
      `if (fiber._state === 0 && fiber.op !== null) fiber.how = SIGNAL
  if (fiber._state !== WAITING) return
  if (fiber.how`,
    ],
    [
      'core/block',
      'a time-out replaces an answer that has not been taken',
      'interrupt(fiber)\n',
      'if (fiber._state === 0 && fiber.op !== null) fiber.how = SIGNAL\n    interrupt(fiber)\n',
    ],
    [
      'core/timeout',
      'the Cancel of cancelAfter replaces an answer that has not been taken',
      'interrupt(fiber)\n',
      'if (fiber._state === 0 && fiber.op !== null) fiber.how = 3\n    interrupt(fiber)\n',
    ],
    [
      'core/stop',
      'a raise or the error of a child replaces an answer that has not been taken',
      'keepError(fiber, error, fromChild)\n  interrupt(fiber)',
      'keepError(fiber, error, fromChild)\n  if (fiber._state === 0 && fiber.op !== null) fiber.how = SIGNAL\n  interrupt(fiber)',
    ],
    [
      'core/stop',
      'a kill replaces an answer that has not been taken',
      'if (fiber._state === WAITING) withdraw(fiber, false)',
      'if (fiber._state === 0 && fiber.op !== null) fiber.how = SIGNAL\n  if (fiber._state === WAITING) withdraw(fiber, false)',
    ],
    [
      'core/step',
      'a fiber killed while it is runnable loses its answer',
      'fiber._phase === FORCED && fiber.how === SIGNAL',
      'fiber._phase === FORCED',
    ],
    [
      'core/block',
      'a block forced while its fiber is runnable loses the answer',
      'this._phase === FORCED && fiber.how === SIGNAL',
      'this._phase === FORCED',
    ],
    [
      'core/timeout',
      'a time-out that has not struck replaces the result of its block',
      'const struck = this.wasStruck',
      'const struck = this.hasExpired',
    ],
    [
      'core/tree',
      'a fiber that ends before its stop has struck counts as stopped',
      'const unwound = fiber._phase === UNWINDING || fiber._phase === FORCED',
      'const unwound = fiber._phase !== LIVE',
    ],
    [
      'core/op',
      'an answer that comes while the op is being aborted is dropped',
      '(fiber.how !== NONE && fiber.how !== ABORTING)',
      'fiber.how !== NONE',
    ],
    [
      'core/op',
      'an abort that settles does not keep the signal from striking',
      'if (fiber._state !== WAITING) return\n  fiber.how = SIGNAL',
      'fiber.how = SIGNAL',
    ],
  ),
  ...rule(
    'S35',
    ['core/op', 'a late value is not discarded', ') op.left = true', ') op.left = false'],
    ['core/op', 'a value is discarded twice', 'if (!this.left) return', ''],
    [
      'core/op',
      'an op that ends LATER is not waited for',
      'if (isLater && isPatient && !isForced(fiber)) boundLater',
      'if (isLater && fiber === null) boundLater',
    ],
    [
      'core/stop',
      'a fiber waits for an op that ends LATER without end',
      'latest = Math.min(latest, region.deadline)',
      '',
    ],
    [
      'core/op',
      'the end of an op that ends LATER is not noticed',
      'fiber.runtime.push(fiber) // S35',
      '{} // S35',
    ],
    [
      'core/op',
      'an abort that calls back is aborted again',
      'if (fiber.how === ABORTING) return',
      'if (fiber.how === ABORTING) fiber.how = NONE',
    ],
    [
      'core/gate',
      'the time limit of an op that ended LATER stays',
      'fiber.cold?.deadline?.stopWaiting()',
      '',
    ],
    [
      'core/stop',
      'a fiber does not leave an op that ends LATER when its grace is over',
      'else if (leave && fiber._state === WAITING && fiber.how === SIGNAL) fiber.runtime.push(fiber)',
      '',
    ],
    [
      'core/stop',
      'a nearer deadline does not shorten the wait for an op that ends LATER',
      'if (fiber.how === SIGNAL) {\n    boundLater(fiber)',
      'if (fiber.how === SIGNAL) {\n    armDeadlines(fiber)',
    ],
  ),
  ...rule(
    'S36',
    [
      'core/mailbox',
      'a second message to a receiver that has not run yet is lost',
      'if (isAwaited && op.offer(fiber, message)) return true',
      'if (op instanceof Receive) {\n    op.offer(fiber, message)\n    return true\n  }',
    ],
    [
      'core/mailbox',
      'a message is put into the mailbox though its receiver waits',
      'if (isAwaited && op.offer(fiber, message)) return true',
      '',
    ],
  ),
  ...rule(
    'S37',
    [
      'core/observe',
      'Fiber.select stops the others',
      'const error = first.failure\n',
      'const error = first.failure\n  for (const fiber of fibers) fiber.stop()\n',
    ],
    [
      'core/observe',
      'Fiber.select does not throw when the first has failed',
      'if (error === undefined) return [',
      'if (first !== null) return [',
    ],
  ),

  // ---- messages
  ...rule(
    'S38',
    [
      'core/mailbox',
      'the newest message is received first',
      'fiber.value = ring.shift()',
      'for (let i = 1; i < ring.size; i++) ring.push(ring.shift())\n    fiber.value = ring.shift()',
    ],
    [
      'core/mailbox',
      'an Error sent as a message is thrown',
      'fiber.value = ring.shift()',
      'fiber.value = ring.shift()\n    if (fiber.value instanceof Error) fiber.how = 2',
    ],
    ['core/mailbox', 'a full mailbox takes what is sent', 'if (mustFit && mailbox.isFull) return false', ''],
    [
      'core/mailbox',
      'nobody is let in when a message is received',
      'if (this.pushers.size > 0) this.admit()',
      '',
    ],
    [
      'core/mailbox',
      'nobody is let in when the cap is raised',
      'this.limit = capacity\n    this.admit()',
      'this.limit = capacity',
    ],
    [
      'core/mailbox',
      'those who wait for room come in too early',
      'place !== null && !this.isFull',
      'place !== null',
    ],
    [
      'core/fiber',
      'a full mailbox loses the end of a monitored fiber',
      'deliver(this, end, false)',
      'deliver(this, end)',
    ],
  ),
  ...rule(
    'S39',
    [
      'core/mailbox',
      'a message to a fiber whose body is over is kept',
      'return fiber._phase >= CLOSING && fiber.cold?.restart == null',
      'return fiber._phase > CLOSING && fiber.cold?.restart == null',
    ],
    ['core/mailbox', 'dead letters are not counted', 'fiber.runtime.counts.deadLetters++', ''],
    [
      'core/mailbox',
      'sending to a dead fiber returns true',
      'countDeadLetter(fiber, message)\n    return false',
      'countDeadLetter(fiber, message)\n    return true',
    ],
    [
      'core/cold',
      'who waits for room in a mailbox waits on when the fiber dies',
      'this.mailbox?.close()',
      '',
    ],
    ['sync/messages', 'a call to a fiber that ends waits for ever', 'fail(caller, this.leave(), error)', ''],
    ['sync/messages', 'an answer can be given twice', 'this.question = null\n    this.target', 'this.target'],
    [
      'sync/messages',
      'a question to the next incarnation fails with the present one',
      'if (target.incarnation < this.incarnation && ',
      'if (target.incarnation < 0 && ',
    ],
    ['sync/messages', 'a caller leaves its watch behind', 'this.target.cold?.atEnd?.delete(this.watch)', ''],
    [
      'sync/messages',
      'a parent is told twice of a failure that its call was told of',
      'if (how === ERROR) markReceived(value, caller)',
      '',
    ],
    [
      'sync/messages',
      'a full mailbox refuses a call',
      'deliver(target, question, false)',
      'deliver(target, question)',
    ],
  ),
  ...rule(
    'S40',
    ['core/mailbox', 'a match looks at old messages again', 'if (this.match !== match) {', 'if (true) {'],
    [
      'core/mailbox',
      'a message that was passed by is looked at again',
      'if (this.seen === this.size - 1) this.seen++',
      '',
    ],
    [
      'core/mailbox',
      'the cursor stays behind when older messages go',
      'if (index < this.seen) this.seen--',
      '',
    ],
    [
      'core/mailbox',
      'a match is kept although another is asked for',
      'this.match = match\n      this.seen = 0',
      'this.match = match',
    ],
    [
      'core/mailbox',
      'the message that is waited for is kept out by a full mailbox',
      'this.findAmongPushers(match) : NOT_FOUND',
      'NOT_FOUND : NOT_FOUND',
    ],
    [
      'core/mailbox',
      'a match that throws fails the sender',
      'fail(fiber, this, error)\n      return false',
      'throw error',
    ],
    [
      'core/ring',
      'the wrong message is taken out',
      'for (let i = index; i > 0; i--)',
      'for (let i = index; i > 1; i--)',
    ],
  ),

  // ---- supervision
  ...rule(
    'S42',
    [
      'supervise/supervision',
      'a group is taken down oldest first',
      'for (const member of [...group].reverse()) {',
      'for (const member of group) {',
    ],
    [
      'supervise/supervision',
      'restForOne restarts all',
      "'oneForAll' ? all : all.slice(all.indexOf(fiber))",
      "'oneForAll' ? all : all",
    ],
    [
      'supervise/supervision',
      'those whose rule is never come back with their group',
      "this.roster.ruleOf(member) !== 'never' && member.phase === 'live'",
      "member.phase === 'live'",
    ],
    [
      'supervise/supervision',
      'a group does not know of members whose end is not dealt with yet',
      '...this.ends.fibers(), ',
      '',
    ],
    ['supervise/roster', 'children are started in any order', 'sort((a, b) => a.id - b.id)', 'reverse()'],
    [
      'supervise/supervision',
      'a child restarted by somebody else is restarted again',
      'if (fiber.incarnation !== incarnation) {',
      'if (false) {',
    ],
    [
      'core/restart',
      'a held restart happens at once',
      'restart === null || restart.isHeld',
      'restart === null',
    ],
    [
      'core/restart',
      'a held restart is forgotten at the death',
      'cold !== null && !cold.restart?.isHeld && !canReincarnate',
      'cold !== null && !canReincarnate',
    ],
    [
      'supervise/supervision',
      'messages for a child that waits for its restart are dropped',
      'restartWith({ keepMailbox: true })',
      'restartWith({})',
    ],
    [
      'supervise/verdict',
      'a restarted fiber that an arrow returns is waited for',
      'returned instanceof Fiber ? undefined : ',
      '',
    ],
  ),
  ...rule(
    'S43',
    [
      'supervise/intensity',
      'one restart too many is allowed',
      '<= restarts) return',
      '<= restarts + 1) return',
    ],
    ['supervise/intensity', 'the window does not slide', '(times[0] as number) < now - within', 'false'],
    ['supervise/intensity', 'the error has no cause', '{ cause: lastError }', '{}'],
    ['supervise/intensity', 'the waits do not grow', 'isNew ? 1 : row.nth + 1', '1'],
    ['supervise/intensity', 'a row never ends', 'row.since > this.policy.within', 'row.since > Infinity'],
    [
      'supervise/supervision',
      'restarts by hand do not count',
      'if (!isOld) this.intensity.count(fiber, this.lastError)',
      '',
    ],
    [
      'core/stop',
      'a stop of a child that waits for its restart is not noticed',
      'fiber.parent?.cold?.supervisor?.childChanged(fiber)',
      '',
    ],
  ),
  ...rule(
    'S44',
    [
      'supervise/verdict',
      'a stopped child is restarted under always',
      "return isHeld(fiber) ? 'restart' : 'done'",
      "return rule === 'always' ? 'restart' : isHeld(fiber) ? 'restart' : 'done'",
    ],
    ['supervise/supervision', 'until any waits for all', "(until === 'any' && this.hasLost) || ", ''],
    [
      'supervise/supervision',
      'until never returns',
      "until === 'never' || this.ends.size > 0",
      'this.ends.size > 0',
    ],
    [
      'supervise/supervision',
      'the rest are stopped oldest first at the end',
      'for (const child of this.roster.inOrder([]).reverse()) yield*',
      'for (const child of this.roster.inOrder([])) yield*',
    ],
    [
      'supervise/ends',
      'errors not dealt with are lost when the supervisor is struck',
      "if (outcome.type === 'error') yield outcome.error",
      '',
    ],
    [
      'supervise/ends',
      'the error in the hands of a callback is lost',
      'this.inHand = end\n    return',
      'return',
    ],
    [
      'supervise/roster',
      'a supervisor has the grace of any child',
      '? Infinity : undefined',
      '? undefined : undefined',
    ],
    [
      'core/fiber',
      'a supervisor is not told of a child that is detached',
      'old?.host.cold?.supervisor?.childChanged(this)',
      '',
    ],
    [
      'supervise/supervision',
      'a supervisor that is stopped goes one by one until it is forced',
      "host.phase === 'live' ? Infinity : now + (host.deadline - now) / 2 - 1",
      'Infinity',
    ],
    [
      'supervise/roster',
      'in a scope, children outside it are watched too',
      'if (child.owner !== region) this.bystanders.add(child)',
      '',
    ],
  ),

  // ---- restart
  ...rule(
    'S41',
    ['core/restart', 'a restart does not count the incarnations', 'cold.incarnation++', ''],
    [
      'core/restart',
      'the old incarnation still receives what was in its mailbox at the restart',
      'if (fiber._mailbox !== mailbox) fiber._mailbox = null',
      '',
    ],
    [
      'core/mailbox',
      'messages sent after the restart go to the old incarnation',
      'restart != null ? restart.mailbox : (fiber._mailbox',
      'restart != null && fiber.id < 0 ? restart.mailbox : (fiber._mailbox',
    ],
    [
      'core/restart',
      'keepMailbox is ignored',
      '(options.keepMailbox && (',
      "(options.keepMailbox === ('' as any) && (",
    ],
    [
      'core/restart',
      'a restarted fiber keeps the locals it has set',
      'if (cold.born !== undefined) fiber.locals = cold.born',
      '',
    ],
    [
      'core/restart',
      'the arguments given to restart are ignored',
      'if (restart?.args !== undefined) fiber.args = restart.args',
      '',
    ],
    [
      'core/restart',
      'an error of the teardown does not cancel the restart',
      'fiber.how !== ERROR && !fiber.isAbandoned',
      '!fiber.isAbandoned',
    ],
    ['core/stop', 'a stop after a restart does not cancel it', ';(fiber.cold as Cold).restart = null', ''],
    [
      'core/stop',
      'a stop after a restart does not bring its own value and reason',
      'if (fiber.stopSignal === restart.stop) restart.stop.become(stop)',
      '',
    ],
    [
      'core/tree',
      'the new incarnation begins before the children of the old one are dead',
      'if (fiber.newest === null) {',
      'if (fiber.newest === null || fiber.cold?.restart != null) {',
    ],
    [
      'core/tree',
      'awaiters are told of the end of an incarnation',
      'if (reborn) {\n',
      'if (reborn) {\n      tellObservers(fiber, null)\n',
    ],
    [
      'core/tree',
      'monitors hear of the last incarnation only',
      'tellMonitors(fiber, reborn)',
      'if (!reborn) tellMonitors(fiber, reborn)',
    ],
    [
      'core/restart',
      'a new incarnation has the tightened deadline of the old one',
      'cold.tight = Infinity',
      '',
    ],
    [
      'core/restart',
      'a new incarnation has the swallows of the old one on its account',
      'cold.swallows = 0',
      '',
    ],
    [
      'core/restart',
      'a new incarnation has the reason for the end of the old one',
      'fiber.stopSignal = null',
      '',
    ],
    [
      'core/restart',
      'a fiber can be restarted under a parent that is over',
      'if (!fiber.owner.isOpen) throw',
      'if (fiber.owner === null) throw',
    ],
    ['core/restart', 'a new incarnation has the aborted signal of the old one', 'cold.controller = null', ''],
  ),

  // ---- main and exit
  ...rule(
    'S45',
    ['node/main', 'the code given to exit is ignored', 'requested ?? signals.code', 'signals.code', PROGRAMS],
    ['node/main', 'a signal leaves the exit code as it is', '?? signals.code ??', '??', SIGNALS],
    [
      'node/main',
      'a signal outweighs exit(n)',
      'requested ?? signals.code ??',
      'signals.code ?? requested ??',
      SIGNALS,
    ],
    [
      'node/shutdown',
      'every signal exits with 130',
      '128 + constants.signals[signal as keyof typeof constants.signals]',
      '130',
      SIGNALS,
    ],
    [
      'node/main',
      'an uncaught error exits with 0',
      'process.exitCode = 1\n',
      'process.exitCode = 0\n',
      PROGRAMS,
    ],
    [
      'node/main',
      'what keeps the process after main is dead is not named, and keeps it',
      'lingering = setTimeout(endLingering, LINGER_MS).unref()',
      '',
      PROGRAMS,
    ],
    [
      'node/run',
      'a run that was stopped with a value rejects',
      "outcome.type === 'stopped' && outcome.value !== undefined",
      "outcome.type === 'stopped' && outcome.value === null",
    ],
  ),
  ...rule(
    'S46',
    [
      'core/spin',
      'an out-of-band fiber goes to the end of the queue',
      'runtime.push(fiber, options.outOfBand)',
      'runtime.push(fiber)',
    ],
    [
      'core/tree',
      'the error of an out-of-band fiber does not reach main',
      '!(cold.raw || cold.outOfBand)) return null',
      '!cold.raw) return null',
    ],
    [
      'node/trap',
      'of two signals that come together the later one is handled first',
      '(callsOf(fiber.runtime).shift() as Trap)',
      '(callsOf(fiber.runtime).pop() as Trap)',
    ],
    ['node/trap', 'a handler waits for its turn', ', outOfBand: true }', ' }'],
    [
      'node/trap',
      'the handler of one that was killed before it began runs in its place',
      'fresh.delete(fiber) && calls.pop()',
      'fresh.delete(fiber)',
    ],
  ),
  ...rule(
    'S47',
    [
      'node/signals',
      'main acts although a trap is set',
      'const hearers = isTaken ? takers : ',
      'const hearers = isTaken ? [...takers, ...main] : ',
      SIGNALS,
    ],
    [
      'node/signals',
      'main takes the echo of a trapped signal for another',
      'this.isEcho() ? [] : main',
      'main',
      SIGNALS,
    ],
    ['node/shutdown', 'an echo counts', 'now - this.at <= ECHO_MS', 'now < this.at', SIGNALS],
    ['node/shutdown', 'a second SIGINT changes nothing', 'root.kill()', 'root', SIGNALS],
    [
      'node/shutdown',
      'a second SIGINT kills main only',
      'for (const root of [...main.runtime.roots]) root.kill()',
      'main.kill()',
      SIGNALS,
    ],
    [
      'node/shutdown',
      'SIGTERM again kills',
      "&& signal !== 'SIGINT') return",
      '&& signal === "") return',
      SIGNALS,
    ],
    [
      'node/shutdown',
      'the reason is lost',
      'main.stop(undefined, { reason: signal })',
      'main.stop()',
      SIGNALS,
    ],
    ['node/shutdown', 'nobody is told', 'writeSync(2, ', 'String(', SIGNALS],
    ['node/shutdown', 'SIGHUP is not for main', "'SIGTERM', 'SIGHUP'] as", "'SIGTERM'] as", SIGNALS],
    [
      'node/shutdown',
      'an echo after the end cuts off output',
      'if (this.phase === OPEN && !SIGNALS.some(isEchoing)) this.close()',
      'this.close()',
      SIGNALS,
    ],
    ['node/signals', 'the name of a signal is case-sensitive', 'name.toUpperCase()', 'name'],
    ['node/signals', 'SIGUSR1 can be trapped', "SIGUSR1: '", "SIGUSR3: '"],
  ),
  ...rule(
    'S48',
    ['node/signals', 'listeners stay', 'process.off(signal, line.ring)', 'void line'],
    ['node/signals', 'every listener adds one to the process', 'if (line.isIdle) process.on', 'process.on'],
    ['node/trap', 'a trap outlives its fiber', 'if (owner !== null) atEnd(owner, this.ownerEnded)', ''],
    [
      'node/trap',
      'handlers outlive the owner of their trap',
      '[...this.handlers]) fiber.stop(undefined, { reason })',
      '[]) this.handlers.delete(fiber)',
    ],
    [
      'node/trap',
      'a trap set by a handler goes with the handler',
      "trap === undefined || trap.owner?.state === 'dead' ? fiber : trap.owner",
      'trap === undefined ? fiber : fiber',
    ],
    [
      'node/trap',
      'traps that belong to nobody stay after main',
      'if (trap.owner === null) trap.ownerEnded()',
      'void trap',
      SIGNALS,
    ],
    [
      'node/awaitsignal',
      'a wait that is over still listens',
      "unlisten(signal, this, 'takers')",
      'void signal',
    ],
    [
      'node/treedump',
      'the tree dump turns main off',
      ") listen(this.signal, this, 'onlookers')",
      ") listen(this.signal, this, 'takers')",
      SIGNALS,
    ],
    ['node/main', 'the tree dump listens after main', 'treeDump.close()', '', SIGNALS],
  ),

  // ---- fairness
  ...rule(
    'S49',
    ['core/runtime', 'a batch has 2,048 steps', 'BATCH_STEPS = 1024', 'BATCH_STEPS = 2048'],
    ['core/runtime', 'a batch has 20 ms', 'BATCH_MS = 10', 'BATCH_MS = 20'],
    [
      'core/runtime',
      'a batch goes on however long it takes',
      'if (now - this.batchStart >= BATCH_MS) {',
      'if (now < this.batchStart) {',
    ],
    [
      'core/runtime',
      'the clock is read every 64 steps, however slow they are',
      'now - this.lastCheck > SLOW_STRETCH_MS ? 1 : ',
      '',
    ],
    [
      'core/runtime',
      'a fiber that becomes runnable goes to the head of the queue',
      'else this.queue.push(fiber)',
      'else this.queue.unshift(fiber)',
    ],
    [
      'core/spin',
      'a new fiber goes to the head of the queue',
      'runtime.push(fiber)\n',
      'runtime.push(fiber, true)\n',
    ],
    [
      'core/runqueue',
      'a fiber that comes after the queue was empty is lost',
      'if (this.head === null) this.tail = null',
      '',
    ],
    [
      'core/runqueue',
      'a fiber that comes after the last one was taken out is lost',
      'if (before.behind === null) this.tail = before',
      '',
    ],
    [
      'core/op',
      'a fiber that is answered while it runs is queued as well',
      'fiber.value = value\n  if (fiber._state === WAITING) fiber',
      'fiber.value = value\n  fiber',
    ],
  ),
  ...rule(
    'S50',
    ['core/phase', 'a fiber takes 129 ready ops in one turn', 'BUDGET = 128', 'BUDGET = 129'],
    [
      'core/op',
      'a fiber whose budget is spent does not let others run',
      'if (gated === PASS) {',
      'if (fiber.how !== NONE) {',
    ],
    [
      'core/block',
      'a loop over blocks does not let others run',
      'if (gated === TURN) {',
      'if (this.fiber !== null) {',
    ],
    [
      'core/gate',
      'a fiber with a held signal does not let others run',
      'if (fiber.budget > -BUDGET) return PASS',
      'if (fiber.budget < 0) return PASS',
    ],
  ),
  ...rule(
    'S51',
    [
      'core/suspend',
      'scheduleWithPriority goes to the end of the queue',
      'fiber.value = value\n  fiber.runtime.push(fiber, first)',
      'fiber.value = value\n  fiber.runtime.push(fiber)',
    ],
    [
      'core/suspend',
      'scheduleWithPriority moves a fiber that is runnable already',
      'if (fiber._state !== WAITING) return false\n  if (fiber.isUnstarted',
      'if (first && fiber._state === 0) {\n    fiber.runtime.queue.delete(fiber)\n    fiber.runtime.queue.unshift(fiber)\n  }\n  if (fiber._state !== WAITING) return false\n  if (fiber.isUnstarted',
    ],
    [
      'core/op',
      'a fiber that is struck goes to the head of the queue',
      'else fiber.runtime.push(fiber)\n}',
      'else fiber.runtime.push(fiber, true)\n}',
    ],
  ),
  ...rule(
    'S52',
    [
      'core/tree',
      'an awaiter that is stopped takes those before it along',
      'if (after !== null) after.before = before',
      'if (after !== null) after.before = null',
    ],
    [
      'core/tree',
      'when the last awaiter is stopped, the others are forgotten',
      'fiber.lastObserver = before',
      'fiber.lastObserver = null',
    ],
    [
      'core/observe',
      'a wait for several fibers stays in their lists when it is cut',
      'unobserve(watch.target, watch)',
      '',
    ],
    [
      'core/observe',
      'an await stays in the list of its fiber when it is cut',
      'unobserve(this.target, this)',
      '',
    ],
  ),

  // ---- interop
  ...rule(
    'S56',
    [
      'core/record',
      'a child does not start with the locals of its parent',
      'this.locals = parent.locals',
      '',
    ],
    [
      'core/local',
      'setting a local changes it for children and parents too',
      'fiber.locals = new Map(fiber.locals).set(local, value)',
      'fiber.locals = ((fiber.locals as Map<object, unknown> | null) ?? new Map<object, unknown>()).set(local, value)',
    ],
    ['core/local', 'with() does not put the old value back', 'fiber.locals = values', ''],
    ['core/runtime', 'no step runs in the async context', 'else context(step, fiber)', 'else step(fiber)'],
    ['core/spin', 'children do not carry the async context', 'inheritContext(fiber, parent)\n  link', 'link'],
    [
      'core/spin',
      'a child cannot be spun without the async context of its parent',
      'else if (fiber.cold !== null) fiber.cold.context = null',
      '',
    ],
    [
      'node/backend',
      'the async context of whoever wakes fibers becomes theirs',
      'if (this.isCarrying) outside',
      'if (!turn) outside',
    ],
  ),
  ...rule(
    'S57',
    [
      'core/spin',
      'a fiber whose signal is aborted already starts',
      'if (signal.aborted) {',
      'if (signal.aborted && fiber.id < 0) {',
    ],
    ['core/cold', 'the listener to an AbortSignal is not removed', 'this.unlisten?.()', ''],
    ['core/stop', 'fiber.signal is not aborted by a stop', 'fiber.cold?.controller?.abort(stop.reason)', ''],
    [
      'interop/until',
      'the signal of until is not aborted when the fiber leaves',
      'this.controller?.abort(fiber.stopReason)',
      '',
    ],
    [
      'core/restart',
      'a fiber restarted under an aborted signal runs',
      'if (signal?.aborted) fiber',
      'if (signal?.aborted && fiber.id < 0) fiber',
    ],
  ),
  ...rule(
    'S58',
    [
      'interop/until',
      'a promise that a stop kept from being waited for may reject unhandled',
      'leaveBehind(this.source).forget(this, 0, fiber)',
      'void 0',
    ],
    ['interop/until', 'discard is ignored', 'if (discard !== undefined) this.discard = discard', ''],
    [
      'interop/until',
      'a value that a later wait has received is discarded too',
      "if (entry === this.entry || typeof this.source === 'function') this.drop",
      'this.drop',
    ],
    [
      'interop/until',
      'a late value of an earlier call is not discarded',
      "entry === this.entry || typeof this.source === 'function'",
      'entry === this.entry',
    ],
    [
      'interop/until',
      'each wait for a promise that others have left adds a reaction to it',
      '!lasting.has(this.promise)) lasting.set(this.promise, this)',
      'this.first === op) this.first = null',
    ],
    [
      'interop/until',
      'those who share a reaction are not told',
      'if (others !== null) for (const op of others) op.answered(answer, value)',
      '',
    ],
    ['interop/until', 'one who has left a shared reaction is still told', 'else this.others?.delete(op)', ''],
    [
      'interop/action',
      'an action that is settled is not cleaned up',
      'this.end(OVER)',
      'this.cleanup = undefined\n      this.end(OVER)',
    ],
    [
      'interop/action',
      'the late value of an action is not discarded',
      'if (answer === settle) op.missed(value as T, fiber)',
      '',
    ],
    [
      'interop/action',
      'the first answer that an action gives at once is replaced by the second',
      'this.early ??= { answer, value }',
      'this.early = { answer, value }',
    ],
    [
      'interop/action',
      'an action that throws loses what it had settled',
      'if (early?.answer === settle) this.answer(settle, early.value)',
      '',
    ],
    ['interop/events', 'listeners stay when the fiber has ended', 'cold.atEnd.add(this.atEnd)', ''],
    [
      'interop/events',
      'an error event that nobody reads is lost',
      'if (this.failure !== null) this.reportFailure(this.failure.error)',
      '',
    ],
    [
      'interop/events',
      'an error event overtakes the events before it',
      'if (unread.size > 0) settle(',
      'if (unread.size > 0 && failure === null) settle(',
    ],
    [
      'interop/listen',
      'a listener stays when the next could not be added',
      'remove()\n    } catch',
      '} catch',
    ],
  ),

  // ---- raw fibers and pending work
  ...rule(
    'S60',
    [
      'core/cleanup',
      'the oldest resource goes first',
      'let cleanup = list.pop()',
      'let cleanup = list.reverse().pop()',
    ],
    [
      'core/cleanup',
      'forced out of one cleanup, the others are not run',
      'if (cleanup !== undefined) continue',
      '',
    ],
    ['core/cleanup', 'an error of a cleanup is lost', 'failed(error)', ''],
    [
      'core/cleanup',
      'the deadline of a stop does not bound the cleanups of its fiber',
      'if (this.stop !== null) this.hurry(this.stop)',
      '',
    ],
    ['core/stop', 'a later stop does not hurry the cleanups', 'hurryCleanups(parent, stop)', ''],
    [
      'core/cleanup',
      'a fiber that has let go of its resources has lost its value',
      'fiber.value = value\n  for (const',
      'for (const',
    ],
    [
      'interop/use',
      'a stop that strikes in use leaves the resource behind',
      'addCleanup(innermostOwner(fiber), this.dispose)',
      '',
      {
        and: [
          [
            'settle(fiber, this, this.resource)',
            'addCleanup(innermostOwner(fiber), this.dispose)\n    settle(fiber, this, this.resource)',
          ],
        ],
      },
    ],
    [
      'core/scope',
      'a scope does not let go',
      'if (this.cleanups !== null) {',
      'if (this.cleanups !== null && this.cleanups.length < 0) {',
    ],
  ),
  ...rule(
    'S61',
    [
      'core/block',
      'a block may be iterated from another fiber',
      'if (baton.fiber !== this.fiber) {',
      'if (baton.fiber === null) {',
    ],
    [
      'core/block',
      'blocks may be left in the wrong order',
      'if (!isInnermost) {',
      'if (!isInnermost && fiber.id < 0) {',
    ],
  ),
  ...rule(
    'S62',
    [
      'core/tree',
      'the heir of a raw fiber does not run next',
      '?.scheduleWithPriority(fiber.value)',
      '?.schedule(fiber.value)',
    ],
    [
      'core/suspend',
      'a raw fiber gives control to main, whoever transferred to it',
      'target.coldRecord().transferrer = fiber',
      '',
    ],
    ['core/suspend', 'the first value is not the argument of a raw body', 'fiber.args = [value]', ''],
    [
      'core/suspend',
      'transfer does not run the other fiber next',
      'wake(target, this.value, true)',
      'wake(target, this.value, false)',
    ],
    [
      'core/tree',
      'the error of a raw fiber goes to main, whoever transferred to it',
      'return raw && transferrer !== null',
      'return !raw && transferrer !== null',
    ],
  ),
  ...rule(
    'S63',
    [
      'core/suspend',
      'an Error given to schedule is returned',
      'value instanceof Error ? ERROR : VALUE',
      'VALUE',
    ],
    [
      'core/suspend',
      'schedule wakes a fiber from any wait',
      'if (!(op instanceof Suspend) || ',
      'if (op === null || ',
    ],
  ),
  ...rule(
    'S64',
    ['time/sleep', 'sleep() does not hold the process', 'fiber.runtime.hold()', '', PROGRAMS],
    [
      'node/signals',
      'whoever waits for a signal does not hold the process',
      'if (held) runtime.hold()\n  else runtime.release()',
      '',
      SIGNALS,
    ],
    [
      'node/signals',
      'a world where a signal is waited for is at its end',
      'runtime.external += held ? 1 : -1',
      '',
    ],
    [
      'time/sleep',
      'a sleep() that was stopped still holds the process',
      'fiber.runtime.release()',
      '',
      PROGRAMS,
    ],
    [
      'node/run',
      'a bare suspend() in main is a deadlock',
      'for (const fiber of roots.filter(isSuspended)) fiber.schedule(undefined)',
      '',
      PROGRAMS,
    ],
    [
      'node/backend',
      'a time-out that was cancelled holds the process',
      'else this.timeout.unref()',
      '',
      PROGRAMS,
    ],
  ),

  // ---- regions
  ...rule(
    'S65',
    [
      'core/gate',
      'of several requested regions the innermost strikes',
      'if (region._phase === REQUESTED) found = region',
      'if (region._phase === REQUESTED) found ??= region',
    ],
    [
      'core/gate',
      'an outer signal cuts the cleanup of an inner region',
      'else if (region._phase !== LIVE || region',
      'else if (region',
    ],
    [
      'core/gate',
      'a forced region does not force what is behind a shield',
      'if (region._phase === FORCED) return true',
      'if (region._phase === FORCED) return true\n    if (region.wall !== OPEN) return false',
    ],
    [
      'core/timeout',
      'moveOnAfter takes the signal of an outer region for its own',
      'const own = this.isOwn(error)',
      'const own = isStop(error)',
    ],
    [
      'core/scope',
      'a scope takes the signal of an outer region for its own',
      'if (isStop(error)) this.passing = error\n',
      'if (isStop(error)) this.passing = null\n',
    ],
    [
      'core/scope',
      'the children of a scope in a forced block have a whole grace',
      'if (fiber._phase !== FORCED && isForced(fiber)) return now',
      '',
    ],
    [
      'core/scope',
      'the children of a scope that is forced are left behind',
      'this.handOver(fiber)\n    }',
      '}',
    ],
  ),
  ...rule(
    'S66',
    [
      'core/tree',
      'a fiber that swallows its stop and returns has a result',
      '} else if (how === VALUE && unwound) how = STOPPED',
      '}',
    ],
    [
      'core/errors',
      'an error that carries the signal as its cause is a failure',
      'thrown = (thrown as { cause?: unknown }).cause',
      'return false',
    ],
    ['core/timeout', 'the Cancel of cancelAfter is thrown at every switchpoint', 'this._phase = LIVE', ''],
    ['core/timeout', 'reset() revives a limit that has expired', ' || this.hasExpired) return', ') return'],
    [
      'core/timeout',
      'a block that was struck and returns gives its own value',
      'struck ? this.value : value',
      'value',
    ],
  ),
  ...rule(
    'S67',
    [
      'core/fiber',
      'a fiber that is being stopped can be raised in',
      'if (this._phase !== P.LIVE) {\n      if (tapped)',
      'if (this._phase >= P.CLOSING) {\n      if (tapped)',
    ],
    [
      'core/step',
      'a fiber raised in before its start runs up to its first switchpoint',
      'if (fiber._phase !== LIVE || fiber.errors !== null) {',
      'if (fiber._phase !== LIVE) {',
    ],
  ),
  ...rule(
    'S68',
    ['core/timers', 'of equal timers the last one set fires first', 'a.seq < b.seq', 'a.seq > b.seq'],
    [
      'core/timers',
      'taking a timer out spoils the order of the others',
      'if (last.index === index) this.up(last, index)',
      '',
    ],
    ['time/sleep', 'a sleep that was stopped leaves its timer', 'fiber.runtime.removeTimer(this)', ''],
    [
      'core/block',
      'a limit that was not needed leaves its timer',
      'if (this.index >= 0) fiber.runtime.timers.remove(this)',
      '',
    ],
  ),
  ...rule(
    'S69',
    [
      'core/op',
      'an op that is looped over is resumed',
      'fiber.op !== op || fiber._state !== RUNNING',
      'fiber.op !== op',
    ],
    [
      'core/step',
      'a wait that is no wait passes for one',
      'if (result !== SUSPENDED || fiber._state === RUNNING) result',
      'if (result !== SUSPENDED) result',
    ],
    [
      'time/sleep',
      'a sleep may be entered twice',
      'if (this.fiber !== null) throw enteredTwice(this, this.fiber)',
      '',
    ],
    [
      'core/block',
      'a block may be entered inside itself',
      'if (by !== null) throw',
      'if (by !== null && by.id < 0) throw',
    ],
    [
      'core/op',
      'an op entered by hand keeps its place when the body goes on',
      'if (fiber._state === WAITING) abortOp(fiber, op)',
      '',
    ],
  ),
  ...rule(
    'S70',
    [
      'core/op',
      'an exception of abort lands in the fiber that called stop',
      'fiber.runtime.uncaught(error, `aborting',
      'if (op !== null) throw error\n    fiber.runtime.uncaught(error, `aborting',
    ],
    [
      'core/op',
      'an exception of discard lands in whoever settled the op',
      'fiber.runtime.uncaught(error, `discarding',
      'if (error !== null) throw error\n      fiber.runtime.uncaught(error, `discarding',
    ],
    [
      'core/tap',
      'an exception of a tap listener lands in the fiber',
      "fiber.runtime.uncaught(error, 'a tap listener threw')",
      'throw error',
    ],
    [
      'core/op',
      'an exception of describe lands in the fiber',
      'return `an op of class',
      'op.describe()\n    return `an op of class',
    ],
  ),

  // ---- sync: queues, locks, conditions, events
  ...rule(
    'Q3',
    [
      'sync/queue',
      'those who wait to shift are not told that the queue is closed',
      "else this.shifters.refuse(this.isOver('shift from'))",
      'else this.shifters.remove(first)',
    ],
    ['sync/queue', 'a closed queue takes items', "if (this._closed) throw this.isOver('push to')", ''],
    [
      'sync/queue',
      'a closed queue cannot be emptied any more',
      'if (queue.size > 0) settle',
      'if (queue.size > 0 && !queue.closed) settle',
    ],
  ),
  ...rule(
    'Q4',
    [
      'sync/queue',
      'close does not release those who wait for room',
      "while (this.pushers.size > 0) this.pushers.refuse(this.isOver('push to'))",
      '',
    ],
    [
      'sync/queue',
      'a larger capacity leaves those who wait for room where they are',
      'this._capacity = checkCapacity(capacity)\n    this.fill()',
      'this._capacity = checkCapacity(capacity)',
    ],
  ),
  ...rule(
    'Q5',
    ['sync/queue', 'one freed slot lets everybody in', 'if (this.items.size >= this._capacity) return\n', ''],
    ['sync/queue', 'delete lets nobody in', 'if (isFound) this.fill()', ''],
    ['sync/queue', 'shift lets nobody in', 'this.shifted++\n    this.fill()', 'this.shifted++'],
    [
      'sync/queue',
      'who is let in loses its item',
      'this.items.push(first.item)\n      this.pushed++',
      'this.pushed++',
    ],
  ),
  ...rule(
    'queue',
    ['sync/queueasync', 'async code that leaves keeps its place in line', 'shifters.remove(place)\n', ''],
    [
      'sync/queue',
      'an item goes into the queue although somebody waits for one',
      'if (this.shifters.first === null) {\n      if (this.items.size',
      'if (this.shifters.first === null || true) {\n      if (this.items.size',
    ],
    [
      'sync/queue',
      'an item that nobody received is dropped',
      'if (item !== END) this.queue.unshift(item as T)',
      '',
    ],
    [
      'sync/queue',
      'waiting for an item counts as cleanup',
      ';(Shift.prototype as { idle: boolean }).idle = true',
      '',
    ],
    ['core/ring', 'unshift puts an item at the end', 'this.items[this.head] = item', 'this.push(item)'],
  ),
  ...rule(
    'X1',
    [
      'sync/mutex',
      'any fiber may unlock it',
      'if (fiber === null || !this.wasForfeited(fiber)) throw',
      'if (fiber === null) throw',
    ],
    ['sync/mutex', 'one unlock is enough', 'if (--this.depth === 0) this.passOn()', 'this.passOn()'],
    [
      'sync/mutex',
      'it is not re-entrant',
      'if (this.isOwner(fiber)) {\n        this.depth',
      'if (this.depth < 0) {\n        this.depth',
    ],
    [
      'sync/mutex',
      'a waiter that leaves keeps its place',
      'this.mutex.withdraw(fiber.value as Place<Claim>)',
      '',
    ],
    [
      'sync/hold',
      'a body that fails keeps the lock',
      'return this.failed(error)\n    }\n    return result.done',
      'throw error\n    }\n    return result.done',
    ],
    [
      'sync/hold',
      'the error of giving back twice replaces that of the body',
      'if (isStop(error)) throw later',
      'throw later',
    ],
    ['sync/hold', 'regions further in hang on one that was left', 'else this.unchain(fiber)', ''],
    ['sync/hold', 'a body that ends keeps the lock', 'result.done ? this.ended(result) : result', 'result'],
    [
      'sync/hold',
      'a plain body keeps the lock',
      'this.leave()\n    DONE.value = returned',
      'DONE.value = returned',
    ],
    ['sync/hold', 'an abandoned body keeps the lock', 'this.letGo(false)', ''],
    [
      'core/op',
      'a lock that is free is taken although a stop is pending',
      'fiber.op === null && fiber.budget > 0',
      'fiber.op === null',
    ],
    ['core/op', 'taking what is free costs no budget', 'fiber.budget--\n', ''],
  ),
  ...rule(
    'X2',
    [
      'sync/mutex',
      'a dead holder is not detected by the next who locks',
      'if (this.isGone(owner)) this.takeFrom(owner)',
      '',
    ],
    [
      'sync/mutex',
      'those who wait are not told that the holder has died',
      'cold.locks.add(this.orphaned)',
      '',
    ],
    [
      'core/tree',
      'a lock left behind waits for the children of its fiber',
      'if (!fiber.willRun) fiber.cold?.ranOut()\n',
      '',
    ],
    [
      'sync/mutex',
      'a new holder is not watched although others wait',
      'if (this.line.size > 0) this.watch()',
      '',
    ],
    [
      'sync/mutex',
      'a restarted fiber still holds it',
      'return this.owner === fiber && this.incarnation === fiber.incarnation',
      'return this.owner === fiber',
    ],
    [
      'sync/mutex',
      'a holder keeps every mutex it ever held',
      'this.watched?.cold?.locks?.delete(this.orphaned)',
      '',
    ],
    [
      'sync/mutex',
      'nobody hears of a lock that was taken from the dead',
      "owner.runtime.report({\n      kind: 'held',",
      'void ({',
    ],
  ),
  ...rule(
    'semaphore',
    [
      'sync/semaphore',
      'a larger limit lets nobody in',
      '    this.admit()\n  }\n\n  /** Permits that can',
      '  }\n\n  /** Permits that can',
    ],
    [
      'sync/semaphore',
      'a smaller limit is ignored while somebody waits',
      'while (this.line.size > 0 && this.tryAcquire()) {',
      'while (this.line.size > 0 && (this.tryAcquire() || ++this.used > 0)) {',
    ],
    ['sync/semaphore', 'a permit that nobody received is lost', 'this.semaphore.release()\n', ''],
    [
      'sync/semaphore',
      'more may be released than was acquired',
      'if (this.used === 0) {',
      'if (this.used < 0) {',
    ],
  ),
  ...rule(
    'X4',
    ['sync/condition', 'wait keeps the mutex', "this.mutex?.giveUp(fiber, 'wait with') ?? 0", '0'],
    [
      'sync/condition',
      'wait goes on without the mutex',
      'if (this.relock(fiber)) settle(fiber, this, value)',
      'settle(fiber, this, value)',
    ],
    [
      'sync/condition',
      'a stop strikes before the mutex is back',
      'if (fiber.how === ABORTING) return LATER',
      '',
    ],
    [
      'sync/condition',
      'a mutex locked twice comes back locked once',
      'this.mutex.claim(fiber, this)) return true',
      'this.mutex.claim(fiber, { depth: 1, answer: this.answer })) return true',
    ],
    [
      'sync/condition',
      'a fiber that was forced out stays in the line for the mutex',
      'mutex?.withdraw(place)',
      '',
    ],
    [
      'sync/condition',
      'the unlock of a fiber that was forced out fails',
      'mutex?.forfeit(fiber, this.depth)',
      '',
    ],
  ),
  ...rule(
    'X5',
    ['sync/condition', 'a stopped waiter eats the next signal', 'this.condition.line.leave(fiber)\n', ''],
    [
      'sync/condition',
      'a signal is lost with a fiber that is stopped before it has the mutex',
      'this.condition.wakeOne(this.answer as V)',
      'void 0',
    ],
    ['sync/condition', 'broadcast wakes one', 'for (let i = 0; i < size; i++) this', 'if (size > 0) this'],
  ),
  ...rule(
    'X6',
    [
      'sync/event',
      'a signal that nobody waits for is lost',
      'this.isLatch || this.line.size === 0',
      'this.isLatch',
    ],
    ['sync/event', 'an event does not reset itself', 'if (!this.isLatch) this.reset()', ''],
    ['sync/event', 'a latch resets itself', 'if (!this.isLatch) this.reset()', 'this.reset()'],
    [
      'sync/event',
      'a signal wakes one',
      'for (let waiting = this.line.size; waiting > 0; waiting--) this',
      'this',
    ],
    ['sync/event', 'a signal that nobody received is lost', 'this.event.putBack(value as T)', ''],
  ),
  // ---- time, and the testing room
  ...rule(
    'time',
    [
      'time/loops',
      'a loop drifts by the time its body takes',
      'due += interval',
      'due = runtime.now() + interval',
    ],
    ['time/loops', 'a loop makes up for the ticks that it missed', 'due = now\n', ''],
    ['time/loops', 'after runs its body at once', 'yield* new Sleep(ms)', ''],
  ),
  ...rule(
    'explore',
    [
      'testing/explore',
      'the explorer leaves out some schedules',
      'if (choice >= (widths[i] as number)) continue',
      'if (choice >= (widths[i] as number) - 1) continue',
    ],
    [
      'testing/explore',
      'the explorer does not count preemptions',
      'if (before.filter((c) => c !== 0).length + 1 > preemptions) continue',
      '',
    ],
    [
      'testing/explore',
      'a trace does not repeat its schedule',
      'trace === undefined ? [] : readTrace(trace)',
      'trace === undefined ? [] : (readTrace(trace), [] as number[])',
    ],
    ['testing/explore', 'the explorer does not look for what is left behind', 'world.checkLeaks()', ''],
  ),
  ...rule(
    'everywhere',
    [
      'testing/everywhere',
      'the first switchpoint is not disturbed',
      'if (seen++ === at) disturb',
      'if (seen++ === at && at > 0) disturb',
    ],
    [
      'testing/everywhere',
      'stopEverywhere does not stop main',
      '(_, main) => void main.stop()',
      '(fiber) => void fiber.stop()',
    ],
    [
      'testing/everywhere',
      'a scenario that fails by itself passes',
      'return at >= 0 && (',
      'return at < 0 || (',
    ],
    ['testing/everywhere', 'a disturbed scenario may leave things behind', 'world.checkLeaks()', ''],
    [
      'testing/everywhere',
      'a fiber that had to be forced or abandoned passes',
      'if (abandoned !== undefined) throw',
      'if (abandoned !== undefined && at < -1) throw',
    ],
    [
      'core/runtime',
      'only some switchpoints are seen by the probe',
      'this.probe === null ? BUDGET : 0',
      'BUDGET',
    ],
  ),
  ...rule(
    'virtual',
    ['testing/virtual', 'virtual does not look for what is left behind', 'world.checkLeaks()', ''],
    ['testing/seed', 'a seed does not shuffle', 'Math.floor(next() * Math.min(queue.size, REACH))', '0'],
    ['testing/virtual', 'POLY_SEED is ignored', 'options.seed ?? seedFromEnvironment()', 'options.seed'],
    [
      'testing/world',
      'the virtual clock jumps too far',
      'Math.max(backend.time, runtime.nextTimer)',
      'runtime.nextTimer + 1',
    ],
  ),
  ...rule(
    'sequence',
    [
      'testing/sequence',
      'sequence points are passed in any order',
      'while (next !== i) yield* suspend()',
      '',
    ],
    ['testing/sequence', 'a sequence point may be passed twice', 'i < next || ', ''],
  ),

  // ---- iteration and combinators
  ...rule(
    'S22',
    [
      'combine/team',
      'errors of other members are not kept beside the one that is thrown',
      'for (const error of errors) keepBeside(this.host, failure?.error, error)',
      '',
    ],
    [
      'combine/team',
      'an error in the cleanup of a loser is dropped',
      'if (!isStopped && thrown === undefined && failure !== undefined) throw failure.error',
      '',
    ],
    [
      'combine/team',
      'errors of members are lost when a stop goes through',
      'if (isStopped && failure !== undefined) queueError(this.host, failure.error, true)',
      '',
    ],
    [
      'combine/contest',
      'any and allSettled throw what members did by themselves',
      'if (this.options.isTolerant) member',
      'if (this.alive < 0) member',
    ],
    [
      'combine/contest',
      'an error in cleanup counts as one that was to be expected',
      "if (phase === 'live' || phase === 'requested') contest",
      'contest',
      { and: [['const { phase } = Fiber.current\n', '']] },
    ],
  ),
  ...rule(
    'S31',
    [
      'combine/team',
      'fibers that are not ours are stopped too',
      'if (isOurs && outcome === null) fiber.stop',
      'if (outcome === null) fiber.stop',
    ],
    [
      'combine/contest',
      'the error of a fiber that is not ours is kept from its parent once the matter is decided',
      'if (this.missing > 0) return\n    this.letOthersGo()',
      'if (this.missing > 0) return',
    ],
    [
      'combine/all',
      'all takes a member that was stopped for one with a value',
      'return !member.hasValue',
      "return member.outcome?.type === 'error'",
    ],
  ),
  ...rule(
    'S37',
    [
      'combine/race',
      'losers are waited for, not stopped',
      'this.stopOurs(',
      'if (this.alive < 0) this.stopOurs(',
    ],
    [
      'combine/team',
      'values of losers are not discarded',
      'if (member.outcome !== null) this.drop(member)',
      'if (member.outcome !== null) return',
    ],
    [
      'combine/team',
      'the value of a winner that came too late is not discarded',
      'member.isTold && !isStopped && failure === undefined',
      'member.isTold',
    ],
    [
      'combine/team',
      'the value of the winner is discarded as well',
      'const isReceived = member.isTold && !isStopped && failure === undefined',
      'const isReceived = false',
    ],
    [
      'combine/race',
      'any takes the first that ends, also by an error',
      'return member.hasValue',
      'return true',
    ],
  ),
  ...rule('S58', [
    'combine/contest',
    'a promise that nobody came to wait for is not taken care of',
    'if (!this.started.has(item)) (item',
    'if (this.alive < 0) (item',
  ]),
  ...rule(
    'S59',
    ['interop/iterate', 'each does not let go of its source', '() => source.close(),', '() => {},'],
    [
      'interop/sources',
      'an item that comes while nobody waits is lost',
      'this.kept = { item: item as T }',
      'this.kept = null',
    ],
    ['interop/sources', 'leaving waits for ever', 'if (grace === Infinity) {', 'if (grace >= 0) {'],
    [
      'interop/iterate',
      'a Node stream is left as any async iterator',
      "=== 'function') stream.destroy()",
      "=== 'symbol') stream.destroy()",
    ],
    [
      'interop/iterate',
      'a web stream is left as any async iterator',
      'if (isWebStream(some))',
      'if (isWebStream(some) && some.locked)',
    ],
    ['interop/sources', 'waiting for an item is not refused in cleanup', '.idle = true', '.idle = false'],
    [
      'interop/iterate',
      'each goes on when a plain body returns false',
      'if (returned === false) return\n',
      '',
    ],
    [
      'interop/sources',
      'a source that has ended is closed all the same',
      "if (this.phase === 'over') return\n    this.kept = null",
      'this.kept = null',
    ],
  ),
  ...rule(
    'forEach',
    [
      'combine/foreach',
      'items are taken by several at a time',
      'if (this.isTaken) this.line.join(fiber, undefined)',
      'if (this.isTaken && this.line.size < 0) this.line.join(fiber, undefined)',
    ],
    ['combine/foreach', 'messages of an item reach the next', 'fiber._mailbox !== null || ', ''],
    ['combine/foreach', 'there is no limit', 'this.alive < this.concurrency', 'this.concurrency > 0'],
    ['combine/foreach', 'workers are hired ahead of items', 'this.free <= 0 && ', ''],
    ['combine/foreach', 'what a body spun lives on', 'fiber.newest !== null || ', ''],
    ['combine/foreach', 'local values of an item reach the next', ' || fiber.cold !== null', ''],
    [
      'combine/foreach',
      'a worker that was stopped is not missed',
      "if (member.outcome?.type !== 'value')",
      "if (member.outcome?.type === 'error')",
    ],
    ['combine/foreach', 'the source is not let go', '() => source.close(),', '() => {},'],
    ['combine/foreach', 'no switchpoint between items', 'yield* BETWEEN\n', ''],
  ),
  ...rule(
    'retry',
    ['combine/retry', 'a stop is tried again', 'isStop(error) || unwindingRegion(host) !== before', 'false'],
    [
      'combine/retry',
      'a cleanup that fails as it is stopped is tried again',
      ' || unwindingRegion(host) !== before',
      '',
    ],
    ['combine/retry', 'one try too many', 'attempt >= times', 'attempt > times'],
    [
      'combine/retry',
      'earlier errors are lost',
      'for (const other of earlier) keepBeside(host, last, other)',
      '',
    ],
    ['time/backoff', 'jitter makes waits longer', '(1 - jitter', '(1 + jitter'],
    ['time/backoff', 'the wait does not grow', 'failures - 1', '0'],
  ),
  // ---- resource pools
  ...rule(
    'P1',
    [
      'sync/lease',
      'a nested acquire waits for another resource',
      'const slot = slotOf(fiber, stock) ?? this.take(fiber)',
      'const slot = this.take(fiber)',
    ],
    [
      'sync/lease',
      'a nested acquire gives the resource of the outer one back',
      'if (slot.holder !== this) return',
      '',
    ],
    [
      'sync/stock',
      'more resources are created than the limit allows',
      'if (this.slots.size >= this.limit) return undefined',
      'if (this.slots.size > this.limit) return undefined',
    ],
    ['sync/hold', 'a resource is not given back when the body throws', 'try {\n      this.leave()', 'try {'],
    ['sync/hold', 'an abandoned body keeps its resource', 'this.letGo(false)', ''],
    [
      'sync/lease',
      'the resource of an abandoned body is handed out',
      'if (!isSound && slot.phase === USED) slot.phase = DOOMED',
      '',
    ],
  ),
  ...rule(
    'P2',
    [
      'sync/stock',
      'a slot that comes empty is not offered to the line',
      'if (isWanted) this.handOver(slot)\n    else ',
      '',
    ],
    [
      'sync/stock',
      'a create that failed keeps its slot',
      'if (slot.phase === EMPTY) this.vacate(slot)',
      'if (slot.phase === EMPTY) return',
    ],
    ['sync/upkeep', 'a late resource is lost', '(late) => stock.adopt(late)', '() => {}'],
    [
      'sync/upkeep',
      'create is not told that nobody waits for it',
      'controller.abort(Fiber.current.stopReason)',
      'void 0',
    ],
    ['sync/stock', 'a late resource goes beyond the limit', 'if (!isWelcome) slot.phase = DOOMED', ''],
    [
      'sync/lease',
      'a slot that nobody receives is lost',
      'if (slot !== undefined && slot.holder === null) this.stock.putBack(slot)',
      '',
    ],
  ),
  ...rule(
    'P3',
    [
      'sync/upkeep',
      'a check that fails lets the resource through',
      '() => false,\n    )',
      '() => true,\n    )',
    ],
    [
      'sync/upkeep',
      'a resource whose check was left in the middle is handed out',
      'slot.phase = CHECKING\n',
      '',
      { and: [['slot.phase !== CHECKING) return false', 'slot.phase !== USED) return false']] },
    ],
    ['sync/stock', 'idle resources live for ever', 'this.sweepAt(this.endOf(slot))', ''],
    ['sync/stock', 'a worn resource is handed on', '&& !this.isWorn(slot)', ''],
    [
      'sync/stock',
      'the timer of idle resources holds the program',
      'this.runtime?.addWeakTimer',
      'this.runtime?.addTimer',
    ],
    [
      'sync/stock',
      'who waits in line is not limited in time',
      'if (this.acquireTimeout !== Infinity) runtime.addTimer',
      'if (this.acquireTimeout === 0) runtime.addTimer',
    ],
    [
      'sync/upkeep',
      'a create that never answers is waited for',
      'if (stock.acquireTimeout === Infinity) yield*',
      'if (stock.acquireTimeout > 0) yield*',
    ],
    [
      'sync/upkeep',
      'an error of destroy is lost',
      'runtime.uncaught(error',
      '((..._: unknown[]) => {})(error',
    ],
    [
      'sync/stock',
      'closing forgets those in line',
      'this.line.refuse(',
      'this.line.leave(fiber)\n      ;((_: unknown) => {})(',
    ],
  ),

  // ---- throttlers
  ...rule(
    'T8',
    [
      'time/throttler',
      'a late timer moves the grid',
      'this.late = now - (this.cursor - this.early)\n',
      'this.late = 0\n      this.cursor = Math.max(this.cursor, now)\n',
    ],
    [
      'time/throttler',
      'turns that nobody wanted are kept',
      'this.cursor = Math.max(this.cursor, now)',
      'if (this.cursor === -Infinity) this.cursor = now',
    ],
    [
      'time/throttler',
      'who comes later may overtake the line',
      'if (this.line.first !== null) return false',
      '',
    ],
    [
      'time/throttler',
      'a second may see more than rate and burst',
      'return Math.max(this.cursor - this.early, this.second.next)',
      'return this.cursor - this.early',
    ],
    ['time/throttler', 'a long halt is caught up with', 'if (this.late > LATENESS)', 'if (this.late < 0)'],
    [
      'time/throttler',
      'the last waiter leaves its timer behind',
      'if (this.line.first === null) fiber.runtime.removeTimer(this.alarm)',
      '',
    ],
    [
      'time/throttler',
      'the burst is one too many',
      '(this.burst - 1) * this.interval',
      'this.burst * this.interval',
    ],
  ),

  // ---- datagrams and names
  ...rule(
    'I8',
    [
      'io/udp',
      'datagrams are kept without a limit',
      'this.unread.size >= this.capacity',
      'this.unread.size >= Infinity',
    ],
    ['io/udp', 'a dropped datagram is not counted', 'this.dropped++', ''],
    ['io/udp', 'who leaves keeps its place in line', 'this.waiters.leave(fiber)\n', ''],
    ['io/udp', 'a wait that is over goes on holding the process', 'runtime.release()', ''],
    ['io/udp', 'an open socket holds the process', 'socket.unref()\n    socket.on', 'socket.on'],
    [
      'io/udp',
      'a waiting fiber does not hold the process',
      'fiber.runtime.hold()',
      '',
      { and: [['runtime.release()', '']] },
    ],
    [
      'io/udp',
      'an error that came while nobody waited is lost',
      'this.trouble = told',
      'this.trouble = null',
    ],
    [
      'io/udp',
      'an error is told again and again',
      'this.trouble = null\n      throw trouble',
      'throw trouble',
    ],
    [
      'io/udp',
      'a datagram taken by a broken loop is lost',
      'if (value !== OVER) this.socket.putBack(value as Datagram)',
      '',
    ],
    [
      'io/udp',
      'closing leaves those who wait in line',
      "else this.refuse(place, this.isOver('recv'))",
      'else break',
    ],
    [
      'io/udp',
      'closing does not wait for what is being sent',
      'if (this.sending.size === 0) this.destroy()\n  }',
      'this.destroy()\n  }',
    ],
    ['io/udp', 'closing leaves a loop in an error', 'new Recv(this, OVER))', 'new Recv(this, undefined))'],
    [
      'io/udpopen',
      'a socket that was refused stays open',
      'letGo(socket)\n      attempt.fail',
      'attempt.fail',
    ],
    [
      'io/udpsend',
      'a stop cuts a datagram that the system is taking',
      'return LATER',
      'return undefined as unknown as typeof LATER',
    ],
    ['io/request', 'an answer to an earlier wait ends a later one', 'if (this.isOver) return false', ''],
    [
      'io/lookup',
      'an address of the wrong kind passes',
      'if (family !== undefined && family !== literal) {',
      'if (family === literal && family !== literal) {',
    ],
  ),

  // ---- copying and compressing
  ...rule(
    'I5',
    [
      'io/engine',
      'an engine that calls back while it is asked answers twice',
      'this.fiber = null\n    let',
      'let',
    ],
    ['io/engine', 'a wait that is over goes on holding the process', 'runtime.release()', ''],
    ['io/engine', 'a cut input is corrupt', "cause.code === 'Z_BUF_ERROR'", "cause.code === 'Z_BUF'"],
    [
      'io/zip',
      'what comes after the end is ignored',
      'engine.leftover > 0 && !mayTrail',
      'engine.leftover < 0',
    ],
    ['io/zip', 'there is no limit', 'if (total > limit)', 'if (total > Infinity)'],
    ['io/zip', 'the limit is one too small', 'if (total > limit)', 'if (total >= limit)'],
    ['io/zip', 'an engine is left behind', 'engine.destroy()', ''],
    ['io/zip', 'every piece gets a header', 'total === 0 && dress', 'total >= 0 && dress'],
    [
      'io/zip',
      'output is made faster than it is taken',
      'else yield* dst.write(output)',
      'else dst.tryWrite(output)',
    ],
    ['io/gzipheader', 'the header is looked for in one chunk only', 'Buffer.concat([seen, chunk])', 'chunk'],
    ['io/gzipheader', 'extra bytes are taken for the name', 'at += 2 + bytes.readUInt16LE(at)', 'at += 2'],
    ['io/gzipheader', 'the time is in milliseconds', 'Number(mtime) / 1000', 'Number(mtime) / 1'],
  ),
  ...rule(
    'I6',
    ['io/copy', 'one chunk too many is copied', 'Math.min(chunk, max - total)', 'chunk'],
    ['io/copy', 'the target is always ended', 'if (end) yield* dst.end()', 'yield* dst.end()'],
    ['io/copy', 'the target is not waited for', 'return dst.write(bytes)', 'return void dst.tryWrite(bytes)'],
    ['io/copy', 'bytes that are there already are copied again and again', 'this.taken += chunk.length', ''],
  ),
  // ---- sockets and servers
  ...rule(
    'S35 sockets',
    [
      'io/connect',
      'a connection that nobody waits for any more is left open',
      'abort(fiber: Fiber): void {\n    this.socket?.destroy()',
      'abort(fiber: Fiber): void {',
    ],
    ['io/connect', 'a connect that is over leaves its timer', 'runtime.removeTimer(this)', ''],
    [
      'io/listen',
      'a server that is ready too late listens for ever',
      'node.close() // it was looking up',
      '// it was looking up',
    ],
  ),
  ...rule(
    'I8',
    [
      'io/server',
      'a closed server forgets those in its backlog',
      'while (this.backlog.size > 0) this.backlog.shift().destroy()',
      '',
    ],
    [
      'io/server',
      'the backlog has no bound',
      'this.backlog.size >= this.maxBacklog',
      'this.backlog.size < 0',
    ],
    [
      'io/server',
      'connections take the last descriptors',
      'descriptorOf(accepted) >= descriptorBound()',
      'descriptorOf(accepted) > descriptorBound() * 1000',
      { also: ['io/processes'] },
    ],
    [
      'io/socket',
      'a socket without the shared buffer is not read',
      "if (!isShared) socket.on('data', receivedData)",
      '',
    ],
    [
      'io/socket',
      'a socket without the shared buffer reads ahead without bound',
      'if (this[STREAM]?.received(bytes, true) === false) this.pause()',
      'this[STREAM]?.received(bytes, true)',
    ],
    [
      'io/socket',
      'a socket that is closed has forgotten whose it was',
      'if (path === undefined) socket.remoteAddress',
      '',
    ],
    ['io/acceptloop', 'a loop that ends waits for one more connection', 'server.dismiss(loop)', ''],
    [
      'io/acceptloop',
      'a loop that is stopped keeps its room',
      'room?.release()\n        if (socket !== undefined)',
      'if (socket !== undefined)',
    ],
    [
      'io/acceptloop',
      'a connection for a loop that has ended is lost',
      'if (socket !== undefined) server.putBack(socket)',
      '',
    ],
    [
      'io/acceptloop',
      'a connection is left open when its body is over',
      'yield* socket.close()\n      } finally {\n        socket.destroy()',
      '} finally {',
    ],
  ),
  ...rule('I9', ['io/listen', 'the backlog is short', 'const BACKLOG = 1024', 'const BACKLOG = 128']),
  ...rule('S29 sockets', [
    'io/acceptloop',
    'that the other side went away is reported',
    'if (socket.isLostBy(error)) return',
    '',
  ]),
  ...rule('S06 sockets', [
    'io/acceptloop',
    'a loop that is forced to end spins a fiber',
    ' || isForced(loop)',
    ' || (isForced(loop) && isOver)',
  ]),
]
