import { Problem } from '../contract/problem.ts'
import { withExactNumbers } from './json-number.ts'
import { JsonScanner } from './json-scanner.ts'

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
 * The value of a short JSON text, a line or a cell, by the rules of a body: throws `malformed-body` for NUL, lone
 * surrogates, `__proto__`, keys given twice, depth over 32 and more than 10,000 keys in an object; undefined for what is no
 * JSON.
 */
export function parseShort(text: string): unknown {
  const value = parseText(text)
  if (typeof value !== 'object' && typeof value !== 'string') return value
  const bytes = Buffer.from(text)
  const scanner = new JsonScanner(bytes, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)
  scanner.advance(bytes.length)
  if (countMembers(value, text.includes('\\')) !== scanner.members)
    throw malformed('An object has the same key twice.')
  return value
}

/** Checks all texts of a value (`escapes`: they may hold what only an escape can write) and counts its members. */
export function countMembers(value: unknown, escapes: boolean): number {
  if (typeof value === 'string') {
    if (escapes) rejectUnstorable(value)
    return 0
  }
  if (typeof value !== 'object' || value === null) return 0
  let members = 0
  if (Array.isArray(value)) {
    for (const item of value) members += countMembers(item, escapes)
    return members
  }
  for (const key in value) {
    if (key === '__proto__') throw malformed('"__proto__" is not allowed as a key.')
    if (escapes) rejectUnstorable(key)
    members += 1 + countMembers((value as Record<string, unknown>)[key], escapes)
  }
  return members
}

function rejectUnstorable(text: string): void {
  if (text.includes('\0')) throw malformed('A text contains NUL (\\u0000).')
  if (!text.isWellFormed()) throw malformed('A text contains a lone surrogate.')
}

/** The body is refused before its rows are looked at. */
export function malformed(detail: string): Problem {
  return new Problem('malformed-body', detail)
}
