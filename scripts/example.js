// Runs an example that has been built: `npm run example counter`. What follows the name goes to the example.
import { readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { needBuilt, refuse } from './args.js'

const [node, , name, ...args] = process.argv
const names = readdirSync('examples')
  .filter((path) => path.endsWith('.ts'))
  .map((path) => path.slice(0, -3))
if (!names.includes(name)) refuse(`npm run example <name>, where <name> is one of: ${names.join(', ')}`)
needBuilt(`build/examples/${name}.js`)
const file = resolve('build/examples', `${name}.js`)
process.argv = [node, file, ...args]
await import(pathToFileURL(file).href)
