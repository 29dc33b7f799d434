import { sql } from 'kysely'
import { findColumns } from '../catalog/columns.ts'
import { type KeyedRow, readRowKeys, rowKey } from '../catalog/row-key.ts'
import { uniqueRows } from '../contract/duplicates.ts'
import { mapInTurns } from '../contract/in-turns.ts'
import type { Handler, Schemas } from '../contract/operation.ts'
import { pointerSegment, type RowErrors } from '../contract/row-errors.ts'
import { type InputColumn, inputRows } from '../database/input-rows.ts'
import type { Trx } from '../database/pool.ts'
import { rejectBusy, takingTurns } from '../jobs/turn.ts'
import {
  lockPriceList,
  type PriceList,
  rejectUnmanaged,
  rejectUnpublished,
} from '../price-lists/queries.ts'
import { rejectTooManyNames } from './attribute-names.ts'
import { findNamedList } from './payload.ts'
import { findPublishedRows } from './write-prices.ts'

type Input = Schemas['UpdateDynamicAttributesRow']

export const fixedKeys = new Set([
  'code',
  'extensions',
  'dynamic_attribute_name',
  'dynamic_attribute_value',
])
const valueBytesMax = 4096

/** Sets dynamic attributes of published rows, by name. Answers the ids of the rows in payload order, each once. */
export const updateDynamicAttributes: Handler<'updateDynamicAttributes'> = ({
  account,
  body,
  errors,
  inAccount,
}) =>
  takingTurns(() =>
    inAccount(async (trx) => {
      const list = await findNamedList(body, (by) => lockPriceList(trx, account, by))
      rejectUnmanaged(list)
      rejectUnpublished(list)
      const { extensions } = await findColumns(trx, account)
      await mapInTurns(errors.sound(body.payload), ({ row, position }) =>
        rejectFaultyAttribute(row, position, errors),
      )
      const keyed = await readRowKeys(body.payload, extensions, fixedKeys, errors)
      const attributes = await uniqueRows(keyed.map(attributeOf), errors, attributeKey)
      const keys = attributes.map(({ row }) => row)
      const rowIds = await findPublishedRows(trx, list, keys)
      // A row may be on its way: a job that was accepted earlier has its turn first.
      if (rowIds.includes(null)) await rejectBusy(trx, account, list.id)
      for (const [index, { position }] of attributes.entries()) {
        if (rowIds[index] === null)
          errors.add(position, 'code', 'row_not_in_list', 'this row is not in the published list')
      }
      const found = attributes
        .flatMap(({ row, position }, index): Found[] => {
          const rowId = rowIds[index]
          return rowId ? [{ ...row, position, rowId }] : []
        })
        .sort((a, b) => a.position - b.position)
      await rejectTooManyNames(trx, list, found, errors)
      errors.reject()
      await mergeAttributes(trx, list, found)
      return [...new Set(found.map(({ rowId }) => rowId))]
    }),
  )

/** One dynamic attribute of one row. */
export interface Attribute {
  code: string
  extensions: string[]
  name: string
  value: unknown
}

/** One of a published row. */
interface Found extends Attribute {
  position: number
  rowId: number
}

/** The attribute that a payload row sets. */
export function attributeOf({ row, position, code, extensions }: KeyedRow<Input>) {
  const { dynamic_attribute_name: name, dynamic_attribute_value: value } = row
  return { row: { code, extensions, name, value }, position }
}

function attributeKey(attribute: Attribute): string {
  return JSON.stringify([rowKey(attribute), attribute.name])
}

/** Names a row whose attribute has a name or a value that is not taken. */
export function rejectFaultyAttribute(row: Input, position: number, errors: RowErrors): void {
  if (row.dynamic_attribute_name === '__proto__')
    errors.add(position, 'dynamic_attribute_name', 'not_allowed', 'is not allowed as a name')
  const value: unknown = row.dynamic_attribute_value
  for (const field of inexactNumbers(value, 'dynamic_attribute_value'))
    errors.add(position, field, 'type', 'must be a number that a double holds as it was written')
  if (Buffer.byteLength(JSON.stringify(value)) > valueBytesMax) {
    const message = `must be at most ${valueBytesMax} bytes as JSON`
    errors.add(position, 'dynamic_attribute_value', 'length', message)
  }
}

/** Where in a value the numbers are that were not kept as they were written (they are NaN or infinite by now). */
function inexactNumbers(value: unknown, field: string): string[] {
  if (typeof value === 'number') return Number.isFinite(value) ? [] : [field]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, item]) =>
    inexactNumbers(item, `${field}/${pointerSegment(key)}`),
  )
}

const mergedColumns: InputColumn<[id: number, attributes: Attribute[]]>[] = [
  { name: 'id', type: 'bigint', value: ([id]) => id },
  {
    name: 'attributes',
    type: 'jsonb',
    value: ([, attributes]) =>
      JSON.stringify(Object.fromEntries(attributes.map(({ name, value }) => [name, value]))),
  },
]

/** Sets the attributes; those of a row that are not named stay. */
async function mergeAttributes(trx: Trx, list: PriceList, attributes: Found[]): Promise<void> {
  const byRow = Map.groupBy(attributes, ({ rowId }) => rowId)
  const input = await inputRows(trx, mergedColumns, [...byRow])
  await sql`
    update price_list_rows r
    set dynamic_attributes = coalesce(r.dynamic_attributes, '{}') || input.attributes
    from ${input}
    where r.account_id = ${list.account_id} and r.price_list_id = ${list.id} and r.id = input.id`.execute(
    trx,
  )
}
