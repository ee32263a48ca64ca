// Supervision: strategies, intensity, restart. Read supervise for what it offers, supervisor for how it works.

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
