// How every script starts: in the root of the repository, wherever it was called from, and with arguments that are
// right. Wrong ones end it with one sentence that says what is allowed, and exit code 1.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))

/** The options, as parseArgs describes them, and at most so many words besides. `usage` is the command, written out. */
export function readArgs(usage, options = {}, most = 0) {
  try {
    const { values, positionals } = parseArgs({ options, allowPositionals: true })
    if (positionals.length > most) refuse(`Unexpected argument '${positionals[most]}'; allowed: ${usage}`)
    return { values, words: positionals }
  } catch (error) {
    const [what] = error.message.split(/\.?\s*(?:\n|\. |$)/)
    return refuse(`${what}; allowed: ${usage}`)
  }
}

/** A whole number that was given as text; undefined if it was not given. */
export function wholeNumber(name, text, least = 0, most = Number.MAX_SAFE_INTEGER) {
  if (text === undefined) return undefined
  if (/^\d+$/.test(text) && Number(text) >= least && Number(text) <= most) return Number(text)
  const upTo = most === Number.MAX_SAFE_INTEGER ? 'up' : `to ${most}`
  return refuse(`${name} must be a whole number from ${least} ${upTo}, not '${text}'`)
}

/** One of a few words; undefined if none was given. */
export function oneOf(name, text, allowed) {
  if (text === undefined || allowed.includes(text)) return text
  return refuse(`${name} must be ${allowed.join(' or ')}, not '${text}'`)
}

/** For scripts that need the build. */
export function needBuilt(path) {
  if (!existsSync(path)) refuse(`there is no ${path}: npm run build makes it`)
}

export function refuse(why) {
  console.error(why)
  process.exit(1)
}
