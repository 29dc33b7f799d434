/** What a spreadsheet would run as a formula, also behind apostrophes that are there already. */
const formula = /^'*[=+\-@\t\r\n＝＋－＠]/
const plainNumber = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/
const special = /[",\r\n]/

/** A text as a cell that no spreadsheet runs: what would be a formula stands behind an apostrophe. Numbers stay. */
export function escapeFormula(text: string): string {
  return formula.test(text) && !plainNumber.test(text) ? `'${text}` : text
}

/** A record of CSV (RFC 4180). */
export function csvLine(fields: readonly string[]): string {
  return `${fields.map((field) => (special.test(field) ? `"${field.replaceAll('"', '""')}"` : field)).join(',')}\r\n`
}
