// Input and output. So far: standard input, line by line or chunk by chunk ('polyphony/io').

export type { Reader } from './reader.js'
export { gets, stdin } from './stdin.js'
