/** What begins and ends a colour; `styleText` is not there before Node 20.12. */
const codes = { red: [31, 39], dim: [2, 22] } as const

/** Colours what goes to standard error, where that is a terminal and nobody asked for none (NO_COLOR). */
export function paint(colour: keyof typeof codes, text: string): string {
  const isColoured = process.stderr.isTTY && !process.env.NO_COLOR && process.env.TERM !== 'dumb'
  const [begin, end] = codes[colour]
  return isColoured ? `\u001b[${begin}m${text}\u001b[${end}m` : text
}

/** The text without what would move the cursor or colour the terminal, which a name may hold. Lines stay. */
export function printable(text: string): string {
  return text.replace(/(?!\n)\p{Cc}/gu, '·')
}
