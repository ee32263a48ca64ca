// fromNode: any stream of Node in the words of ours.

import type { Duplex, Readable, Writable } from 'node:stream'
import { BadArgument, check, show } from '../core/index.js'
import { NodeChannel } from './nodechannel.js'
import { type Reader, Stream, type Writer } from './stream.js'

/** How a stream of Node is to be used. */
export interface FromNodeOptions {
  /** What errors and the tree call it; default: its path, if it is a file, or the name of its class. */
  name?: string
}

/** What becomes of a stream of Node: something to read from, to write to, or both. */
export type FromNode<S> = S extends Duplex ? Stream : S extends Readable ? Reader : Writer

/**
 * Makes a stream out of a stream of Node, to read lines from it, or to write to it and wait for room. It is ours from then
 * on: closing this one closes that one. Nothing is read before a fiber waits for it.
 *
 * ```ts
 * const { PassThrough } = yield* until(import('node:stream'))
 * const node = new PassThrough()
 * const stream = fromNode(node)
 * node.end('one\ntwo\n')
 * console.log(yield* stream.gets(), yield* stream.gets(), yield* stream.gets()) // one two undefined
 * ```
 */
export function fromNode<S extends Readable | Writable>(stream: S, options?: FromNodeOptions): FromNode<S>
export function fromNode(stream: Readable | Writable, options: FromNodeOptions = {}): Stream {
  const { name } = check.options(options, { name: check.name }, 'fromNode()')
  const { on, read, write, end } = (stream ?? {}) as Partial<Duplex>
  const readable = typeof on === 'function' && typeof read === 'function' ? (stream as Readable) : undefined
  const writable =
    typeof on === 'function' && typeof write === 'function' && typeof end === 'function'
      ? (stream as Writable)
      : undefined
  if (readable === undefined && writable === undefined)
    throw new BadArgument(`fromNode() needs a stream of Node, got ${show(stream)}`)
  if (readable?.readableObjectMode === true || writable?.writableObjectMode === true)
    throw new BadArgument(
      `fromNode() needs a stream of bytes, and this one (${nameOf(stream)}) carries objects. ` +
        'Take them one by one with each(stream, body), or iterate(stream).',
    )
  return new Stream((receiver) => new NodeChannel(name ?? nameOf(stream), receiver, { readable, writable }))
}

function nameOf(stream: object): string {
  const { path } = stream as { path?: unknown }
  if (typeof path === 'string' || path instanceof Uint8Array) return `${path}`
  return stream.constructor?.name || 'stream'
}
