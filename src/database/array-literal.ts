/**
 * Returns a one-dimensional array as text. Arrays of arrays are sent as an array of such texts, each cast in SQL:
 * PostgreSQL has no ragged arrays, and allows at most 65,535 parameters.
 */
export function arrayLiteral(items: readonly (string | number | boolean | null)[]): string {
  return `{${items.map(itemLiteral).join(',')}}`
}

function itemLiteral(item: string | number | boolean | null): string {
  if (item === null) return 'NULL'
  if (typeof item !== 'string') return String(item)
  // Most texts have nothing to escape, and the test takes a third of the time of a replacement.
  return `"${/[\\"]/.test(item) ? item.replace(/[\\"]/g, '\\$&') : item}"`
}

/** Reads the numbers of an array literal. JSON.parse takes a quarter of the time of parsing them one by one. */
export const readNumbers = (array: string | null): number[] => readNullable(array) as number[]

/** As `readNumbers`, of an array in which some may be missing. */
export function readNullable(array: string | null): (number | null)[] {
  return array ? JSON.parse(`[${array.slice(1, -1).replaceAll('NULL', 'null')}]`) : []
}
