import { Problem } from '../contract/problem.ts'
import { endOfString } from './json-string.ts'

/** Parsed in about 50 ms. Thirty columns with all the values that they may list are 300,000. */
const valuesMax = 500_000

const quote = 0x22
const comma = 0x2c

/** Throws `malformed-body` for more than 500,000 values in a part of a body that is parsed at once. */
export function rejectValues(text: string): void {
  // As few characters cannot hold as many; that is every part of an ordinary body.
  if (text.length <= valuesMax) return
  let values = 1
  for (let index = 0; index < text.length && values <= valuesMax; index++) {
    const character = text.charCodeAt(index)
    if (character === comma) values++
    else if (character === quote) index = endOfString(text, index) - 1
  }
  if (values <= valuesMax) return
  const part = 'A row of the body, or all that stands around its rows,'
  throw new Problem('malformed-body', `${part} has more than ${valuesMax} values.`)
}

/** For more objects and arrays than a body may have. */
export function tooManyContainers(containersMax: number): Problem {
  const detail = `A call takes at most ${containersMax} objects and arrays, this one has more. Send them in several calls.`
  return new Problem('payload-too-large', detail)
}
