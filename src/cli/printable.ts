/** The text without what would move the cursor or colour the terminal, which a name may hold. Lines stay. */
export function printable(text: string): string {
  return text.replace(/(?!\n)\p{Cc}/gu, '·')
}
