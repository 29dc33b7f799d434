import { isUtf8 } from 'node:buffer'
import { Problem } from '../contract/problem.ts'
import { findFault } from './json-fault.ts'
import { findRepeatedKey } from './repeated-key.ts'
import { locate, rowsPointer } from './shape-errors.ts'

const depthMax = 32
const exactDigitsMax = 15

/**
 * Parses a JSON body. Refuses, with `malformed-body`, what JSON.parse lets through and a database or a second reader
 * would see differently: invalid UTF-8, NUL and lone surrogates, keys given twice, `__proto__` keys, depth over 32.
 * A number that a double cannot hold as it was written becomes NaN, which no schema accepts.
 */
export function parseJson(body: Buffer): unknown {
  if (!isUtf8(body)) throw malformed('the body is not valid UTF-8')
  const { members, hasLongNumbers, hasEscapes } = scan(body)
  const text = body.toString('utf8')
  const value = parse(text, hasLongNumbers)
  const check = { members: 0, checkText: hasEscapes }
  walk(value, check)
  if (check.members !== members) throw repeatedKey(text, value)
  return value
}

/** Names the place of the key that is given twice; found by a second pass, which only a refused body costs. */
function repeatedKey(text: string, value: unknown): Problem {
  const pointer = findRepeatedKey(text)
  const error = { pointer, code: 'not_allowed', message: 'this key is given twice' } as const
  return new Problem('malformed-body', `An object has the same key twice, at ${pointer}.`, {
    errors: [locate(error, rowsPointer(value) ?? '')],
  })
}

function parse(text: string, hasLongNumbers: boolean): unknown {
  try {
    return hasLongNumbers ? JSON.parse(text, refuseInexact) : JSON.parse(text)
  } catch {
    // Not V8's message: it quotes the text around the fault, and tells the position of some faults only.
    const index = findFault(text)
    const lines = text.slice(0, index).split('\n')
    const place = `line ${lines.length} column ${(lines.at(-1) ?? '').length + 1}`
    throw malformed(`the body is not valid JSON at position ${index} (${place})`)
  }
}

function malformed(detail: string): Problem {
  return new Problem('malformed-body', `${detail[0]?.toUpperCase()}${detail.slice(1)}.`)
}

interface Scan {
  /** Members of all objects, as written. */
  members: number
  hasLongNumbers: boolean
  hasEscapes: boolean
}

/** One pass over the bytes outside strings: depth, members, digits. Well-formedness is left to JSON.parse. */
function scan(bytes: Buffer): Scan {
  let members = 0
  let depth = 0
  let digits = 0
  let hasLongNumbers = false
  let hasEscapes = false
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index] as number
    if ((byte >= 0x30 && byte <= 0x39) || byte === 0x2e) {
      if (++digits > exactDigitsMax) hasLongNumbers = true
      continue
    }
    // 1e-400 would be read as 0.
    if (digits > 0 && (byte === 0x65 || byte === 0x45)) hasLongNumbers = true
    digits = 0
    if (byte === 0x22) {
      index++
      while (index < bytes.length && bytes[index] !== 0x22) {
        if (bytes[index] === 0x5c) {
          hasEscapes = true
          index++
        }
        index++
      }
    } else if (byte === 0x3a) members++
    else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > depthMax) throw malformed(`the body is nested deeper than ${depthMax} levels`)
    } else if (byte === 0x7d || byte === 0x5d) depth--
  }
  return { members, hasLongNumbers, hasEscapes }
}

/** Keeps a number only if reading it back gives the digits that were written. */
function refuseInexact(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || context?.source === undefined) return value
  return significantDigits(context.source) === significantDigits(String(value)) ? value : Number.NaN
}

function significantDigits(number: string): string {
  const mantissa = number.replace(/e.*$/i, '').replace(/[-+.]/g, '')
  return mantissa.replace(/^0+/, '').replace(/0+$/, '')
}

function walk(value: unknown, check: { members: number; checkText: boolean }): void {
  if (typeof value === 'string') {
    if (check.checkText) rejectUnstorable(value)
  } else if (Array.isArray(value)) {
    for (const item of value) walk(item, check)
  } else if (typeof value === 'object' && value !== null) {
    for (const key of Object.keys(value)) {
      check.members++
      if (key === '__proto__') throw malformed('"__proto__" is not allowed as a key')
      if (check.checkText) rejectUnstorable(key)
      walk((value as Record<string, unknown>)[key], check)
    }
  }
}

function rejectUnstorable(text: string): void {
  if (text.includes('\0')) throw malformed('a text contains NUL (\\u0000)')
  if (!text.isWellFormed()) throw malformed('a text contains a lone surrogate')
}
