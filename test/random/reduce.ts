// Makes a failing program smaller than fast-check can: it also replaces a statement by what is inside it.

import type { Program, Statement } from './program.js'

/** Simpler values for fields, tried in order. */
const SIMPLER: Record<string, readonly unknown[]> = {
  ms: [0, 1, 2, 3, 4, 5, 6, 7, 8],
  of: [0, 1, 2, 3, 4, 5, 6],
  to: [0, 1, 2, 3, 4, 5, 6],
  grace: [undefined, 0, 1, 2, 3],
  link: [true],
  wait: [false],
  how: ['stop'],
  catch: ['nothing', 'errors'],
  finally: [null],
  // of constructs
  which: [0, 1],
  most: [1, 2],
  timeout: [undefined],
  discard: [false],
  fails: [false],
  odd: [false],
  items: [1, 2],
  concurrency: [1, 2],
  times: [1, 2],
  create: [0, 1, 'throw'],
  validate: [0, 1, 'throw', 'refuse'],
  destroy: [0, 1, 'throw'],
  strategy: ['oneForOne'],
  restart: ['never', 'onError'],
  until: ['all'],
}
const BLOCKS = ['body', 'handler', 'cleanup', 'finally']
const MAX_TRIALS = 3000

/** Greedy: takes the first simpler program that still fails, until there is none. */
export async function reduce(
  program: Program,
  fails: (program: Program) => Promise<boolean>,
): Promise<Program> {
  let trials = 0
  for (let isSmaller = true; isSmaller; ) {
    isSmaller = false
    for (const candidate of simpler(program)) {
      if (++trials > MAX_TRIALS) return program
      if (!(await fails(candidate))) continue
      program = candidate
      isSmaller = true
      break
    }
  }
  return program
}

function* simpler(program: Program): Generator<Program> {
  for (const [i, statement] of program.entries()) {
    const put = (...instead: Statement[]) => program.toSpliced(i, 1, ...instead)
    yield put()
    for (const key of BLOCKS) {
      const block = (statement as any)[key] as Statement[] | null | undefined
      if (block != null && block.length > 0) yield put(...block)
    }
  }
  for (const [i, statement] of program.entries()) {
    const put = (key: string, value: unknown) =>
      program.toSpliced(i, 1, { ...statement, [key]: value } as any)
    for (const [key, value] of Object.entries(statement)) {
      if (BLOCKS.includes(key) && value !== null) {
        for (const block of simpler(value as Program)) yield put(key, block)
      }
      if (Array.isArray(value) && key === 'of' && value.length > 1) {
        for (const j of value.keys()) yield put(key, value.toSpliced(j, 1))
      }
      const values = Array.isArray(value) ? [] : (SIMPLER[key] ?? [])
      const at = values.indexOf(value)
      for (const simple of at < 0 ? values : values.slice(0, at)) yield put(key, simple)
    }
  }
}
