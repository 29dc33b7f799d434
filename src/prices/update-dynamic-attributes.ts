import { type RawBuilder, sql } from 'kysely'
import { findColumns } from '../catalog/columns.ts'
import { readRowKeys, rowKey } from '../catalog/row-key.ts'
import { type Positioned, uniqueRows } from '../contract/duplicates.ts'
import type { Handler } from '../contract/operation.ts'
import { type InputColumn, inputRows } from '../database/input-rows.ts'
import type { Trx } from '../database/pool.ts'
import { rejectBusy, whenListIsFree } from '../jobs/list-order.ts'
import { mapInTurns, sortInTurns } from '../lib/cooperative.ts'
import {
  lockPriceList,
  type PriceList,
  rejectUnmanaged,
  rejectUnpublished,
} from '../price-lists/queries.ts'
import { findNamedList } from './payload.ts'
import {
  type Attribute,
  type AttributesByRow,
  attributeOf,
  fixedKeys,
  rejectFaultyAttribute,
  rejectTooManyNames,
  removedColumn,
} from './write/dynamic-attributes.ts'
import { findPublishedRows, type RowIds, rejectMissing } from './write/set-prices.ts'

/**
 * Sets and removes dynamic attributes of published rows by name. Answers the ids of the rows in payload order, each
 * once.
 */
export const updateDynamicAttributes: Handler<'updateDynamicAttributes'> = ({
  account,
  body,
  errors,
  inAccount,
}) =>
  whenListIsFree(() =>
    inAccount(async (trx) => {
      const list = await findNamedList(body, (by) => lockPriceList(trx, account, by))
      rejectUnmanaged(list)
      await rejectBusy(trx, account, list.id)
      rejectUnpublished(list)
      const { extensions } = await findColumns(trx, account)
      await mapInTurns(errors.sound(body.payload), ({ row, position }) =>
        rejectFaultyAttribute(row, position, errors),
      )
      const keyed = await readRowKeys(body.payload, extensions, fixedKeys, errors)
      const attributes = await uniqueRows(keyed.map(attributeOf), errors, attributeKey)
      const rows = attributes.map(({ row }) => row)
      const rowIds = await findPublishedRows(trx, list, rows)
      rejectMissing(keyed, rows, rowIds, errors)
      const byRow = await groupByRowId(attributes, rowIds)
      await rejectTooManyNames(trx, list, byRow, errors)
      errors.reject()
      await mergeAttributes(trx, list, await inputRows(trx, mergedColumns, [...byRow]))
      return [...byRow.keys()]
    }),
  )

/** The attributes by published row, both in payload order. */
async function groupByRowId(
  attributes: Positioned<Attribute>[],
  rowIds: RowIds,
): Promise<AttributesByRow> {
  const byRow: AttributesByRow = new Map()
  const placed = attributes.map((attribute, index) => ({ ...attribute, rowId: rowIds[index] }))
  const inPayloadOrder = await sortInTurns(placed, (a, b) => a.position - b.position)
  await mapInTurns(inPayloadOrder, (attribute) => {
    const { rowId } = attribute
    const present = rowId && byRow.get(rowId)
    if (present) present.push(attribute)
    else if (rowId) byRow.set(rowId, [attribute])
  })
  return byRow
}

function attributeKey(attribute: Attribute): string {
  return JSON.stringify([rowKey(attribute), attribute.name])
}

const mergedColumns: InputColumn<[id: number, attributes: Positioned<Attribute>[]]>[] = [
  { name: 'id', type: 'bigint', value: ([id]) => id },
  {
    name: 'attributes',
    type: 'jsonb',
    value: ([, attributes]) =>
      JSON.stringify(Object.fromEntries(attributes.map(({ row }) => [row.name, row.value]))),
  },
  removedColumn,
]

/**
 * Merges the attributes of `input` (id, attributes, removed) into those of the rows. Returns the number of changed
 * rows.
 */
export async function mergeAttributes(
  trx: Trx,
  list: PriceList,
  input: RawBuilder<unknown>,
): Promise<number> {
  const { numAffectedRows } = await sql`
    update price_list_rows r
    set dynamic_attributes = (coalesce(r.dynamic_attributes, '{}') || input.attributes) - input.removed
    from ${input}
    where r.account_id = ${list.account_id} and r.price_list_id = ${list.id} and r.id = input.id`.execute(
    trx,
  )
  return Number(numAffectedRows)
}
