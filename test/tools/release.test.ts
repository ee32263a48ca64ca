// Changelog fragments, releases and the check before npm publish, each for real in a throwaway repository.

import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Said, Throwaway } from './throwaway.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const COPIED = [
  'package.json',
  'package-lock.json',
  'scripts/args.js',
  'scripts/fragments.js',
  'scripts/changelog.js',
  'scripts/release.js',
  'scripts/publishable.js',
]
const CHANGELOG = '# Changelog\n\nAbout it.\n\n## 0.1.0, not published\n\n### Added\n\n- Everything.\n'
const FRAGMENTS = {
  'changes/README.md': '# How to write one\n',
  'changes/queue-drain.md': 'added\n\n`Queue.drain()` returns all items\nthat are there.\n',
  'changes/a-leak.md': 'fixed\n\nA closed queue keeps no items.\n',
}
const SECTION = `### Added

- \`Queue.drain()\` returns all items
  that are there.

### Fixed

- A closed queue keeps no items.
`
const version = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version as string
const [major, minor, patch] = version.split('.').map(Number) as [number, number, number]
const nextMinor = `${major}.${minor + 1}.0`

/** A repository that is ready for a release; its checks end with the given code. */
function repository(files: Record<string, string> = {}, checks = 0): Throwaway {
  const ci = `#!/bin/sh\necho the checks\nexit ${checks}\n`
  return new Throwaway(COPIED, { 'CHANGELOG.md': CHANGELOG, ...FRAGMENTS, '.ci/run': ci, ...files })
}

function node(place: Throwaway, ...args: string[]): Said {
  return place.run(process.execPath, ...args)
}

function read(place: Throwaway, file: string): string {
  return readFileSync(join(place.path, file), 'utf8')
}

/** The command fails with one sentence, and nothing has changed. */
function refused(place: Throwaway, command: string[], said: RegExp): void {
  const before = [place.git('rev-parse', 'HEAD'), place.git('tag'), place.git('status', '--porcelain')]
  const { code, stderr } = node(place, ...command)
  assert.match(stderr, said)
  assert.match(stderr, /^[^\n]+\n$/, 'one line')
  assert.equal(code, 1)
  const after = [place.git('rev-parse', 'HEAD'), place.git('tag'), place.git('status', '--porcelain')]
  assert.deepEqual(after, before)
}

describe('changelog', () => {
  test('the fragments of this repository are right', async () => {
    const { readFragments } = await import(new URL('scripts/fragments.js', `file://${root}`).href)
    const before = process.cwd()
    process.chdir(root)
    try {
      assert.ok(Array.isArray(readFragments()))
    } finally {
      process.chdir(before)
    }
  })

  test('the fragments are printed by kind', () => {
    using place = repository()
    assert.deepEqual(node(place, 'scripts/changelog.js'), { code: 0, stdout: SECTION, stderr: '' })
  })

  test('without fragments it says so', () => {
    using place = new Throwaway(COPIED)
    assert.equal(node(place, 'scripts/changelog.js').stdout, 'There are no changes since the last release.\n')
  })

  const wrong: [file: string, text: string, said: RegExp][] = [
    ['Queue Drain.md', 'added\n\nText.\n', /the name of a fragment is a few words in lower case/],
    ['queue.txt', 'added\n\nText.\n', /changes\/queue\.txt: the name of a fragment/],
    ['queue.md', 'new\n\nText.\n', /queue\.md: the first line must be added or .* or removed, not 'new'/],
    ['queue.md', 'added\n\n', /queue\.md: the text for the changelog is missing/],
    ['queue.md', 'added\n\n- Text.\n', /queue\.md: write the text without a bullet/],
    ['queue.md', 'added\n\n## Queue\n\nText.\n', /queue\.md: a fragment cannot contain a heading/],
    ['queue.md', 'added\n\na word\n', /queue\.md: the text must be whole sentences/],
  ]
  test('a wrong fragment is refused with one sentence, by a release too', () => {
    using place = repository()
    for (const [file, text, said] of wrong) {
      place.write({ [`changes/${file}`]: text })
      refused(place, ['scripts/changelog.js'], said)
      place.git('clean', '--quiet', '--force')
    }
    place.write({ 'changes/queue.md': 'new\n' })
    place.commit('A wrong fragment')
    refused(place, ['scripts/release.js', 'minor', '--dry-run'], /queue\.md: the first line must be/)
  })
})

