// The bridge to the async world.

export { type UntilOptions, until } from './until.js'
export { use } from './use.js'
