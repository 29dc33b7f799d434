import { sql } from 'kysely'
import type { Positioned } from '../contract/duplicates.ts'
import type { RowErrors } from '../contract/row-errors.ts'
import { type InputColumn, inputRows } from '../database/input-rows.ts'
import type { Trx } from '../database/pool.ts'
import type { PriceList } from '../price-lists/queries.ts'
import { type Attribute, type AttributesByRow, removedColumn } from './dynamic-attributes.ts'

export const namesMax = 100

/** Names the payload rows, given in payload order, with which a row of the list would have more than 100 names. */
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

/** The rows that would have too many names, with the names that they have now and keep. */
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
