import { isUtf8 } from 'node:buffer'
import { Problem } from '../contract/problem.ts'

const depthMax = 32
const exactDigitsMax = 15

/**
 * Parses a JSON body. Refuses, with `malformed-body`, what JSON.parse lets through and a database or a second reader
 * would see differently: invalid UTF-8, NUL and lone surrogates, keys given twice, `__proto__` keys, depth over 32.
 * A number that a double cannot hold as it was written becomes Infinity, which is no integer and no money.
 */
export function parseJson(body: Buffer): unknown {
  if (!isUtf8(body)) throw malformed('the body is not valid UTF-8')
  const { members, hasInexactNumbers, hasEscapes } = scan(body)
  const value = parse(body.toString('utf8'), hasInexactNumbers)
  const check = { members: 0, checkText: hasEscapes }
  walk(value, check)
  if (check.members !== members) throw malformed('an object has the same key twice')
  return value
}

function parse(text: string, hasInexactNumbers: boolean): unknown {
  try {
    return hasInexactNumbers ? JSON.parse(text, refuseInexact) : JSON.parse(text)
  } catch (error) {
    // V8 quotes the text around the fault; the position alone tells no one else's data.
    const position = /position \d+( \(line \d+ column \d+\))?/.exec((error as Error).message)?.[0]
    throw malformed(
      position ? `the body is not valid JSON at ${position}` : 'the body is not valid JSON',
    )
  }
}

function malformed(detail: string): Problem {
  return new Problem('malformed-body', `${detail[0]?.toUpperCase()}${detail.slice(1)}.`)
}

interface Scan {
  /** Members of all objects, as written. */
  members: number
  /** Some number has so many digits, or an exponent, that a double may not hold it. */
  hasInexactNumbers: boolean
  hasEscapes: boolean
}

/** One pass over the bytes outside strings: depth, members, digits. Well-formedness is left to JSON.parse. */
function scan(bytes: Buffer): Scan {
  let members = 0
  let depth = 0
  let digits = 0
  let hasInexactNumbers = false
  let hasEscapes = false
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index] as number
    if ((byte >= 0x30 && byte <= 0x39) || byte === 0x2e) {
      if (++digits > exactDigitsMax) hasInexactNumbers = true
      continue
    }
    // A small exponent makes few digits 0, a large one makes them infinite.
    if (digits > 0 && (byte | 0x20) === 0x65) hasInexactNumbers = true
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
  return { members, hasInexactNumbers, hasEscapes }
}

/** Keeps a number only if reading it back gives the digits that were written. */
function refuseInexact(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || context?.source === undefined) return value
  if (significantDigits(context.source) === significantDigits(String(value))) return value
  return value < 0 ? -Infinity : Infinity
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
