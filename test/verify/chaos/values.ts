/** The value of a row, derived from its name; differs from its neighbours and from other batches. */
export const digitsOf = (id: string): number => Number(id.replace(/\D/g, ''))

/** The same in SQL, from a column. */
export const valueIn = (column: string): string =>
  `regexp_replace(${column}, '\\D', '', 'g')::numeric`

/** A sale of the batch `name`. */
export function aSale(name: string, index: number) {
  const id = `${name}-${index}`
  return {
    transaction_id: id,
    code: name,
    extension: '',
    quantity: '1',
    revenue: `${digitsOf(id)}.5`,
  }
}

/** A product of the batch `name`. */
export function aProduct(name: string, index: number) {
  const code = `${name}-${index}`
  return { code, country: 'FR', purchase: digitsOf(code) }
}
