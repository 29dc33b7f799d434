import { type RawBuilder, sql } from 'kysely'
import { findColumns } from '../catalog/columns.ts'
import { type KeyedRow, readRowKeys, rowKey } from '../catalog/row-key.ts'
import { type Positioned, uniqueRows } from '../contract/duplicates.ts'
import { Answer, type Schemas } from '../contract/operation.ts'
import { pointerSegment, type RowErrors } from '../contract/row-errors.ts'
import { columnsOf, type InputColumn, inputRows } from '../database/input-rows.ts'
import type { Trx } from '../database/pool.ts'
import { onFreeList, rejectBusy } from '../jobs/list-order.ts'
import { mapCooperatively, sortCooperatively } from '../lib/cooperative.ts'
import { revisionHeader } from '../price-lists/history/record-revision.ts'
import {
  lockPriceList,
  ofList,
  type PriceList,
  rejectUnmanaged,
  rejectUnpublished,
} from '../price-lists/queries.ts'
import { findNamedList } from './payload.ts'
import { findPublishedRows, type RowIds, rejectMissing } from './write/set-prices.ts'

/**
 * Sets and removes dynamic attributes of published rows by name. Returns the ids of the rows in payload order, each
 * once. They are no part of a revision.
 */
export const updateDynamicAttributes = onFreeList<'updateDynamicAttributes'>(
  async (trx, { account, body, errors }) => {
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
    const found = await ofFoundRows(attributes, rowIds)
    const joined = await joinRows(trx, list, found)
    if (found.length > 0) await rejectTooManyNames(trx, joined, errors)
    errors.reject()
    if (found.length > 0) await mergeAttributes(trx, list, joined)
    const ids = [...new Set(found.map(({ rowId }) => rowId))]
    return new Answer(ids, revisionHeader(list.version))
  },
)

interface OfRow extends Positioned<Attribute> {
  rowId: number
}

/** The attributes of rows that were found, in payload order. */
async function ofFoundRows(attributes: Positioned<Attribute>[], rowIds: RowIds): Promise<OfRow[]> {
  const placed = attributes.map((attribute, index) => ({ ...attribute, rowId: rowIds[index] }))
  const found = placed.filter((attribute): attribute is OfRow => attribute.rowId !== null)
  return sortCooperatively(found, (a, b) => a.position - b.position)
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
interface Attribute {
  code: string
  extensions: string[]
  name: string
  value: unknown
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

const namesMax = 100

/** SQL of a FROM item with the places (position, line) of names beyond the limit of a row. Removed names make room. */
export function namesTooMany(joined: JoinedAttributes): RawBuilder<unknown> {
  return sql`(
    select position, line from (
      select f.position, f.line, f.value <> 'null' as is_new,
        count(*) filter (where f.value <> 'null') over (partition by r.id order by f.position) as added,
        count(*) filter (where f.value = 'null') over (partition by r.id) as removed,
        (select count(*) from jsonb_object_keys(coalesce(r.dynamic_attributes, '{}'))) as held
      from ${joined}
      where coalesce(r.dynamic_attributes, '{}') ? f.name = (f.value = 'null')
    ) as changed_names
    where is_new and held - removed + added > ${namesMax}::integer
  ) as beyond`
}

/** SQL of a FROM clause: attributes `f` (position, line, name, value), each once, with their rows `r`. */
type JoinedAttributes = RawBuilder<unknown>

export const tooManyNames = {
  field: 'dynamic_attribute_name',
  code: 'length',
  message: `a row has at most ${namesMax} dynamic attributes`,
} as const

async function rejectTooManyNames(
  trx: Trx,
  joined: JoinedAttributes,
  errors: RowErrors,
): Promise<void> {
  const { rows } = await sql<{ position: number }>`
    select position from ${namesTooMany(joined)}`.execute(trx)
  const { field, code, message } = tooManyNames
  for (const { position } of rows) errors.add(position, field, code, message)
}

async function joinRows(
  trx: Trx,
  { account_id, id }: PriceList,
  attributes: OfRow[],
): Promise<JoinedAttributes> {
  const input = await inputRows(trx, ofRowColumns, attributes)
  return sql`(select *, null::integer as line from ${input}) as f
    join price_list_rows r on r.account_id = ${account_id} and r.price_list_id = ${id} and r.id = f.row_id`
}

/** Input columns of an attribute. */
export const attributeColumns: InputColumn<Attribute>[] = [
  { name: 'name', type: 'text', value: ({ name }) => name },
  { name: 'value', type: 'jsonb', value: ({ value }) => JSON.stringify(value) },
]

const ofRowColumns: InputColumn<OfRow>[] = [
  { name: 'position', type: 'integer', value: ({ position }) => position },
  { name: 'row_id', type: 'bigint', value: ({ rowId }) => rowId },
  ...columnsOf(attributeColumns, ({ row }: OfRow) => row),
]

/** Merges attributes into their rows; null removes one. Returns the number of rows written. */
export async function mergeAttributes(
  trx: Trx,
  list: PriceList,
  joined: JoinedAttributes,
): Promise<number> {
  const { numAffectedRows } = await sql`
    update price_list_rows r
    set dynamic_attributes = (coalesce(r.dynamic_attributes, '{}') || input.attributes)
      - array(select key from jsonb_each(input.attributes) where value = 'null')
    from (
      select r.id, jsonb_object_agg(f.name, f.value) as attributes from ${joined} group by r.id
    ) as input
    where ${ofList(list, 'r')} and r.id = input.id`.execute(trx)
  return Number(numAffectedRows)
}
