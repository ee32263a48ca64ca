// A stream on a channel that does as a test says: answers that come at once, twice, too late, in the wrong order or not at all.

import { type Channel, type Chunk, type Receiver, Stream } from 'polyphony/io'
import { type Fiber, type Op, type Routine, started } from '../prelude.js'

type Call = 'resume' | 'pause' | 'write' | 'end' | 'close' | 'destroy'
type Flags = Pick<Channel, 'isOutside' | 'isIdle' | 'isPatient' | 'readAhead' | 'closeTimeout'>
export interface Script extends Partial<Flags> {
  does?: Partial<Record<Call, (receiver: Receiver, chunk: Chunk) => unknown>>
}

export interface Scripted {
  stream: Stream
  receiver: Receiver
  /** What the channel was asked to do. */
  calls: string[]
}

export function scripted({ does = {}, ...flags }: Script = {}): Scripted {
  const calls: string[] = []
  let receiver!: Receiver
  const call =
    (name: Call) =>
    (chunk: Chunk = '') => {
      calls.push(name)
      return (does[name]?.(receiver, chunk) ?? true) as boolean
    }
  const stream = new Stream((given) => {
    receiver = given
    return {
      ...{ name: 'script', isOutside: false, isIdle: false, isPatient: false, canGrow: false },
      ...{ readAhead: 64 * 1024, ...flags },
      resume: call('resume'),
      pause: call('pause'),
      write: call('write'),
      end: call('end'),
      close: call('close'),
      destroy: call('destroy'),
    }
  })
  return { stream, receiver, calls }
}

/** A fiber that waits for this. Its error does not reach the test. */
export const waitingFor = started as unknown as <T>(wait: () => Op<T>) => Routine<Fiber<T>>
