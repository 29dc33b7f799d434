/**
 * What a spreadsheet may run as a formula: also behind blanks and characters without width, which some drop, and behind
 * apostrophes that are there already.
 */
const formula =
  /^'*(?:[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]*[=+\-@＝＋－＠]|[\t\r\n])/u
const plainNumber = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/
const special = /[",\r\n]/

/** A text as a cell that no spreadsheet runs: what would be a formula stands behind an apostrophe. Numbers stay. */
export function escapeFormula(text: string): string {
  return formula.test(text) && !plainNumber.test(text) ? `'${text}` : text
}

/** The cell without the apostrophe that keeps a spreadsheet from running it. */
export function unescapeFormula(cell: string): string {
  return cell.startsWith("'") && formula.test(cell) ? cell.slice(1) : cell
}

/** A record of CSV (RFC 4180). */
export function csvLine(fields: readonly string[]): string {
  return `${fields.map((field) => (special.test(field) ? `"${field.replaceAll('"', '""')}"` : field)).join(',')}\r\n`
}
