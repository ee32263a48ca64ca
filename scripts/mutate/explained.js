// Survivors that no test can notice, or need not, and why. An entry covers the mutants whose key matches: the file, the
// function, the operator and the text of the place. `npm run mutate` names entries that cover nothing any more.

/** @type {{ why: string, keys: (string | RegExp)[] }[]} */
const EXPLAINED = [
  {
    why: 'Belt and braces: another place has seen to it before, or does so a moment later.',
    keys: [
      /^\S+ force never region\._phase >= FORCED$/,
      /^\S+ die without forgetRestart\(fiber\);( #2)?$/,
      /Watch\.end without this\.watcher = null;/, // to leave a list twice does nothing
      /CleanupList\.moveTo without this\.remove\(cleanup\);/, // the list that they were in is used no more
      /Scope\.begin without this\.cleanups = null;/,
      /restoreBudget without fiber\.budget = 0;/, // what was pending has set it to 0 already
      /armDeadline never region\._phase === FORCED \|\| region\.stopSignal === null/,
      /Ladder\.fire never is(Left|Forced)/, // the next step of the fiber disarms it
      /Ladder\.disarm without this\.leaveAt = Infinity;/,
      /^\S+ append without node\.after = null;$/, // a node that leaves a list keeps no link
      /Limit\.passedBy never isStop/, // what fires then finds that it has nothing to say
      /Mutex\.withdraw never this\.line\.size === 0/,
      /releaseTies without rare\.stopListening = null;/, // to end the listening twice does nothing
      /carries never typeof thrown !== 'object' \|\| thrown === null/,
      /suppress never \(typeof first !== 'object' && typeof first !== 'function'\) \|\| first === null/,
      /ChildrenGone\.enter never this\.scope\.newest === null/,
      /Scope\.begin without this\.gone = null;/,
      /Runtime\.turn without this\.awake = true;/,
      /wake never fiber\._phase !== LIVE/,
      /Contest\.began without this\.started\.add\(item\);/,
      /attempt without contest\.began\(item\);/,
      /ForEach\.tell without member\.isTold = true;/,
      /Throttler\.serveRuntime without this\.late = 0;/,
      /Throttler\.(isReady|pass) never this\.isUnlimited/, // without a limit the sums come to the same
      /Wait\.abort without this\.over\(\);/, // the next wait of the fiber does it
      /SubmitAsync\.abort without this\.acceptance\?\.leaveLine\(fiber\);/, // its future is cancelled, and with it all that wait
      /Write\.next other this\.stream\.hasRoom/, // a write that has to wait is entered in any case
      /Wait\.enter without this\.isSingle = false;/,
      /(Connect|Listen)\.(discard|late) without/,
      /Connect\.over without this\.waiting = null;/, // an attempt that is over takes no answer
      /acceptLoop\.handle never !socket\.isLostBy\(error\)/,
      /Server\.connected without accepted\.destroy\(\);/,
      /Server\.destroy never !this\.isOpen/,
      /^\S+ failed never stream === null/,
      /SocketChannel\.pause without this\.socket\.pause\(\);/,
      /SocketChannel\.destroy (without this\.drop\(\);|never this\.socket\.closed)/,
      /Connect\.constructor (without socket\.off\(|other this\.tls === undefined)/, // a listener that answers no op
      /Connect\.constructor never waiting === null/,
      /Listen\.start never this\.node !== node/,
      /Listen\.start without node\.close\(\);$/,
      /Listen\.cancel without this\.node\?\.close\(\);/,
      /Handshakes\.begin never socket\.destroyed/,
      /Handshakes\.secured without secure\.destroy\(\);/,
      /Handshakes\.close without this\.admit = null;/,
      /Worker\.drop without this\.batch = null;$/,
      /^\S+ work without worker\.batch = null; #2$/,
      /^\S+ endAfter without front\.end\(\);$/,
      /Front\.over never batch\.index < 0$/,
      /Front\.over without batch\.index = -1;$/,
      /Front\.over never batch\.lane\.isReady$/,
      /Lane\.hurry without this\.disarm\(\);$/,
      /Future\.accepted without extras\.submitter = null;$/,
      /SubmitAsync\.handIn without future\.extras\.submitter = null;$/,
      /Submit(Async)?\.(abort|accepted|settled) without this\.owner = null;$/,
      / Wait\.abort without this\.fiber = null;$/,
      /Engine\.feed never error/,
      /FileCall\.(discard without|enter without this\.left = false)/, // an opening in vain closes its file itself
      /Opening\.hurry without this\.isVain = true;/,
      /FileChannel\.(next without this\.isEnding = false|closeNow without this\.underway)/,
      /FileChannel\.failedToWrite without this\.batch = \[\];/,
      /Intake\.(find|chunk|line) never this\.text !== ''/, // its size was looked at before
      /NodeChannel\.(resume never this\.flow === FLOWING|pause never this\.flow !== FLOWING)/,
      /Front\.kill never !this\.end\(\)/,
      /MemoryChannel\.(destroy|shut|reset) without this\.phase = CLOSED;/,
      /MemoryChannel\.destroy without this\.(outward|inward)\.shut\(\);/, // the other side was reset before
      /NodeChannel\.constructor never error == null && this\.writable\.writableLength === 0/,
      /NodeChannel\.input without this\.flow = IDLE;/,
      /NodeChannel\.write never typeof chunk === 'string'/,
      /NodeChannel\.watch without this\.isOpen = false;/,
      /NodeChannel\.close (never writable\.writableEnded|without writable\.once)/,
      /OutputChannel\.constructor (never error|without this\.failed\(error\);)/,
      /SendingChannel\.drop without/,
    ],
  },
  {
    why: 'Memory only: it lets go of something early, or uses memory again; nothing reads it before it is set anew.',
    keys: [
      /Reaction\.tell never spares\.length < MAX_SPARES/,
      /releaseTies without rare\.monitoring = null;/,
      /Runtime\.arrive without DONE\.value = undefined;/,
      /Runtime\.(turn never this\.stride === RENEWAL|renew without changeCurrent)/, // young objects are only faster
      /reincarnate without fiber\.value = undefined;/,
      /forget without fiber\.value = undefined;/,
      /Block\.leave without this\.(inner|outer) = null;/,
      /Block\.abandon without this\.inner = null;/,
      /CleanupList\.start without fiber\.value = undefined;/,
      /Attempt\.end without this\.cleanup = undefined;/,
      /Events\.stopListening without this\.unsubscribe = null;/,
      /Reaction\.tell without this\.promise = this\.first = /,
      /ForEach\.judge without this\.members\.delete\(member\);/,
      /Event\.reset without this\.value = undefined;/,
      /PoolAcquire\.left without this\.held = undefined;/,
      /PoolState\.afterDestroy without slot\.resource = undefined;/,
      /Mutex\.passOn without this\.depth = 0;/,
      /adopt without inside\._handle = null;/,
      /Connect\.over without this\.socket = null;/,
      /Listen\.over without this\.node = null;/,
      /UdpSocket\.destroy without this\.closing\.clear\(\);/,
      /Callers\.returned without this\.free\.push\(place\);$/,
      /Eventual\.tell without this\.line = null;$/,
      /Eventual\.resolve without this\.deferred = null;$/,
      /Future\.settle without this\.extras = null;$/,
      /Lane\.clear without this\.probe = null;$/,
      /Limits\.end without this\.unlisten = null;$/,
      / Trap\.handle without onEnd\(fiber, \(\) => this\.handlers\.delete\(fiber\)\);$/, // to stop a dead fiber does nothing,
      / Supervisor\.countRestart never restarts === Infinity$/,
      / Supervisor\.drop never this\.children === undefined$/, // test/programs/memory looks at that
      / Supervision\.abandon without super\.abandon\(errors\);$/, // the block has no limit, and is never entered again
      /^\S+ (lend|giveBack|loseLent) (never (lent !== undefined|count === MOST)|without (count|free))/,
      /Borrow\.receive (never isOwned|without this\.lent = lend)/,
      /Borrow\.(feed without this\.cutBefore|giveBack (never|without this\.chunk|without giveBack|without loseLent)|lose )/,
      /Intake\.clear without this\.(isShared = false|wides\?\.close\(\))/,
      /Intake\.done without this\.wides\?\.close\(\)/,
      /WideFinder\.close without this\.chunk = this\.words = null;/,
      /^\S+ looping without next\.(giveBack|lose)\(\);/,
      /^\S+ askOnFiber without onEnd\(/, // to stop a dead fiber does nothing
      /Inflow\.recycle without this\.intake\.recycle/,
      /^\S+ recycle never kept/,
      /FileChannel\.constructor (never !isTaken|without (this\.buffer = NO_BYTES|isTaken = ))/,
      /Duct\.shut without this\.chunks\.length = 0;/,
      /^\S+ contents other length > bytes\.length \/ 2/,
    ],
  },
  {
    why: 'A shortcut: the longer way comes to the same, more slowly.',
    keys: [
      / isInContext never ID_KEYS\.every/, // no storage was ever used, so no resource has one
      / Supervisor\.bringForward never group\.length === 1$/,
      / replace without isDraft = false;/, // the draft is looked for in vain
      / checkBody never typeof body === 'function' && isGeneratorFunction\(body\)/,
      / flushSoon never dirty\.push\(channel\) > 1/,
      /FileChannel\.readOn without this\.readAhead = 2/,
      /Inflow\.(readyLine other|received never first !== null)/,
      /^\S+ Ladder\.stopWaiting never this\.leaveAt === Infinity$/,
      /deliver never op === RECEIVE && rare === null/,
      /suppress never list === before && !Object\.isFrozen\(before\)/,
      /Block\.advance never this\.isNative$/,
      /Block\.drive never result === SUSPENDED && this\._phase !== FORCED$/,
      /BaseOp\.handOut never !debugging$/,
      /Ring\.remove never index < size \/ 2$/,
      /Runtime\.tellTimers without this\.toldChanges = /,
      /refuseCircle never next\?\._state !== WAITING \|\| next\.op\?\.waitsOn == null$/,
      /Until\.longWay never this\.reaction !== null$/,
      /PoolLifecycle\.prepare never pool\.acquireTimeout === Infinity$/,
      /^\S+ looping never result instanceof BaseOp$/,
      /^\S+ checkChunks never typeof chunks === 'string'/,
      /Run\.return never this\.isNative$/,
      /LateOp\.drop never this\.discard === undefined/,
      /Runtime\.arrive never fiber\.rare === null/,
      /Scope\.endChildren (never this\.stage === ENDING|without this\.childrenEndAt = deadline;)/,
      /^\S+ tell never fiber\.lastListener === null$/,
      /^\S+ settleRest without yield\* SNOOZE;$/,
      /Until\.next never fiber !== null && fiber\.op === this/,
      /Reaction\.(join never this\.first === null|tell never (first !== null && others === null|isPlain))/,
      /Until\.next without fiber\.budget--;/, // it waits, and so lets others run anyway
      /Runtime\.turn never fiber\.rare === null/,
      /live without backend\.onTimer = /,
      /live never backend\.onTimer !== null/,
      /Contest\.work never this\.missing === 0/,
      /ForEach\.put never value === undefined/,
      /Team\.discardLater never this\.discard === undefined/,
      /passesCheck never typeof answer !== 'object' \|\| answer === null/,
      /Batch\.settleAll never open === 0$/,
      /^\S+ isError never typeof result/,
      /Eventual\.wait never this\.waiter === null && this\.line === null$/,
      /Front\.hasRoom never lanes\.length === 1$/,
      /Front\.refuseSubmit never !this\.isInside/,
      /Histogram\.quantile never left === 0$/,
      /Callers\.wake never this\.isWaking \|\|/,
      /Callers\.wake without this\.isWaking = true;$/,
      /Crew\.wake never this\.isWaking \|\|/,
      /Crew\.wake without this\.isWaking = true;/,
      /Front\.wake never this\.isAsking$/,
      /Front\.wake without this\.isAsking = true;$/,
      / NodeBackend\.arm without this\.armedFor = time;$/,
      /^\S+ copying never max === Infinity/,
      /Intake\.bytes never first\.length === count/,
      /Intake\.wideLine without this\.findWide\(end\);/,
      /WideFinder\.open without this\.chunk = chunk;/,
      /FileChannel\.(constructor|seek) .*(fullReads|count === buffer\.length|this\.readAhead = 2)/,
      /SendingChannel\.write without this\.isDirty = true;/,
      /SendingChannel\.writeLarge (never this\.waiting === 0|without socket\.cork)/,
      /SendingChannel\.copy never this\.from === this\.to/,
      /SendingChannel\.put never typeof outbox === 'string'/,
      /SendingChannel\.keepArena without this\.isSlow = true;/,
      /^\S+ flushAll never dirty\.length === 0/,
    ],
  },
  {
    why: 'Cannot happen: only a fiber whose slot has no check is ready, workers end together, an ended source hires no worker.',
    keys: [
      /PoolLifecycle\.isGood never check === undefined/,
      /Turn\.abort without this\.line\.leave\(fiber\);/,
      /ForEach\.end without this\.free--;/,
      /Event\.putBack never this\.signaled/,
    ],
  },
  {
    why: 'Only on another system, or on another version of Node, does it make a difference.',
    keys: [
      /adopt never onread === undefined/,
      /adopt without adoption\.works = false;/,
      /adopt never socket\._handle !== handle/,
      / isInContext never FRAME_KEY !== undefined$/, // Node 24
      / hasStores (never frame !== undefined|without isFound \|\|= )/,
      /Listen\.target other reusePort === undefined/,
    ],
  },
  {
    why: 'Only the words of a message, or the moment at which a header is told, differ.',
    keys: [
      /^\S+ readLines other typeof from === 'string'/,
      /NodeChannel\.watch never hasEnded\(stream\)/,
      /^\S+ headerWriter never name === undefined/,
      /^\S+ parse .*HAS_CHECK/,
    ],
  },
  {
    why: 'The system takes part of a write, or nothing of one whose beginning is in the arena: no test can force it to.',
    keys: [
      /FileChannel\.constructor (without (left -=|piece\.bytes =|this\.writeBatch)|never (batch\.length > 0|piece\.position))/,
      /FileChannel\.failedToWrite without this\.receiver\.drained/,
      /SendingChannel\.writeLarge never isBorrowed/,
    ],
  },
  {
    why: 'A datagram is put back in the stretch of code that took it: no fiber waits then, and the socket is open.',
    keys: [/UdpSocket\.putBack never this\.isClosed/, /UdpSocket\.putBack without this\.give\(/],
  },
  {
    why: 'The system would have to refuse what it does not refuse here.',
    keys: [/Listen\.start without node\.close\(\); #2/, /Bind\.start without refused\(error\); #2/],
  },
  {
    why: 'Executors: how many items an async handler gets when a turn is cut short depends on the speed of the machine.',
    keys: [/Callers\.constructor never this\.front\.runtime\.queue\.size > 0$/],
  },
  {
    why: 'A channel that reads ahead is never paused, but every channel must have the method.',
    keys: [
      /^\S+ (Duct\.pause|MemoryChannel\.pause) without/,
      /FileChannel\.pause without this\.isWanted = false;/,
    ],
  },
  {
    why: 'One round of mixing is enough to shuffle fibers; which order belongs to which seed is no promise.',
    keys: [/random without mixed = Math\.imul/],
  },
  {
    why: 'It only tells the tap of a late answer.',
    keys: [/(Accept|Recv)\.late without super\.late\(/],
  },
  {
    why: 'Node cannot read it back, and it changes nothing on the loopback.',
    keys: [/adjust never (ttl|multicast\.ttl|multicast\.loopback) !== undefined/],
  },
  {
    why: 'The streams of a process are closed with its owner; until then a held pipe only delays the end of the program.',
    keys: [/Process\.stream without node\.unref\(\);/],
  },
  {
    why: 'A timer of Node that has fired takes ref, unref and clear without effect.',
    keys: [/ NodeBackend\.constructor without this\.timeout = null;$/],
  },
  {
    why: 'A connection that is gone before its first event, or comes with the end of the server: no test can force that.',
    keys: [
      / adopt never handle === null/,
      / nameOf never remoteAddress === undefined/,
      / received never stream === null/,
      /Server\.connected never !this\.isOpen/,
      /Handshakes\.secured never this\.over\(secure\) === undefined/,
    ],
  },
  {
    why: 'Only where the stack ends: the error is thrown a little later, perhaps with too little stack again.',
    keys: [/Block\.openThenGiveWay never isOverflow\(error\)/],
  },
  {
    why: 'Only if the stack ends in one of two calls, and the budget of the fiber is spent too: then a lock stays locked.',
    keys: [/ Lock\.enter never this\.mutex\.isOpenTo\(fiber\)$/],
  },
  {
    why: 'Only how often the clock is read in a batch, and so how soon within 10 ms it ends, differs.',
    keys: [/Runtime\.batch without this\.(counted = this\.switches|trust = 1);/],
  },
]

/** Why it may survive; undefined if nothing says so. */
export function explain({ key }) {
  return EXPLAINED.find(({ keys }) => keys.some((each) => covers(each, key)))?.why
}

/** Entries that cover none of these mutants. */
export function unusedExplanations(survivors) {
  return EXPLAINED.flatMap(({ keys }) => keys)
    .filter((each) => !survivors.some(({ key }) => covers(each, key)))
    .map(String)
}

function covers(each, key) {
  return typeof each === 'string' ? key === each : each.test(key)
}
