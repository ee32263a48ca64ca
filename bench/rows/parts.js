// What does it cost to answer with ten small writes? Ours go out together; Node's do so inside cork and uncork.
import { traffic } from '../traffic/traffic.js'

const exchange = { request: 64, answer: 80 }

export const rows = [
  {
    name: 'an answer of ten small writes',
    multiple: 64,
    ours: traffic('parts.js', 'read', exchange),
    net: traffic('parts.js', 'plainNet', exchange),
    'net corked': traffic('parts.js', 'corkedNet', exchange),
  },
]
