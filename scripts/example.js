// Runs an example that has been built: `npm run example counter`. What follows the name goes to the example.
import { existsSync, readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const [node, , name, ...args] = process.argv
const file = resolve('build/examples', `${name}.js`)
if (name !== undefined && existsSync(file)) {
  process.argv = [node, file, ...args]
  await import(pathToFileURL(file).href)
} else {
  const names = readdirSync('examples')
    .filter((path) => path.endsWith('.ts'))
    .map((path) => path.slice(0, -3))
  console.error(`npm run example <name>, where <name> is one of: ${names.join(', ')}`)
  process.exitCode = 1
}
