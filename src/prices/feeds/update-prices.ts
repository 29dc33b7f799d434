import { type RawBuilder, sql } from 'kysely'
import { findColumns } from '../../catalog/columns.ts'
import { type KeyedRow, readRowKeys } from '../../catalog/row-key.ts'
import type { Feed } from '../../contract/feed.ts'
import type { Schemas } from '../../contract/operation.ts'
import type { InputColumn } from '../../database/input-rows.ts'
import type { Trx } from '../../database/pool.ts'
import { daysInMonth } from '../../price-lists/calendar.ts'
import type { PriceList } from '../../price-lists/queries.ts'
import { dimensionIndex, keyColumns, rejectFaultyAddress } from '../payload.ts'
import { fixedKeys } from '../update-prices.ts'
import { mergeMonths } from '../write/set-days.ts'
import {
  exportedKeys,
  extensionColumns,
  findMissingRows,
  findPublishedFeedList,
  joinPublished,
  rowIds,
} from './staged-rows.ts'

/** Prices from a file, for the list in the query. */
export const feedPrices: Feed<'updatePrices'> = async (trx, { account, query, job }) => {
  const list = await findPublishedFeedList(trx, account, query, job)
  const { extensions } = await findColumns(trx, account)
  return {
    columns: extensionColumns(extensions),
    ignored: exportedKeys,
    input: cellColumns,
    ids: rowIds(list, { extensions }),
    key: ['code', 'extension_key', 'dimension', 'date'],
    read: async (rows: readonly Schemas['UpdatePricesRow'][], errors) => {
      for (const { row, position } of errors.sound(rows))
        rejectFaultyAddress(list, row, position, errors)
      const keyed = await readRowKeys(rows, extensions, fixedKeys, errors)
      return keyed.map((row) => ({ row: cellOf(list, row), position: row.position }))
    },
    findFaults: () => findMissingRows(trx, list, job),
    write: async () => {
      const updated = await (list.is_calendar ? writeDays : writePrices)(trx, list)
      return { created: 0, updated }
    },
  }
}

/** One price: of a row, a dimension (from 1) and, in a calendar list, a day. */
interface Cell {
  code: string
  extensions: string[]
  price: number
  dimension: number
  date: string | undefined
}

function cellOf(
  list: PriceList,
  { row, code, extensions }: KeyedRow<Schemas['UpdatePricesRow']>,
): Cell {
  const { price, date } = row
  return { code, extensions, price, dimension: dimensionIndex(list, row), date }
}

const cellColumns: InputColumn<Cell>[] = [
  ...keyColumns,
  { name: 'price', type: 'numeric', value: ({ price }) => price },
  { name: 'dimension', type: 'integer', value: ({ dimension }) => dimension },
  { name: 'date', type: 'date', value: ({ date }) => date ?? null },
]

/** SQL of an array of the prices of a group; `placeOf` is the index of a price, from 1. */
function pricesBy(placeOf: RawBuilder<number>, length: number): RawBuilder<unknown> {
  const places = Array.from(
    { length },
    (_, index) => sql`max(f.price) filter (where ${placeOf} = ${sql.lit(index + 1)})`,
  )
  return sql`array[${sql.join(places)}]`
}

function writePrices(trx: Trx, list: PriceList): Promise<number> {
  const prices = pricesBy(sql`f.dimension`, list.price_dimensions.length)
  const input = sql`(
    select r.id, ${prices} as prices from pg_temp.feed f ${joinPublished(list)} group by r.id
  ) as input`
  return mergePrices(trx, list, input)
}

async function writeDays(trx: Trx, list: PriceList): Promise<number> {
  const prices = pricesBy(sql`extract(day from f.date)`, daysInMonth)
  const input = sql`(
    select r.id as row_id, f.dimension, date_trunc('month', f.date)::date as month, ${prices} as prices
    from pg_temp.feed f ${joinPublished(list)}
    group by r.id, f.dimension, date_trunc('month', f.date)
  ) as input`
  await mergeMonths(trx, list, input)
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (select distinct code, extension_key from pg_temp.feed) as named`.execute(
    trx,
  )
  return rows[0]?.count ?? 0
}

/** Sets the prices of `input` (id, prices by dimension, null for unchanged ones). Returns the number of rows. */
async function mergePrices(trx: Trx, list: PriceList, input: RawBuilder<unknown>): Promise<number> {
  const merged = list.price_dimensions.map(
    (_, index) =>
      sql`coalesce(input.prices[${sql.lit(index + 1)}], r.prices[${sql.lit(index + 1)}])`,
  )
  const { numAffectedRows } = await sql`
    update price_list_rows r set prices = array[${sql.join(merged)}]
    from ${input}
    where r.account_id = ${list.account_id} and r.price_list_id = ${list.id} and r.id = input.id`.execute(
    trx,
  )
  return Number(numAffectedRows)
}
