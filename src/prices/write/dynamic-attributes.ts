import { sql } from 'kysely'
import type { KeyedRow } from '../../catalog/row-key.ts'
import type { Positioned } from '../../contract/duplicates.ts'
import type { Schemas } from '../../contract/operation.ts'
import { pointerSegment, type RowErrors } from '../../contract/row-errors.ts'
import { arrayLiteral, type InputColumn, inputRows } from '../../database/input-rows.ts'
import type { Trx } from '../../database/pool.ts'
import type { PriceList } from '../../price-lists/queries.ts'

type Input = Schemas['UpdateDynamicAttributesRow']

export const fixedKeys = new Set([
  'code',
  'extensions',
  'dynamic_attribute_name',
  'dynamic_attribute_value',
])
const valueBytesMax = 4096

/** A dynamic attribute of a row; the value null removes it. */
export interface Attribute {
  code: string
  extensions: string[]
  name: string
  value: unknown
}

/** Attributes by row id. */
export type AttributesByRow = Map<number, Positioned<Attribute>[]>

/** The input column of removed names. */
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

/** Reports an attribute whose name or value is not allowed. */
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

/** The places of numbers that a double does not hold exactly; the JSON reader made them NaN or infinite. */
function inexactNumbers(value: unknown, field: string): string[] {
  if (typeof value === 'number') return Number.isFinite(value) ? [] : [field]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, item]) =>
    inexactNumbers(item, `${field}/${pointerSegment(key)}`),
  )
}

export const namesMax = 100

/** Reports attributes, in payload order, that would give a row more than 100 names. */
export async function rejectTooManyNames(
  trx: Trx,
  list: PriceList,
  byRow: AttributesByRow,
  errors: RowErrors,
): Promise<void> {
  for (const { id, held } of await findFullRows(trx, list, byRow)) {
    const names = new Set(held)
    for (const { row, position } of byRow.get(id) ?? []) {
      const { name, value } = row
      if (value === null) continue
      if (names.has(name) || names.size < namesMax) names.add(name)
      else
        errors.add(
          position,
          'dynamic_attribute_name',
          'length',
          `a row has at most ${namesMax} dynamic attributes`,
        )
    }
  }
}

const nameColumns: InputColumn<[id: number, attributes: Positioned<Attribute>[]]>[] = [
  { name: 'id', type: 'bigint', value: ([id]) => id },
  {
    name: 'names',
    type: 'jsonb',
    value: ([, attributes]) =>
      JSON.stringify(Object.fromEntries(attributes.map(({ row }) => [row.name, 0]))),
  },
  removedColumn,
]

/** The rows that would have too many names, with the names that they keep. */
async function findFullRows(
  trx: Trx,
  list: PriceList,
  byRow: AttributesByRow,
): Promise<{ id: number; held: string[] }[]> {
  const input = await inputRows(trx, nameColumns, [...byRow])
  const { rows } = await sql<{ id: number; held: string[] }>`
    select r.id, array(select jsonb_object_keys(r.dynamic_attributes - input.removed)) as held
    from ${input}
    join price_list_rows r
      on r.account_id = ${list.account_id} and r.price_list_id = ${list.id} and r.id = input.id
    where (
      select count(*)
      from jsonb_object_keys((coalesce(r.dynamic_attributes, '{}') || input.names) - input.removed)
    ) > ${namesMax}`.execute(trx)
  return rows
}
