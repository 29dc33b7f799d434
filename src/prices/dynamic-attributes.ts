import type { KeyedRow } from '../catalog/row-key.ts'
import type { Positioned } from '../contract/duplicates.ts'
import type { Schemas } from '../contract/operation.ts'
import { pointerSegment, type RowErrors } from '../contract/row-errors.ts'
import { arrayLiteral } from '../database/array-literal.ts'
import type { InputColumn } from '../database/input-rows.ts'

type Input = Schemas['UpdateDynamicAttributesRow']

export const fixedKeys = new Set([
  'code',
  'extensions',
  'dynamic_attribute_name',
  'dynamic_attribute_value',
])
const valueBytesMax = 4096

/** One dynamic attribute of one row; the value null removes it. */
export interface Attribute {
  code: string
  extensions: string[]
  name: string
  value: unknown
}

/** Attributes by the id of their row. */
export type AttributesByRow = Map<number, Positioned<Attribute>[]>

/** The names that are removed from a row, as an input of a statement. */
export const removedColumn: InputColumn<[id: number, attributes: Positioned<Attribute>[]]> = {
  name: 'removed',
  type: 'text[]',
  value: ([, attributes]) =>
    arrayLiteral(attributes.flatMap(({ row }) => (row.value === null ? row.name : []))),
}

/** The attribute that a payload row sets or removes. */
export function attributeOf({ row, position, code, extensions }: KeyedRow<Input>) {
  const { dynamic_attribute_name: name, dynamic_attribute_value: value } = row
  return { row: { code, extensions, name, value }, position }
}

/** Names a row whose attribute has a name or a value that is not taken. */
export function rejectFaultyAttribute(row: Input, position: number, errors: RowErrors): void {
  if (row.dynamic_attribute_name === '__proto__')
    errors.add(position, 'dynamic_attribute_name', 'not_allowed', 'is not allowed as a name')
  const value: unknown = row.dynamic_attribute_value
  if (Buffer.byteLength(JSON.stringify(value)) > valueBytesMax) {
    const message = `must be at most ${valueBytesMax} bytes as JSON`
    errors.add(position, 'dynamic_attribute_value', 'length', message)
    return
  }
  for (const field of inexactNumbers(value, 'dynamic_attribute_value'))
    errors.add(position, field, 'type', 'must be a number that a double holds as it was written')
}

/** Where in a value the numbers are that were not kept as they were written (they are NaN or infinite by now). */
function inexactNumbers(value: unknown, field: string): string[] {
  if (typeof value === 'number') return Number.isFinite(value) ? [] : [field]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, item]) =>
    inexactNumbers(item, `${field}/${pointerSegment(key)}`),
  )
}
