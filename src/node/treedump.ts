// The live tree of a program in production, for whoever sends it the right signal: kill -USR2 <pid>. It is printed between
// two batches of fibers, so also while they are busy; it asks no fiber and holds nothing.

import { printTree, runtimeStats } from './run.js'
import { checkSignalName, type Listener, listen, unlisten } from './signals.js'

const VARIABLE = 'POLYPHONY_TREE_SIGNAL'

export class TreeDump implements Listener {
  private readonly signal: string | undefined

  /** What is said from outside goes before what the program says. */
  constructor(treeOn: string | undefined) {
    const asked = process.env[VARIABLE]
    if (asked) this.signal = checkSignalName(asked, VARIABLE)
    else if (treeOn !== undefined) this.signal = checkSignalName(treeOn, 'the treeOn of main()')
  }

  open(): void {
    if (this.signal !== undefined) listen(this.signal, this, 'onlookers')
  }

  close(): void {
    if (this.signal !== undefined) unlisten(this.signal, this, 'onlookers')
  }

  heard(signal: string): void {
    const { fibers, runQueue, timers } = runtimeStats()
    process.stderr.write(
      `polyphony: ${signal}: process ${process.pid} has ${fibers} fibers, ${runQueue} of them runnable, and ${timers} timers\n`,
    )
    printTree()
  }
}
