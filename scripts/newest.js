// Runs the suite on the newest Node, which is installed as a package apart from ours (see tools/newest-node).
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { needBuilt, readArgs } from './args.js'

const usage = 'npm run test:newest -- [word ...] [--all] [--slow], as for npm test'
readArgs(usage, { all: { type: 'boolean' }, slow: { type: 'boolean' } }, Infinity)
needBuilt('build/test')

const home = 'tools/newest-node'
const node = resolve(home, 'node_modules/node/bin/node')
if (!existsSync(node)) execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: home, stdio: 'inherit' })
console.log(`on Node ${execFileSync(node, ['--version']).toString().trim()}:`)
process.exitCode =
  spawnSync(node, ['scripts/test.js', ...process.argv.slice(2)], { stdio: 'inherit' }).status ?? 1
