// Makes a release on this machine: runs the checks, moves the fragments into CHANGELOG.md, sets the version, commits
// and tags. Pushing the tag publishes it (.github/workflows/release.yml); this script never pushes and never publishes.
//
//   npm run release -- minor               or patch, major, or a version such as 0.3.0
//   npm run release -- minor --dry-run     prints the version and its changelog; changes nothing, runs no checks
//   npm run release -- minor --checked     .ci/run has passed on this commit already: does not run it again
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { readArgs, refuse } from './args.js'
import { fold, readFragments, render } from './fragments.js'

const USAGE = 'npm run release -- major|minor|patch|x.y.z [--dry-run] [--checked]'
const BRANCH = 'main'
/** All that a release changes. */
const FILES = ['package.json', 'package-lock.json', 'CHANGELOG.md', 'changes']

const { values: options, words } = readArgs(
  USAGE,
  { 'dry-run': { type: 'boolean', default: false }, checked: { type: 'boolean', default: false } },
  1,
)
const current = JSON.parse(readFileSync('package.json', 'utf8')).version
const version = nextVersion(current, words[0])
const tag = `v${version}`

refuseWrongPlace()
const fragments = checkedFragments()

if (options['dry-run']) {
  console.log(`Would release ${version} (now ${current}) as tag ${tag}:\n\n${render(fragments).trimEnd()}`)
} else {
  if (!options.checked) runChecks()
  release()
  console.log(
    `Released ${version} on this machine. Publish it with: git push --atomic origin ${BRANCH} ${tag}`,
  )
}

function nextVersion(from, wanted) {
  if (wanted === undefined) refuse(`a version is missing; allowed: ${USAGE}`)
  const [major, minor, patch] = from.split('.').map(Number)
  if (wanted === 'major') return `${major + 1}.0.0`
  if (wanted === 'minor') return `${major}.${minor + 1}.0`
  if (wanted === 'patch') return `${major}.${minor}.${patch + 1}`
  if (!/^(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}$/.test(wanted))
    refuse(`'${wanted}' is not a version; allowed: ${USAGE}`)
  if (!isAfter(wanted, from)) refuse(`${wanted} is not after ${from}, the version in package.json`)
  return wanted
}

function isAfter(one, other) {
  const a = one.split('.').map(Number)
  const b = other.split('.').map(Number)
  const at = a.findIndex((number, i) => number !== b[i])
  return at >= 0 && a[at] > b[at]
}

/** A release starts from a clean main, with an author, and with a tag that is free. */
function refuseWrongPlace() {
  if (!existsSync('.git')) refuse('a release is made in a clone of the repository; this folder is not one')
  const branch = git('branch', '--show-current')
  if (branch !== BRANCH) refuse(`a release is made on ${BRANCH}, not on ${branch || 'a detached commit'}`)
  refuseDirty('commit or stash these changes first')
  if (git('tag', '--list', tag) !== '') refuse(`there is a tag ${tag} already`)
  try {
    git('var', 'GIT_COMMITTER_IDENT')
  } catch {
    refuse('git does not know your name and address: set user.name and user.email')
  }
}

function refuseDirty(advice) {
  const [first, ...others] = git('status', '--porcelain').split('\n')
  const more = others.length > 0 ? ` and ${others.length} more` : ''
  if (first !== '') refuse(`the working tree is not clean (${first}${more}): ${advice}`)
}

function checkedFragments() {
  try {
    const found = readFragments()
    return found.length > 0 ? found : refuse('there is nothing to release: changes/ has no fragment')
  } catch (error) {
    return refuse(error.message)
  }
}

function runChecks() {
  const { status } = spawnSync('.ci/run', { stdio: 'inherit' })
  if (status !== 0) refuse('.ci/run failed: nothing was released')
  refuseDirty('.ci/run must leave no changes behind; nothing was released')
}

function release() {
  try {
    fold(fragments, version, new Date().toISOString().slice(0, 10))
    setVersion()
    git('add', '--all', '--', ...FILES)
    git('commit', '--quiet', '-m', `Release ${version}\n\nThe changes since ${current} are in CHANGELOG.md.`)
  } catch (error) {
    git('restore', '--staged', '--worktree', '--', ...FILES)
    refuse(`the commit failed, and its changes were undone: ${reason(error)}`)
  }
  try {
    const notes = `polyphony ${version}\n\n${render(fragments)}`
    git('tag', '--annotate', '--cleanup=whitespace', '-m', notes, tag)
  } catch (error) {
    refuse(`the release is committed, but git tag --annotate ${tag} failed: ${reason(error)}`)
  }
}

/** What git said about its failure. */
function reason(error) {
  return (error.stderr || error.message).trim()
}

function setVersion() {
  edit('package.json', (json) => {
    json.version = version
  })
  edit('package-lock.json', (json) => {
    json.version = version
    json.packages[''].version = version
  })
}

function edit(file, change) {
  const json = JSON.parse(readFileSync(file, 'utf8'))
  change(json)
  writeFileSync(file, `${JSON.stringify(json, null, 2)}\n`)
}

function git(...args) {
  return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
}
