import type { FuncKeywordDefinition, SchemaValidateFunction } from 'ajv'

/**
 * `uniqueItems` for items that are no objects, in linear time. Ajv's own keeps those that it has seen as keys of an
 * object, where it never finds `__proto__` again.
 */
export const uniqueItems: FuncKeywordDefinition = {
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  errors: true,
  compile: (mustDiffer: boolean) => (mustDiffer ? rejectRepeated : () => true),
}

const rejectRepeated: SchemaValidateFunction = (items: unknown[]) => {
  const places = new Map<unknown, number>()
  for (const [i, item] of items.entries()) {
    const j = places.get(item)
    if (j !== undefined) {
      const message = `must NOT have duplicate items (items ## ${i} and ${j} are identical)`
      rejectRepeated.errors = [{ keyword: 'uniqueItems', params: { i, j }, message }]
      return false
    }
    places.set(item, i)
  }
  return true
}
