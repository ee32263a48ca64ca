// The bridge to async code: promises, callbacks, events, iterables and streams, disposables.

export {
  type ActionOptions,
  action,
  DISCARD_OPTIONS,
  type DiscardOptions,
  type Start,
} from './action.js'
export { Events, type OnceOptions, type OnOptions, on, once } from './events.js'
export { checkItems, each, type Items, iterate, sourceOf } from './iterate.js'
export { SyncSource } from './sources.js'
export type { Emitter, EventName } from './subscribe.js'
export { type UntilOptions, until } from './until.js'
export { use } from './use.js'
