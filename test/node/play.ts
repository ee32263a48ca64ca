// Plays signals inside a process: process.emit('SIGQUIT', 'SIGQUIT') is what Node itself does when one comes. Not SIGINT and
// SIGTERM, to which the test runner listens, nor SIGUSR2: under the runner of Node 26 it writes a diagnostic report.

export const play = (signal: 'SIGQUIT' | 'SIGHUP') => process.emit(signal, signal)
export const listeners = () => process.listenerCount('SIGQUIT') + process.listenerCount('SIGHUP')
