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
import type { Trx } from '../../database/pool.ts'
import { lockPriceList, type PriceList } from '../../price-lists/queries.ts'
import { keyColumns } from '../payload.ts'
import {
  attributeColumns,
  attributeOf,
  fixedKeys,
  mergeAttributes,
  namesTooMany,
  rejectFaultyAttribute,
  tooManyNames,
} from '../update-dynamic-attributes.ts'
import { joinPublished } from '../write/write-cells.ts'
import {
  computedColumns,
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
    ignored: computedColumns(extensions),
    input: [...keyColumns, ...attributeColumns],
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
    write: async () => {
      // Others may have changed it while the file arrived.
      const locked = await lockPriceList(trx, account, { id: list.id })
      const joined = sql`pg_temp.feed f ${joinPublished(locked)}`
      const updated = await mergeAttributes(trx, locked, joined)
      return { created: 0, updated, revision: locked.version }
    },
  }
}

async function findNamesTooMany(
  trx: Trx,
  list: PriceList,
  once: RawBuilder<unknown>,
): Promise<StagedFaults> {
  const { rows } = await sql<{ position: number; line: number; total: number }>`
    select position, line, count(*) over () as total
    from ${namesTooMany(sql`${once} f ${joinPublished(list)}`)}
    order by position limit ${stagedFaultsMax}`.execute(trx)
  return stagedFaults(rows, () => tooManyNames)
}
