// Numbers that look random and are the same in each run.

/** Numbers from 0 (included) to 1; the same seed gives the same ones. */
export function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
