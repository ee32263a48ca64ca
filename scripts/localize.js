// Part of npm run build: gives the modules in dist constants of their own for what they import from each other and export.
//
//   import { settle } from './op.js'          import { settle as settle$ } from './op.js'; const settle = settle$;
//   export function spin() {}                 function spin() {}  ...  const spin$ = spin; export { spin$ as spin };
//
// V8 reads a binding that is imported or exported from memory at each use, even in its own module, and optimized code checks
// each time that it is still the same function. A constant of the module it compiles in. (Bench rows: switch, message, spin, mutex.)
// What is exported with `let` can change, and stays as it is. No line and, but for imports, no column moves, so source maps
// stay right. The modules must not import each other in a circle (test/house).
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'acorn'
import { needBuilt, readArgs } from './args.js'

readArgs('npm run build, with no arguments')
needBuilt('dist/index.js')

const files = readdirSync('dist', { recursive: true })
  .map((name) => join('dist', String(name)))
  .filter((path) => path.endsWith('.js'))
  .map((path) => {
    const text = readFileSync(path, 'utf8')
    return { path, text, statements: parse(text, { ecmaVersion: 'latest', sourceType: 'module' }).body }
  })
const variables = findVariables()
for (const { path, text, statements } of files) writeFileSync(path, localize(text, statements))

/** The names of all exports that can change, whatever the module: few, and not used for anything else. */
function findVariables() {
  const found = new Set()
  for (const { statements } of files) {
    for (const { type, declaration } of statements) {
      if (type !== 'ExportNamedDeclaration' || declaration?.kind !== 'let') continue
      for (const { id } of declaration.declarations) found.add(id.name)
    }
  }
  for (const { path, statements } of files) {
    for (const { local, exported } of statements.flatMap(({ specifiers = [] }) => specifiers)) {
      if (exported === undefined || !found.has(local.name) || exported.name === local.name) continue
      throw new Error(`${path}: '${local.name}' can change, and is exported under another name`)
    }
  }
  return found
}

function localize(text, statements) {
  const parts = []
  const exported = []
  let end = 0
  for (const statement of statements) {
    parts.push(text.slice(end, statement.start))
    end = statement.end
    const source = text.slice(statement.start, end)
    if (isOwnImport(statement)) parts.push(importConstants(statement))
    else if (isConstant(statement)) {
      exported.push(...namesOf(statement.declaration))
      parts.push(source.replace(/^export/, ' '.repeat('export'.length)))
    } else parts.push(source)
  }
  if (exported.length > 0) {
    const constants = exported.map((name) => `${name}$ = ${name}`).join(', ')
    const exports = exported.map((name) => `${name}$ as ${name}`).join(', ')
    parts.push(` const ${constants}; export { ${exports} };`)
  }
  return parts.join('') + text.slice(end)
}

/** Modules of Node may be changed by a test, and packages are not ours. */
function isOwnImport({ type, source, specifiers }) {
  return (
    type === 'ImportDeclaration' &&
    source.value.startsWith('.') &&
    specifiers.length > 0 &&
    specifiers.every((specifier) => specifier.type === 'ImportSpecifier')
  )
}

function importConstants({ source, specifiers }) {
  const constants = []
  const names = specifiers.map(({ imported, local }) => {
    if (variables.has(imported.name)) return nameAs(imported.name, local.name)
    constants.push(`${local.name} = ${local.name}$`)
    return nameAs(imported.name, `${local.name}$`)
  })
  const aliases = constants.length > 0 ? ` const ${constants.join(', ')};` : ''
  return `import { ${names.join(', ')} } from ${source.raw};${aliases}`
}

function nameAs(name, other) {
  return name === other ? name : `${name} as ${other}`
}

function isConstant({ type, declaration }) {
  return type === 'ExportNamedDeclaration' && declaration != null && declaration.kind !== 'let'
}

function namesOf({ id, declarations }) {
  return declarations === undefined ? [id.name] : declarations.map((declarator) => declarator.id.name)
}
