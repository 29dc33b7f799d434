/**
 * A one-dimensional Postgres array as text. Arrays of arrays travel as an array of these texts, each cast in SQL:
 * Postgres has no ragged arrays, and one parameter per row would pass the limit of 65,535.
 */
export function arrayLiteral(items: readonly (string | number | null)[]): string {
  return `{${items.map(itemLiteral).join(',')}}`
}

function itemLiteral(item: string | number | null): string {
  if (item === null) return 'NULL'
  if (typeof item === 'number') return String(item)
  return `"${item.replace(/[\\"]/g, '\\$&')}"`
}
