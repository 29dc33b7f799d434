import { type RawBuilder, sql } from 'kysely'
import { findColumns } from '../../catalog/columns.ts'
import { readRowKeys } from '../../catalog/row-key.ts'
import type { Feed } from '../../contract/feed.ts'
import type { Schemas } from '../../contract/operation.ts'
import type { RowErrors } from '../../contract/row-errors.ts'
import type { Trx } from '../../database/pool.ts'
import { daysInMonth } from '../../price-lists/calendar.ts'
import { recordRevision } from '../../price-lists/history/record-revision.ts'
import { lockPriceList, type PriceList } from '../../price-lists/queries.ts'
import { rejectFaultyAddress } from '../payload.ts'
import { fixedKeys } from '../update-prices.ts'
import { cellColumns } from '../write/cells.ts'
import { mergeMonths } from '../write/set-days.ts'
import { changedCells, writeChanged } from '../write/set-prices.ts'
import { findStaleCells, type Observation, rejectFutureObservation } from '../write/stale-cells.ts'
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
  rejectFutureObservation(query, { pointer: '/query/observed_at' })
  const list = await findPublishedFeedList(trx, account, query, job)
  const { extensions } = await findColumns(trx, account)
  return {
    columns: [...extensionColumns(extensions), pricedColumn],
    ignored: exportedKeys,
    input: cellColumns(list),
    ids: rowIds(list, { extensions }),
    key: ['code', 'extension_key', 'dimension', 'date'],
    isSkipped: isUnpriced,
    read: async (rows: readonly Schemas['UpdatePricesRow'][], errors) => {
      for (const { row, position } of errors.sound(rows)) {
        rejectFaultyAddress(list, row, position, errors)
        rejectFaultyPriced(row, position, errors)
      }
      const keyed = await readRowKeys(rows, extensions, keysOfFiles, errors)
      return keyed.map((cell) => ({ row: cell, position: cell.position }))
    },
    findFaults: () => findMissingRows(trx, list, job),
    write: async () => {
      // Others may have changed it while the file arrived.
      const locked = await lockPriceList(trx, account, { id: list.id })
      const skipped = await leaveStaleOut(trx, locked, query)
      const { updated, priced } = await (list.is_calendar ? writeDays : writePrices)(trx, locked)
      const { observed_at, on_stale } = query
      const change = { kind: 'update_prices', origin, job, priced, added: 0, removed: 0 } as const
      const revision = await recordRevision(trx, locked, { ...change, observed_at })
      return { created: 0, updated, ...(on_stale === 'skip' && { skipped }), revision }
    },
  }
}

/** Exports have it: whether the cell has a price. A line of a cell without one sets nothing. */
const pricedColumn = { name: 'priced', type: 'boolean', isRequired: false } as const

const keysOfFiles = new Set([...fixedKeys, pricedColumn.name])

const isUnpriced = (row: unknown): boolean =>
  typeof row === 'object' && row !== null && 'priced' in row && row.priced === false

function rejectFaultyPriced(
  { priced = true }: Schemas['UpdatePricesRow'],
  position: number,
  errors: RowErrors,
): void {
  if (typeof priced !== 'boolean')
    errors.add(position, pricedColumn.name, 'type', 'must be true or false')
}

/** Deletes stale cells from the staged ones, and returns their number. Throws `stale-rows` unless they are to be skipped. */
async function leaveStaleOut(trx: Trx, list: PriceList, observation: Observation): Promise<number> {
  const { rows: expecting } = await sql`
    select from pg_temp.feed where expected_price is not null limit 1`.execute(trx)
  if (observation.observed_at === undefined && expecting.length === 0) return 0
  const cells = { from: sql`pg_temp.feed f`, line: sql`f.line` }
  const { positions, count } = await findStaleCells(trx, list, cells, observation)
  if (count > 0)
    await sql`delete from pg_temp.feed where position = any(${positions}::integer[])`.execute(trx)
  return count
}

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
