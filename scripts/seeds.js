// Runs test/semantics again with shuffled schedules: 20 seeds, or as many as given.
import { spawnSync } from 'node:child_process'

const seeds = Number(process.argv[2] ?? 20)
let failed = 0
for (let seed = 1; seed <= seeds; seed++) {
  const env = { ...process.env, POLY_SEED: String(seed) }
  const { status, stdout } = spawnSync(process.execPath, ['scripts/test.js', 'semantics'], {
    env,
    encoding: 'utf8',
  })
  if (status === 0) continue
  failed++
  console.log(`POLY_SEED=${seed} failed:\n${stdout}`)
}
console.log(`seeds: ${seeds - failed} of ${seeds} pass`)
if (failed > 0) process.exitCode = 1
