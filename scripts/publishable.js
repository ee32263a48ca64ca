// Runs before npm publish (prepublishOnly). Refuses to publish anything but a release: a clean tree whose commit carries the tag
// of its version. Removes dist, so that prepack compiles every published file from the sources of that commit.
import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { readArgs, refuse } from './args.js'

readArgs('npm publish')
const tag = `v${JSON.parse(readFileSync('package.json', 'utf8')).version}`
if (git('status', '--porcelain') !== '')
  refuse('the working tree is not clean: only a release can be published')
if (!git('tag', '--points-at', 'HEAD').split('\n').includes(tag))
  refuse(`this commit has no tag ${tag}: npm run release makes one`)
rmSync('dist', { recursive: true, force: true })

function git(...args) {
  return execFileSync('git', args, { encoding: 'utf8' }).trim()
}
