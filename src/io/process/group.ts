// A process group: a process that is the leader of a group of its own, and all processes that it starts in turn, unless they
// leave the group, as daemons do (setsid). A signal to the group reaches all of them, also when the leader has ended.
//
//   led  --the leader exits-->  left  --the last member exits, or all were sent SIGKILL-->  gone
//
// The system knows a group by the pid of its leader. That number belongs to no other process and no other group as long as the
// leader is not reaped or a member is left; afterwards it may. A signal never reaches the group of another program, because
//
//   led    the leader is not reaped. It cannot leave its group either
//   left   it is looked for members in the event 'exit', in which Node reaps the leader, then every second, and right before
//          each signal. The system hands out its numbers in turn and does not come round to one again in a second
//   gone   is for ever: no signal is sent any more
//
// If our own process ends in any way that lets code run, the groups that are there are killed: process.exit(), an error that is
// not caught, the third Ctrl-C, or a signal that no listener takes, which would end the process without an event 'exit'.

import { readdirSync, readFileSync } from 'node:fs'
import { type Attempt, OutsideOp } from '../../core/index.js'

/** How often it is looked whether members are left, while no fiber waits for that. */
const WATCH_MS = 1000
/** And while one does: soon at first, then less often. */
const SOON_MS = 1
const SELDOM_MS = 50

export class ProcessGroup {
  private phase: 'led' | 'left' | 'gone' = 'led'
  private isKilled = false
  private watch: NodeJS.Timeout | undefined

  constructor(
    private readonly leader: number,
    /** Called once, when it is gone. */
    private readonly onGone: () => void,
  ) {
    killAtExit(this)
  }

  /** Whether there is anything of it left to send a signal to. */
  isThere(): boolean {
    if (this.phase === 'left' && (this.isKilled || !hasMembers(this.leader))) this.end()
    return this.phase !== 'gone'
  }

  /** Sends a signal to all members. False: there are none. Undefined: there are, but none that we may send it to. */
  signal(signal: NodeJS.Signals | number): boolean | undefined {
    if (!this.isThere()) return false
    try {
      process.kill(-this.leader, signal)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EPERM') return undefined
      if (code === 'ESRCH') return false // the last member has exited just now
      throw error
    }
    if (signal === 'SIGKILL' || signal === 9) this.isKilled = true // no member can start another after that
    this.isThere()
    return true
  }

  /** Must be called in the event 'exit' of the leader. */
  leaderExited(): void {
    this.phase = 'left'
    if (this.isThere()) this.watch = setInterval(() => this.isThere(), WATCH_MS).unref()
  }

  private end(): void {
    this.phase = 'gone'
    clearInterval(this.watch)
    leaveToExit(this)
    this.onGone()
  }
}

/** Waits until a group whose leader has exited is gone. The system does not tell: it has to be asked again and again. */
export class GroupEnd extends OutsideOp<void> {
  private timer: NodeJS.Timeout | undefined

  constructor(
    private readonly group: ProcessGroup,
    private readonly name: string,
  ) {
    super()
  }
  protected start(attempt: Attempt<void>): void {
    this.look(attempt, SOON_MS)
  }
  private look(attempt: Attempt<void>, pause: number): void {
    if (!this.group.isThere()) attempt.settle()
    else this.timer = setTimeout(() => this.look(attempt, Math.min(2 * pause, SELDOM_MS)), pause)
  }
  protected cancel(): void {
    clearTimeout(this.timer)
  }
  describe(): string {
    return `the end of the process group of ${this.name}`
  }
  override get kind(): string {
    return 'process'
  }
  override get resource(): object {
    return this.group
  }
}

/** Whether a group has members that run, and that we may send signals to. */
function hasMembers(group: number): boolean {
  try {
    process.kill(-group, 0)
  } catch {
    return false
  }
  return process.platform !== 'linux' || hasLivingMembers(group)
}

/** A zombie counts for the system. In a container whose first process does not reap those it inherits, it stays for ever. */
function hasLivingMembers(group: number): boolean {
  try {
    return readdirSync('/proc').some((name) => /^\d+$/.test(name) && isLivingMember(name, group))
  } catch {
    return true // there is no /proc to look at
  }
}

function isLivingMember(pid: string, group: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1') // pid (name) state parent group ...
    const [state, , itsGroup] = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 3)
    return Number(itsGroup) === group && state !== 'Z' && state !== 'X'
  } catch {
    return false // it has exited meanwhile
  }
}

// The end of our own process

const groups = new Set<ProcessGroup>()
/** Signals that end a process that does not listen to them, without an event 'exit'. */
const DEADLY = process.pid === 1 ? [] : (['SIGINT', 'SIGTERM', 'SIGHUP'] as const) // they do not end the first process of a container

/** One listener for all groups, and only while there are any. */
function killAtExit(group: ProcessGroup): void {
  if (groups.size === 0) {
    process.on('exit', killAll)
    for (const signal of DEADLY) process.prependListener(signal, dying)
  }
  groups.add(group)
}

function leaveToExit(group: ProcessGroup): void {
  groups.delete(group)
  if (groups.size === 0) unlisten()
}

function unlisten(): void {
  process.off('exit', killAll)
  for (const signal of DEADLY) process.off(signal, dying)
}

function killAll(): void {
  for (const group of [...groups]) {
    try {
      group.signal('SIGKILL')
    } catch {} // there is nothing more to be done
  }
}

/** A signal came. With another listener (that of `main`, or one of the program) it is for that one; else it ends the process as if we had not listened. */
function dying(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return
  killAll()
  unlisten()
  process.kill(process.pid, signal)
}
