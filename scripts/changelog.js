// Prints the changes since the last release, from the fragments in changes/. Fails if a fragment is wrong.
import { readArgs, refuse } from './args.js'
import { readFragments, render } from './fragments.js'

readArgs('npm run changelog, with no arguments')
try {
  const fragments = readFragments()
  console.log(
    fragments.length === 0 ? 'There are no changes since the last release.' : render(fragments).trimEnd(),
  )
} catch (error) {
  refuse(error.message)
}
