import { type RawBuilder, sql } from 'kysely'
import { findColumns } from '../../catalog/columns.ts'
import { readRowKeys } from '../../catalog/row-key.ts'
import type { Feed } from '../../contract/feed.ts'
import type { Schemas } from '../../contract/operation.ts'
import {
  bothFaults,
  type StagedFaults,
  stagedFaults,
  stagedFaultsMax,
} from '../../contract/staged-faults.ts'
import type { InputColumn } from '../../database/input-rows.ts'
import type { Trx } from '../../database/pool.ts'
import type { PriceList } from '../../price-lists/queries.ts'
import { keyColumns } from '../payload.ts'
import {
  type Attribute,
  attributeOf,
  fixedKeys,
  mergeAttributes,
  namesMax,
  rejectFaultyAttribute,
} from '../update-dynamic-attributes.ts'
import { joinPublished } from '../write/write-cells.ts'
import {
  exportedKeys,
  extensionColumns,
  findMissingRows,
  findPublishedFeedList,
  rowIds,
} from './staged-rows.ts'

/** Sets and removes dynamic attributes from a file, in the list that its query names. */
export const feedDynamicAttributes: Feed<'updateDynamicAttributes'> = async (
  trx,
  { account, query, job },
) => {
  const list = await findPublishedFeedList(trx, account, query, job)
  const { extensions } = await findColumns(trx, account)
  return {
    columns: extensionColumns(extensions),
    ignored: exportedKeys,
    input: attributeColumns,
    ids: rowIds(list, { extensions }),
    key: ['code', 'extension_key', 'name'],
    read: async (rows: readonly Schemas['UpdateDynamicAttributesRow'][], errors) => {
      for (const { row, position } of errors.sound(rows))
        rejectFaultyAttribute(row, position, errors)
      const keyed = await readRowKeys(rows, extensions, fixedKeys, errors)
      return keyed.map(attributeOf)
    },
    findFaults: async (once) =>
      bothFaults(await findMissingRows(trx, list, job), await findNamesTooMany(trx, list, once)),
    write: async () => ({ created: 0, updated: await mergeAttributes(trx, list, byRow(list)) }),
  }
}

const attributeColumns: InputColumn<Attribute>[] = [
  ...keyColumns,
  { name: 'name', type: 'text', value: ({ name }) => name },
  { name: 'value', type: 'jsonb', value: ({ value }) => JSON.stringify(value) },
]

/** Finds staged names beyond the limit per row. Removed names make room. */
async function findNamesTooMany(
  trx: Trx,
  list: PriceList,
  once: RawBuilder<unknown>,
): Promise<StagedFaults> {
  const { rows } = await sql<{ position: number; line: number; total: number }>`
    select position, line, count(*) over () as total from (
      select f.position, f.line, f.value <> 'null' as is_new,
        count(*) filter (where f.value <> 'null') over (partition by r.id order by f.position) as added,
        count(*) filter (where f.value = 'null') over (partition by r.id) as removed,
        (select count(*) from jsonb_object_keys(coalesce(r.dynamic_attributes, '{}'))) as held
      from ${once} f ${joinPublished(list)}
      where coalesce(r.dynamic_attributes, '{}') ? f.name = (f.value = 'null')
    ) as changed_names
    where is_new and held - removed + added > ${namesMax}::integer
    order by position limit ${stagedFaultsMax}`.execute(trx)
  const message = `a row has at most ${namesMax} dynamic attributes`
  return stagedFaults(rows, () => ({ field: 'dynamic_attribute_name', code: 'length', message }))
}

/** A FROM item with the staged attributes of each row. */
function byRow(list: PriceList): RawBuilder<unknown> {
  return sql`(
    select r.id, jsonb_object_agg(f.name, f.value) as attributes
    from pg_temp.feed f ${joinPublished(list)} group by r.id
  ) as input`
}
