/**
 * A one-dimensional Postgres array as text. Arrays of arrays travel as an array of these texts, each cast in SQL:
 * Postgres has no ragged arrays, and one parameter per row would pass the limit of 65,535.
 */
export function arrayLiteral(items: readonly (string | number | boolean | null)[]): string {
  return `{${items.map(itemLiteral).join(',')}}`
}

function itemLiteral(item: string | number | boolean | null): string {
  if (item === null) return 'NULL'
  if (typeof item !== 'string') return String(item)
  // Most texts have nothing to escape: to look takes a third of the time.
  return `"${/[\\"]/.test(item) ? item.replace(/[\\"]/g, '\\$&') : item}"`
}

/** The numbers of a Postgres array as text: JSON.parse takes a quarter of the time that they would take one by one. */
export function readNumbers(array: string | null): number[] {
  return array ? JSON.parse(`[${array.slice(1, -1).replaceAll('NULL', 'null')}]`) : []
}
