// Which queue a key belongs to: equal keys, the same queue, in every executor and every process.

/** Objects are told apart by identity; they are numbered as they come. */
const numbers = new WeakMap<object, number>()
let lastNumber = 0

export function laneOf(key: unknown, lanes: number): number {
  if ((typeof key === 'object' && key !== null) || typeof key === 'function') return numberOf(key) % lanes
  if (Number.isInteger(key) && (key as number) >= 0) return (key as number) % lanes
  return hash(String(key)) % lanes
}

function numberOf(key: object): number {
  let number = numbers.get(key)
  if (number === undefined) numbers.set(key, (number = lastNumber++))
  return number
}

/** FNV-1a. */
function hash(text: string): number {
  let sum = 0x811c9dc5
  for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193)
  return sum >>> 0
}
