// The process of one short run (short.js): `node bench/fresh.js '{"file":"switch.js","index":0,"who":"ours","warmup":10000,"n":100000}'`.
// Prints { figure, whole }: ns for each operation, and ms for the whole process.
import { Clock, contestantOf } from './harness.js'

const { file, index, who, warmup, n } = JSON.parse(process.argv[2])

const before = process.cpuUsage()
const { rows } = await import(`./rows/${file}`)
// The rows load our library for every contestant; only ours pays for that.
const loading = who === 'ours' ? 0 : nsOf(process.cpuUsage(before))

const contestant = await contestantOf(rows[index], who)
await contestant(warmup, new Clock())
const clock = new Clock()
clock.start()
await contestant(n, clock)
clock.stop()
const whole = (nsOf(process.cpuUsage()) - loading) / 1e6
process.stdout.write(JSON.stringify({ figure: clock.ns / n, whole }), () => process.exit(0))

function nsOf({ user, system }) {
  return (user + system) * 1000
}
