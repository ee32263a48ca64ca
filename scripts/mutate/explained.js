// Survivors that no test can notice, or need not, and why. An entry covers the mutants whose key matches: the file, the
// function, the operator and the text of the place. `npm run mutate` names entries that cover nothing any more.

/** @type {{ why: string, keys: (string | RegExp)[] }[]} */
const EXPLAINED = [
  {
    why: 'Belt and braces: the place before it, or every caller, has made sure of it.',
    keys: [
      /core\/stop\.js force never region\._phase >= FORCED$/,
      /core\/tree\.js link without fiber\.newer = null;$/,
      /core\/tree\.js bodyEnded without fiber\.abandonInside\(\);$/, // of its cleanups: their own region has done it
      /core\/tree\.js foldError never cleaning != null$/, // their children hang on scopes, which keep the errors
      /core\/tree\.js foldError without cleaning\.errors\.push\(error\);$/,
    
    ],
  },
  {
    why: 'One of the two calls is enough, unless the restart is asked for between them.',
    keys: [
/core\/tree\.js die without forgetRestart\(fiber\);( #2)?$/,
    ],
  },
  {
    why: 'An observer that has left or was told is written anew when it is used again.',
    keys: [
/core\/tree\.js (unobserve|tellObservers) without observer\.before = null;$/,
    ],
  },
  {
    why: 'Only speed: the timer is set again for the same time.',
    keys: [
/core\/stop\.js Deadline\.stopWaiting never this\.leaveAt === Infinity$/,
    ],
  },
  {
    why: 'It only lets go of an object a little earlier: nothing reads the field before it is set again.',
    keys: [
      /Cold\.release without this\.(monitoring|unlisten) = null;/,
      /ManyOp\.leave without watch\.watcher = null;/,
      /forget without fiber\.value = undefined;/,
      /reincarnate without fiber\.value = undefined;/,
    
    ],
  },
  {
    why: 'A shortcut: the longer way does the same, more slowly.',
    keys: [
      /deliver never op === RECEIVE && cold === null/,
      /suppress never Array\.isArray\(before\) && !Object\.isFrozen\(before\)/,
      /reincarnate without fiber\.budget = fiber\.runtime\.freshBudget;/,
    
      /Block\.open never !this\.native$/,
      /Block\.advance never this\.native$/,
      /start never isPlainGenerator\(returned, body\)/,
      /Runtime\.turn never fiber\.cold === null/,
      /tap without tapped = listeners\.size > 0;/,
    
    ],
  },
  {
    why: 'Belt and braces: what is in no list is taken out of none, and what holds no properties is refused further on.',
    keys: [
      /ManyOp\.leave never watch\.watcher === null/,
      /Watch\.ended without this\.watcher = null;/,
      /carries never typeof thrown !== 'object' \|\| thrown === null/,
      /suppress never \(typeof first !== 'object' && typeof first !== 'function'\) \|\| first === null/,
    
    ],
  },
  {
    why: 'It gives every op the same shape; undefined would be as good.',
    keys: [
/op\.js {2}without BaseOp\.prototype\.idle = false;/,
    ],
  },
  {
    why: 'It only lets go of an object a little earlier, or clears a field that is not read before it is set again.',
    keys: [
      /Block\.leave without this\.(inner|outer) = null;/,
      /Block\.abandon without this\.inner = null;/,
      /Block\.open without this\.stopSignal = null;/,
      /startCleanups without fiber\.value = undefined;/,
    
    ],
  },
  {
    why: 'Cleanups set their deadline as they begin, so it makes no difference that their first op looks for one.',
    keys: [
/startCleanups without fiber\.budget = 0;/,
    ],
  },
  {
    why: 'Belt and braces: what it looks for was looked for just before, or cannot be any more.',
    keys: [
      /ChildrenGone\.enter never this\.scope\.newest === null/,
      /Scope\.begin without this\.gone = null;/,
      /Runtime\.turn without this\.awake = true;/,
      /wake never fiber\._phase !== LIVE/,
    
    ],
  },
  {
    why: 'It only lets go of an object a little earlier; what holds it is dropped soon after.',
    keys: [
      /Attempt\.end without this\.cleanup = undefined;/,
      /Events\.stopListening without this\.unsubscribe = null;/,
      /Until\.end without this\.reaction = null;/,
      /Reaction\.tell without this\.first = this\.others = this\.left = null;/,
    
    ],
  },
  {
    why: 'A world that waits for the outside would look for the answer every few turns, not sleep until it is woken: speed.',
    keys: [
/live without backend\.onTimer = /, /live never backend\.onTimer !== null/,
    ],
  },
  {
    why: 'One round of mixing is enough to shuffle fibers; which order belongs to which seed is no promise.',
    keys: [
/random without mixed = Math\.imul/,
    ],
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
