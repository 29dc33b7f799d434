import { readExactNumber } from '../lib/exact-number.ts'
import { endOfString } from './json-string.ts'

/** Outside strings: 16 digits, or an exponent (a small one makes few digits 0, a large one makes them infinite), or -0. */
const inexactPossible = /[:[,\s](?:-?(?:[\d.]{16}|\d[\d.]*[eE])|-0(?:\.0*)?(?![.\d]))/

/** Those same numbers, and more: the whole of each. */
const suspect = /(?<![\w.+-])(?:-0[\d.eE+-]*|-?[\d.]{16}[\d.eE+-]*|-?[\d.]{1,15}[eE][\d+-]*)/g

/**
 * A JSON text in which a number that a double cannot hold as it was written is one that JSON.parse makes infinite, and -0
 * the 0 that it is read back as. A reviver could tell them, too, but takes sixty times as long as JSON.parse alone.
 */
export function withExactNumbers(text: string): string {
  if (!inexactPossible.test(text)) return text
  const parts: string[] = []
  let copied = 0
  for (let start = 0; start < text.length; ) {
    const quote = text.indexOf('"', start)
    const end = quote < 0 ? text.length : quote
    const between = text.slice(start, end)
    const exact = between.replace(suspect, exactNumber)
    if (exact !== between) {
      parts.push(text.slice(copied, start), exact)
      copied = end
    }
    start = quote < 0 ? end : endOfString(text, quote)
  }
  return parts.join('') + text.slice(copied)
}

/** Keeps a number only if reading it back gives the digits that were written. What is no number stays none. */
function exactNumber(source: string): string {
  const value = readExactNumber(source)
  if (value === undefined) return source
  if (!Number.isFinite(value)) return value < 0 ? '-1e999' : '1e999'
  return value === 0 ? '0' : source
}
