const quote = 0x22
const backslash = 0x5c

/** The index behind the string of a JSON text that begins at `start`; the end of a text that does not close it. */
export function endOfString(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index++) {
    const character = text.charCodeAt(index)
    if (character === quote) return index + 1
    if (character === backslash) index++
  }
  return text.length
}