describe('release', () => {
  test('a dry run prints the version and its changes, and changes nothing', () => {
    using place = repository({}, 1)
    const before = place.git('rev-parse', 'HEAD')
    const { code, stdout } = node(place, 'scripts/release.js', 'minor', '--dry-run')
    assert.equal(code, 0)
    const title = `Would release ${nextMinor} (now ${version}) as tag v${nextMinor}:`
    assert.equal(stdout, `${title}\n\n${SECTION}`)
    assert.equal(place.git('rev-parse', 'HEAD'), before)
    assert.equal(place.git('status', '--porcelain'), '')
    assert.equal(place.git('tag'), '')
  })

  test('a release checks, folds the changelog, sets the version, commits and tags', () => {
    using place = repository()
    const { code, stdout, stderr } = node(place, 'scripts/release.js', 'minor')
    assert.equal(stderr, '')
    assert.equal(code, 0)
    assert.match(stdout, /^the checks\n/)
    assert.match(stdout, new RegExp(`git push --atomic origin main v${nextMinor}`))

    const title = `## ${nextMinor}, ${new Date().toISOString().slice(0, 10)}`
    assert.equal(
      read(place, 'CHANGELOG.md').replace(/\d{4}-\d\d-\d\d/, title.slice(-10)), // midnight may have passed
      CHANGELOG.replace('## 0.1.0', () => `${title}\n\n${SECTION}\n## 0.1.0`),
    )
    assert.deepEqual(readdirSync(join(place.path, 'changes')), ['README.md'])
    for (const file of ['package.json', 'package-lock.json'])
      assert.equal(JSON.parse(read(place, file)).version, nextMinor)
    assert.equal(JSON.parse(read(place, 'package-lock.json')).packages[''].version, nextMinor)
    assert.equal(
      place.git('diff', '--shortstat', 'HEAD~', '--', 'package.json').match(/\d+/g)?.join(),
      '1,1,1',
    )

    assert.equal(place.git('status', '--porcelain'), '')
    assert.equal(place.git('log', '-1', '--format=%s'), `Release ${nextMinor}`)
    assert.equal(place.git('cat-file', '-t', `v${nextMinor}`), 'tag')
    assert.equal(place.git('rev-parse', `v${nextMinor}^{}`), place.git('rev-parse', 'HEAD'))
    assert.equal(
      place.git('tag', '--list', '--format=%(contents)', `v${nextMinor}`),
      `polyphony ${nextMinor}\n\n${SECTION}`.trim(),
    )
  })

  test('a version can be given, and the next release goes on from it', () => {
    using place = repository({}, 1)
    const given = `${major}.${minor + 4}.7`
    assert.equal(node(place, 'scripts/release.js', given, '--checked').code, 0)
    place.write({ 'changes/more.md': 'changed\n\nMore of it.\n' })
    place.commit('More')
    assert.equal(node(place, 'scripts/release.js', 'patch', '--checked').code, 0)
    assert.equal(place.git('tag'), `v${given}\nv${major}.${minor + 4}.8`)
    const titles = read(place, 'CHANGELOG.md').match(/^## [\d.]+/gm)
    assert.deepEqual(titles, [`## ${major}.${minor + 4}.8`, `## ${given}`, '## 0.1.0'])
  })

  test('a release is refused where it would be wrong', () => {
    const minorRelease = ['scripts/release.js', 'minor']
    {
      using place = repository({}, 3)
      refused(place, minorRelease, /\.ci\/run failed: nothing was released/)
      place.write({ 'left.txt': '', 'over.txt': '' })
      refused(place, minorRelease, /the working tree is not clean \(\?\? left\.txt and 1 more\)/)
    }
    {
      using place = repository({ '.ci/run': '#!/bin/sh\necho >left.txt\n' })
      const { code, stderr } = node(place, ...minorRelease)
      assert.match(stderr, /\.ci\/run must leave no changes behind; nothing was released/)
      assert.equal(code, 1)
      assert.equal(place.git('tag'), '')
    }
    using place = repository()
    refused(place, ['scripts/release.js', version], /is not after .*, the version in package\.json/)
    place.git('tag', `v${nextMinor}`)
    refused(place, minorRelease, /there is a tag v[\d.]+ already/)
    place.git('tag', '--delete', `v${nextMinor}`)
    place.git('switch', '--quiet', '--create', 'work')
    refused(place, minorRelease, /a release is made on main, not on work/)
    place.git('switch', '--quiet', 'main')
    place.git('rm', '--quiet', 'changes/queue-drain.md', 'changes/a-leak.md')
    place.commit('No fragments')
    refused(place, minorRelease, /there is nothing to release/)
  })

  test('a commit that fails leaves everything as it was', () => {
    using place = repository()
    place.write({ '.git/hooks/pre-commit': '#!/bin/sh\necho not today >&2\nexit 1\n' })
    place.run('chmod', '+x', '.git/hooks/pre-commit')
    refused(place, ['scripts/release.js', 'patch', '--checked'], /changes were undone: not today/)
    assert.equal(read(place, 'CHANGELOG.md'), CHANGELOG)
    assert.ok(existsSync(join(place.path, 'changes/a-leak.md')))
    assert.equal(JSON.parse(read(place, 'package.json')).version, `${major}.${minor}.${patch}`)
  })

  test('only a tagged, clean commit can be published, and it is built from nothing', () => {
    using place = repository({ '.gitignore': 'dist/\n', 'dist/stale.js': '' })
    refused(place, ['scripts/publishable.js'], /this commit has no tag v/)
    assert.equal(node(place, 'scripts/release.js', 'minor', '--checked').code, 0)
    place.write({ 'left.txt': '' })
    refused(place, ['scripts/publishable.js'], /the working tree is not clean/)
    assert.ok(existsSync(join(place.path, 'dist')))
    place.run('rm', 'left.txt')
    assert.deepEqual(node(place, 'scripts/publishable.js'), { code: 0, stdout: '', stderr: '' })
    assert.ok(!existsSync(join(place.path, 'dist')))
  })
})
