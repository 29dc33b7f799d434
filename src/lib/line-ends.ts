export const newline = 0x0a
export const carriageReturn = 0x0d

/** How often a byte occurs, without reading the text around it. */
export function countOf(bytes: Buffer, byte: number): number {
  let count = 0
  for (let at = bytes.indexOf(byte); at !== -1; at = bytes.indexOf(byte, at + 1)) count++
  return count
}
