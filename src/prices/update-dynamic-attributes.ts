import { type RawBuilder, sql } from 'kysely'
import { findColumns } from '../catalog/columns.ts'
import { type KeyedRow, readRowKeys, rowKey } from '../catalog/row-key.ts'
import { type Positioned, uniqueRows } from '../contract/duplicates.ts'
import type { Handler, Schemas } from '../contract/operation.ts'
import { pointerSegment, type RowErrors } from '../contract/row-errors.ts'
import { arrayLiteral } from '../database/array-literal.ts'
import { type InputColumn, inputRows } from '../database/input-rows.ts'
import type { Trx } from '../database/pool.ts'
import { rejectBusy, whenListIsFree } from '../jobs/list-order.ts'
import { mapCooperatively, sortCooperatively } from '../lib/cooperative.ts'
import {
  lockPriceList,
  type PriceList,
  rejectUnmanaged,
  rejectUnpublished,
} from '../price-lists/queries.ts'
import { findNamedList } from './payload.ts'
import { findPublishedRows, type RowIds, rejectMissing } from './write/set-prices.ts'

/**
 * Sets and removes dynamic attributes of published rows by name. Returns the ids of the rows in payload order, each
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
      await mapCooperatively(errors.sound(body.payload), ({ row, position }) =>
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
      if (byRow.size === 0) return []
      await mergeAttributes(trx, list, await inputRows(trx, mergedColumns, [...byRow]))
      return [...byRow.keys()]
    }),
  )

/** Groups attributes by published row, both in payload order. */
async function groupByRowId(
  attributes: Positioned<Attribute>[],
  rowIds: RowIds,
): Promise<AttributesByRow> {
  const byRow: AttributesByRow = new Map()
  const placed = attributes.map((attribute, index) => ({ ...attribute, rowId: rowIds[index] }))
  const inPayloadOrder = await sortCooperatively(placed, (a, b) => a.position - b.position)
  await mapCooperatively(inPayloadOrder, (attribute) => {
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

type AttributesByRow = Map<number, Positioned<Attribute>[]>
type RowAttributes = [id: number, attributes: Positioned<Attribute>[]]

const removedColumn: InputColumn<RowAttributes> = {
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

/** The fields of numbers that a double does not hold exactly; the JSON reader made them infinite. */
function inexactNumbers(value: unknown, field: string): string[] {
  if (typeof value === 'number') return Number.isFinite(value) ? [] : [field]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, item]) =>
    inexactNumbers(item, `${field}/${pointerSegment(key)}`),
  )
}

export const namesMax = 100

/** Reports attributes, in payload order, that would give a row more than 100 names. */
async function rejectTooManyNames(
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

const nameColumns: InputColumn<RowAttributes>[] = [
  { name: 'id', type: 'bigint', value: ([id]) => id },
  {
    name: 'names',
    type: 'jsonb',
    value: ([, attributes]) =>
      JSON.stringify(Object.fromEntries(attributes.map(({ row }) => [row.name, 0]))),
  },
  removedColumn,
]

/** Finds the rows that would have too many names, with the names that they keep. */
async function findFullRows(
  trx: Trx,
  list: PriceList,
  byRow: AttributesByRow,
): Promise<{ id: number; held: string[] }[]> {
  if (byRow.size === 0) return []
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

const mergedColumns: InputColumn<RowAttributes>[] = [
  { name: 'id', type: 'bigint', value: ([id]) => id },
  {
    name: 'attributes',
    type: 'jsonb',
    value: ([, attributes]) =>
      JSON.stringify(Object.fromEntries(attributes.map(({ row }) => [row.name, row.value]))),
  },
]

/**
 * Merges the attributes of `input` (id, attributes) into the rows; null removes one. Returns the number of rows
 * written.
 */
export async function mergeAttributes(
  trx: Trx,
  list: PriceList,
  input: RawBuilder<unknown>,
): Promise<number> {
  const { numAffectedRows } = await sql`
    update price_list_rows r
    set dynamic_attributes = (coalesce(r.dynamic_attributes, '{}') || input.attributes)
      - array(select key from jsonb_each(input.attributes) where value = 'null')
    from ${input}
    where r.account_id = ${list.account_id} and r.price_list_id = ${list.id} and r.id = input.id`.execute(
    trx,
  )
  return Number(numAffectedRows)
}
