// Survivors that no test can notice, or need not, and why. An entry covers the mutants whose key matches: the file, the
// function, the operator and the text of the place. `npm run mutate` names entries that cover nothing any more.

/** @type {{ why: string, keys: (string | RegExp)[] }[]} */
const EXPLAINED = []

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
