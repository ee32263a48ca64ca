// Checks the message of a commit that changes the hot path: its body must have figures, or say that it needs none.
// The hook scripts/hooks/commit-msg calls it; `git config core.hooksPath scripts/hooks` turns the hook on.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/** The files that run for each step, wait, message or timer. */
export const HOT_PATH = [
  'src/core/list.ts',
  'src/core/mailbox.ts',
  'src/core/op.ts',
  'src/core/ring.ts',
  'src/core/current.ts',
  'src/core/runtime.ts',
  'src/core/step.ts',
  'src/core/suspend.ts',
  'src/core/switchpoint.ts',
  'src/core/timers.ts',
  'src/time/sleep.ts',
]

const FIGURE = /\d\s*(ns|µs|us|ms|s|%|x|times|B|kB|MB)(?![\w])/
const EXEMPT = /\bno hot path\b/i
const PASSED_OVER = /^(fixup|squash|amend)! |^Merge /

/** Why this message is wrong for a commit that changes these files; undefined if it is right. */
export function objection(message, files) {
  const hot = files.filter((file) => HOT_PATH.includes(file))
  const [subject = '', ...body] = written(message)
  if (hot.length === 0 || PASSED_OVER.test(subject)) return undefined
  const text = body.join('\n')
  if (FIGURE.test(text) || EXEMPT.test(text)) return undefined
  return (
    `${hot.join(', ')}: on the hot path. Name the row of the bench with its figures before and after in the body of the ` +
    "message (npm run bench:quick), or write 'no hot path' there if the change cannot affect speed."
  )
}

/** The lines of a message without git's comments and the diff below its scissors. */
function written(message) {
  const [above = ''] = message.split(/^# -+ >8 -+$/m)
  return above
    .trimStart()
    .split('\n')
    .filter((line) => !line.startsWith('#'))
}

// Without args.js: the hook runs in the top folder of the working tree, where the path of the message begins.
if (process.argv[1] !== undefined && pathToFileURL(resolve(process.argv[1])).href === import.meta.url) {
  const [file] = process.argv.slice(2)
  if (file === undefined || !existsSync(file)) {
    console.error('the file with the message is missing; allowed: node scripts/commits.js file')
    process.exit(1)
  }
  const staged = execFileSync('git', ['diff', '--cached', '--name-only'], { encoding: 'utf8' }).split('\n')
  const why = objection(readFileSync(file, 'utf8'), staged)
  if (why !== undefined) {
    console.error(why)
    process.exit(1)
  }
}
