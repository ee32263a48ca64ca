// The same promises kept in both worlds: yielded in fibers, awaited in async code.

import { anExecutor } from '../shared/proco.js'
import { worlds } from '../shared/worlds.js'

for (const world of worlds) anExecutor(world)
