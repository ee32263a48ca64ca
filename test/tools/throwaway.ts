// A small git repository in the temporary folder, for tests of scripts that commit and tag. It knows nothing of the git
// settings of the machine, and is removed after the test.

import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../../', import.meta.url))

export interface Said {
  code: number | null
  stdout: string
  stderr: string
}

export class Throwaway implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), 'polyphony-throwaway-'))
  private readonly env = cleanEnv()

  /** On branch main, with an author and one commit of the given files and of copies from this repository. */
  constructor(copied: string[], files: Record<string, string> = {}) {
    for (const file of copied) cpSync(join(root, file), join(this.path, file), { recursive: true })
    this.write(files)
    this.git('init', '--quiet', '--initial-branch', 'main')
    this.git('config', 'user.name', 'A tester')
    this.git('config', 'user.email', 'tester@example.org')
    this.commit('Begin')
  }

  write(files: Record<string, string>): void {
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.path, file)), { recursive: true })
      writeFileSync(join(this.path, file), text, { mode: file.startsWith('.ci/') ? 0o755 : 0o644 })
    }
  }

  git(...args: string[]): string {
    return execFileSync('git', args, {
      cwd: this.path,
      env: this.env,
      encoding: 'utf8',
      stdio: 'pipe',
    }).trim()
  }

  commit(message: string): void {
    this.git('add', '--all')
    this.git('commit', '--quiet', '-m', message)
  }

  run(command: string, ...args: string[]): Said {
    const { status, stdout, stderr } = spawnSync(command, args, {
      cwd: this.path,
      env: this.env,
      encoding: 'utf8',
    })
    return { code: status, stdout, stderr }
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}

/** Without what a git hook or the machine's settings would change. */
function cleanEnv(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_'))
  return { ...Object.fromEntries(entries), GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' }
}
