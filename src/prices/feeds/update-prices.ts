import { type RawBuilder, sql } from 'kysely'
import { findColumns } from '../../catalog/columns.ts'
import { type KeyedRow, readRowKeys } from '../../catalog/row-key.ts'
import type { Feed } from '../../contract/feed.ts'
import type { Schemas } from '../../contract/operation.ts'
import type { InputColumn } from '../../database/input-rows.ts'
import type { Trx } from '../../database/pool.ts'
import { daysInMonth } from '../../price-lists/calendar.ts'
import { recordRevision } from '../../price-lists/history/record-revision.ts'
import type { PriceList } from '../../price-lists/queries.ts'
import { dimensionIndex, keyColumns, rejectFaultyAddress } from '../payload.ts'
import { fixedKeys } from '../update-prices.ts'
import { mergeMonths } from '../write/set-days.ts'
import { changedCells, writeChanged } from '../write/set-prices.ts'
import {
  exportedKeys,
  extensionColumns,
  findMissingRows,
  findPublishedFeedList,
  joinPublished,
  rowIds,
} from './staged-rows.ts'

/** Prices from a file, for the list in the query. */
export const feedPrices: Feed<'updatePrices'> = async (trx, { account, query, origin, job }) => {
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
      const { updated, priced } = await (list.is_calendar ? writeDays : writePrices)(trx, list)
      const change = { kind: 'update_prices', origin, job, priced, added: 0, removed: 0 } as const
      const revision = await recordRevision(trx, list, change)
      return { created: 0, updated, revision }
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

/** How many rows of the list a file names, and how many cells have another price now. */
interface Updated {
  updated: number
  priced: number
}

async function writePrices(trx: Trx, list: PriceList): Promise<Updated> {
  const given = pricesBy(sql`f.dimension`, list.price_dimensions.length)
  const merged = list.price_dimensions.map((_, index) => {
    const place = sql.lit(index + 1)
    return sql`coalesce(input.prices[${place}], input.old[${place}])`
  })
  const { rows } = await sql<Updated>`
    with found as materialized (
      select id, since, old, array[${sql.join(merged)}] as new
      from (
        select r.id, r.since, r.prices as old, ${given} as prices
        from pg_temp.feed f ${joinPublished(list)} group by r.id, r.since, r.prices
      ) as input
    ), ${writeChanged(list, 0)}
    select count(*) as updated, coalesce(sum(${changedCells(list)}), 0) as priced from found`.execute(
    trx,
  )
  return countsOf(rows[0])
}

async function writeDays(trx: Trx, list: PriceList): Promise<Updated> {
  const prices = pricesBy(sql`extract(day from f.date)`, daysInMonth)
  const input = sql`(
    select r.id as row_id, f.dimension, date_trunc('month', f.date)::date as month, ${prices} as prices
    from pg_temp.feed f ${joinPublished(list)}
    group by r.id, f.dimension, date_trunc('month', f.date)
  ) as input`
  const priced = await mergeMonths(trx, list, input)
  const { rows } = await sql<{ updated: number }>`
    select count(*) as updated from (select distinct code, extension_key from pg_temp.feed) as named`.execute(
    trx,
  )
  return countsOf({ updated: 0, ...rows[0], priced })
}

const countsOf = ({ updated, priced }: Updated = { updated: 0, priced: 0 }): Updated => ({
  updated: Number(updated),
  priced: Number(priced),
})
