export const newline = 0x0a
export const carriageReturn = 0x0d

/** Counts how often `byte` occurs. */
export function countOf(bytes: Buffer, byte: number): number {
  let count = 0
  for (let at = bytes.indexOf(byte); at !== -1; at = bytes.indexOf(byte, at + 1)) count++
  return count
}
