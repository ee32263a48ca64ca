// Supervision: strategies, intensity, restart. Read supervision for how it works, supervise for what it offers.

export { RestartIntensityError } from './errors.js'
export type {
  ChildSpec,
  RestartIntensity,
  RestartRule,
  Strategy,
  SuperviseOptions,
  SuperviseUntil,
} from './options.js'
export { supervise } from './supervise.js'
