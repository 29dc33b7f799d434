import { endOfString } from './json-string.ts'
import { Problem } from './problem.ts'

/** Parsed in about 50 ms. Thirty columns with all the values that they may list are 300,000. */
const valuesMax = 500_000

const quote = 0x22
const comma = 0x2c
const openBrace = 0x7b
const closeBrace = 0x7d
/** Makes a brace of a bracket, and of a brace itself. */
const toBrace = 0x20

/** Throws `malformed-body` for more than 500,000 values in a row, or in a body that is no array of rows. */
export function rejectValues(text: string): void {
  // As few characters cannot hold as many; that is every part of an ordinary body.
  if (text.length <= valuesMax) return
  const rowDepth = text.startsWith('[') ? 1 : 0
  let [values, depth] = [1, 0]
  for (let index = 0; index < text.length && values <= valuesMax; index++) {
    const character = text.charCodeAt(index)
    if (character === comma) values = depth === rowDepth ? 1 : values + 1
    else if (character === quote) index = endOfString(text, index) - 1
    else if ((character | toBrace) === openBrace) depth++
    else if ((character | toBrace) === closeBrace) depth--
  }
  if (values <= valuesMax) return
  const part = 'A row of the body, or all that stands around its rows,'
  throw new Problem('malformed-body', `${part} has more than ${valuesMax} values.`)
}

/** For more objects and arrays than a body may have. */
export function tooManyContainers(containersMax: number): string {
  return `A call takes at most ${containersMax} objects and arrays, this one has more. Send them in several calls.`
}
