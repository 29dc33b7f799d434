import { withExactNumbers } from './json-number.ts'
import { JsonScanner } from './json-scanner.ts'
import { Problem } from './problem.ts'

/** Why a value is refused. Returned and not thrown: each row of a file may have one, and a stack costs more than a row. */
export class ValueFault {
  readonly reason: string

  constructor(reason: string) {
    this.reason = reason
  }
}

const repeatedKey = new ValueFault('An object has the same key twice.')
const protoKey = new ValueFault('"__proto__" is not allowed as a key.')
const nul = new ValueFault('A text contains NUL (\\u0000).')
const loneSurrogate = new ValueFault('A text contains a lone surrogate.')

/**
 * JSON.parse that makes a number infinite that a double cannot hold as written, and -0 the 0 that it is read back as;
 * undefined for what is no JSON.
 */
export function parseText(text: string): unknown {
  try {
    return JSON.parse(withExactNumbers(text))
  } catch {
    return undefined
  }
}

/**
 * The value of a short JSON text, a line or a cell, by the rules of a body: a fault for NUL, lone surrogates, `__proto__`,
 * keys given twice, depth over 32 and more than 10,000 keys in an object; undefined for what is no JSON.
 */
export function parseShort(text: string): unknown {
  const value = parseText(text)
  if (typeof value !== 'object' && typeof value !== 'string') return value
  const bytes = Buffer.from(text)
  const scanner = new JsonScanner(bytes, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)
  scanner.advance(bytes.length)
  if (scanner.fault) return new ValueFault(scanner.fault.detail)
  const members = countMembers(value, text.includes('\\'))
  if (members instanceof ValueFault) return members
  return members === scanner.members ? value : repeatedKey
}

/** Checks all texts of a value (`escapes`: they may hold what only an escape can write) and counts its members. */
export function countMembers(value: unknown, escapes: boolean): number | ValueFault {
  if (typeof value === 'string') return (escapes && findTextFault(value)) || 0
  if (typeof value !== 'object' || value === null) return 0
  if (Array.isArray(value)) return countInItems(value, escapes)
  let members = 0
  for (const key in value) {
    const fault = key === '__proto__' ? protoKey : escapes && findTextFault(key)
    if (fault) return fault
    const inside = countMembers((value as Record<string, unknown>)[key], escapes)
    if (inside instanceof ValueFault) return inside
    members += 1 + inside
  }
  return members
}

function countInItems(items: unknown[], escapes: boolean): number | ValueFault {
  let members = 0
  for (const item of items) {
    const inside = countMembers(item, escapes)
    if (inside instanceof ValueFault) return inside
    members += inside
  }
  return members
}

function findTextFault(text: string): ValueFault | undefined {
  if (text.includes('\0')) return nul
  return text.isWellFormed() ? undefined : loneSurrogate
}

/** The body is refused before its rows are looked at. */
export function malformed(detail: string): Problem {
  return new Problem('malformed-body', detail)
}
