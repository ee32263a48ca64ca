// Makes mutants of a built file by operators on its syntax tree, and one source in which each can be switched on.
//
//   never       if (c) ...        the branch is never taken
//   other       c ? a : b         b and a
//   without     statement         a call, an assignment or an increment is left out (not in constructors, nor the only
//                                 statement of an `if`, which `never` leaves out already)
//
// These three take something away that must be there for a reason, so each must be noticed or explained. The others only
// with `--more`: between a fifth and a half of them make no difference that a program could see.
//
//   always      if (c) ...        the branch is always taken (not where it only throws: that is noticed by anything)
//   left        a && b, a || b    only a
//   right       a && b, a || b    only b
//   edge        a < b             a <= b, and the like
//   mute        a sentence        text with a space in it is left empty: messages, names for people
//
// A mutated place reads like `$m(17) ? <mutant> : <original>`; `switch.js` says which number is on. No line is added, so
// that stack traces stay true.
import { parse } from 'acorn'

const USUAL = new Set(['never', 'other', 'without'])

/** Whether the mutant is tried without `--more`. */
export function isUsual({ operator }) {
  return USUAL.has(operator)
}

const EDGES = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' }

/** The mutants of one file, numbered from `first`, and its instrumented source. `header` is put before its first line. */
export function instrument(file, source, first, header) {
  const mutants = []
  const edits = [] // [position, order at that position, text]
  let id = first
  const root = parse(source, { ecmaVersion: 'latest', sourceType: 'module', locations: true })
  visit(root, { name: '', parent: null, isConstructor: false })
  const counts = new Map()
  for (const mutant of mutants) {
    const key = `${file} ${mutant.within} ${mutant.operator} ${mutant.text}`
    const n = (counts.get(key) ?? 0) + 1
    counts.set(key, n)
    mutant.key = n === 1 ? key : `${key} #${n}`
  }
  return { mutants, source: header + apply(source, edits) }

  function add(operator, node, within) {
    const text = source.slice(node.start, node.end).replace(/\s+/g, ' ').slice(0, 100)
    mutants.push({ id, file, line: node.loc.start.line, within, operator, text })
    return id++
  }

  /** Puts text around a node; an outer node's is outside of an inner node's, since parents are visited first. */
  function wrap(node, before, after) {
    edits.push([node.start, edits.length, before, 'open'], [node.end, -edits.length, after, 'close'])
  }

  function visit(node, at) {
    if (Array.isArray(node)) {
      for (const each of node) visit(each, at)
      return
    }
    if (node === null || typeof node !== 'object' || typeof node.type !== 'string') return
    const below = { ...at, parent: node, name: nameOf(node, at), isConstructor: isInConstructor(node, at) }
    mutate(node, below, at.parent)
    for (const [field, child] of Object.entries(node)) {
      if (field !== 'loc' && child !== null && typeof child === 'object') visit(child, below)
    }
  }

  function mutate(node, { name, isConstructor }, parent) {
    const text = (part) => source.slice(part.start, part.end)
    switch (node.type) {
      case 'IfStatement': {
        const { test, consequent } = node
        const never = add('never', test, name)
        const always =
          test.type === 'LogicalExpression' || isThrow(consequent) ? null : add('always', test, name)
        // The condition comes first: only where it holds is the place reached, and can a test notice.
        wrap(test, `${always === null ? '' : `$m(${always}) ? true : `}(`, `) && !$m(${never})`)
        break
      }
      case 'LogicalExpression': {
        if (node.operator === '??') break
        const left = add('left', node, name)
        const right = add('right', node, name)
        wrap(node, `($m(${left}) ? (${text(node.left)}) : $m(${right}) ? (${text(node.right)}) : `, ')')
        break
      }
      case 'BinaryExpression': {
        const edge = EDGES[node.operator]
        if (edge === undefined) break
        const mutant = add('edge', node, name)
        wrap(node, `($m(${mutant}) ? (${text(node.left)}) ${edge} (${text(node.right)}) : `, ')')
        break
      }
      case 'ConditionalExpression': {
        const mutant = add('other', node.test, name)
        wrap(node.test, `($m(${mutant}) ? !(${text(node.test)}) : (`, '))')
        break
      }
      case 'Literal':
      case 'TemplateLiteral': {
        if (!isSentence(node, parent)) break
        const mutant = add('mute', node, name)
        wrap(node, `($m(${mutant}) ? '' : `, ')')
        break
      }
      case 'ExpressionStatement': {
        if (isConstructor || isOnlyStatement(node, parent) || !hasEffect(node.expression)) break
        const mutant = add('without', node, name)
        wrap(node, `{ if (!$m(${mutant})) `, ' }')
        break
      }
    }
  }

  /** The only statement of an `if` without an `else`. */
  function isOnlyStatement(node, parent) {
    const branch = parent?.type === 'BlockStatement' && parent.body.length === 1 ? parent : node
    return ifs.has(branch)
  }
}

/** Branches of an `if` that has no other. */
const ifs = new WeakSet()

function nameOf(node, { name, parent }) {
  if (node.type === 'IfStatement' && node.alternate === null) ifs.add(node.consequent)
  if (node.type === 'ClassDeclaration') return node.id?.name ?? name
  if (node.type === 'MethodDefinition') return `${name}.${node.key.name ?? node.key.value ?? '[]'}`
  if (node.type === 'FunctionDeclaration') return name === '' ? node.id.name : `${name}.${node.id.name}`
  if (node.type === 'VariableDeclarator' && parent !== null && name === '') return node.id.name ?? name
  return name
}

function isInConstructor(node, { isConstructor }) {
  if (node.type === 'MethodDefinition') return node.kind === 'constructor'
  if (/^(Arrow)?Function/.test(node.type)) return isConstructor && node.type === 'FunctionExpression'
  return isConstructor
}

function isSentence({ type, value, quasis }, parent) {
  if (type === 'TemplateLiteral') {
    return parent.type !== 'TaggedTemplateExpression' && quasis.some((each) => each.value.raw.includes(' '))
  }
  if (typeof value !== 'string' || !value.includes(' ')) return false
  return !/^(Import|Export)/.test(parent.type) && !(parent.type === 'Property' && parent.key.value === value)
}

function isThrow(node) {
  if (node.type === 'BlockStatement') return node.body.length === 1 && isThrow(node.body[0])
  return node.type === 'ThrowStatement'
}

function hasEffect({ type, callee }) {
  if (type === 'CallExpression') return callee.type !== 'Super'
  return ['AssignmentExpression', 'UpdateExpression', 'ChainExpression', 'YieldExpression'].includes(type)
}

function apply(source, edits) {
  // At one place: what closes comes before what opens; inner closes first, outer opens first.
  const rank = ([, order, , kind]) => [kind === 'close' ? 0 : 1, order]
  const sorted = edits.toSorted((a, b) => {
    if (a[0] !== b[0]) return a[0] - b[0]
    const [x, y] = [rank(a), rank(b)]
    return x[0] - y[0] || x[1] - y[1]
  })
  let text = ''
  let from = 0
  for (const [position, , put] of sorted) {
    text += source.slice(from, position) + put
    from = position
  }
  return text + source.slice(from)
}
