import { sql } from 'kysely'
import type { Schemas } from '../../contract/operation.ts'
import { withinReadTime } from '../../contract/read-cost.ts'
import { readNumbers } from '../../database/array-literal.ts'
import type { Trx } from '../../database/pool.ts'
import { areReadAtOnce, changedCell } from '../../price-lists/history/past-prices.ts'
import type { PriceList } from '../../price-lists/queries.ts'
import {
  findHistories,
  presentPrices,
  revisionAt,
  shorterHistory,
  wantedRows,
} from './price-histories.ts'
import type { WantedRow } from './wanted-rows.ts'

/** A price that was set, and the time in which it held, in milliseconds. */
export interface Period {
  price: number
  from: number
  to: number
}

/**
 * The prices that each wanted row had since a moment, without those of revisions that were marked as mistakes. Throws
 * `too-costly`.
 */
export function findPeriods(
  trx: Trx,
  list: PriceList,
  wanted: WantedRow[],
  from: string,
): Promise<Period[][]> {
  const find = areReadAtOnce(list, wanted.length) ? readPeriods : walkPeriods
  return find(trx, list, wanted, from)
}

type FindPeriods = typeof findPeriods

/** An entry of a history, with what leaves it out. */
type Entry = Schemas['PriceEntry'] & { voided?: boolean; unset?: boolean }

/** Looks for each row. */
const walkPeriods: FindPeriods = async (trx, list, wanted, from) => {
  const histories = await findHistories(trx, list, wanted, { from, withMarks: true })
  return histories.map(({ entries }) =>
    (JSON.parse(entries) as Entry[])
      .filter(({ voided, unset }) => !voided && !unset)
      .map(({ price, from, to }) => ({
        price,
        from: Date.parse(from),
        to: to === null ? Number.POSITIVE_INFINITY : Date.parse(to),
      })),
  )
}

/** Reads all changes of the list since then. */
const readPeriods: FindPeriods = async (trx, list, wanted, from) => {
  const until = await revisionAt(trx, list, from)
  const [revisions, stays] = await Promise.all([
    findRevisions(trx, list, until),
    withinReadTime(shorterHistory, () => findStays(trx, list, wanted, until)),
  ])
  const since = Date.parse(from)
  const periods: Period[][] = wanted.map(() => [])
  for (const stay of stays)
    periods[stay.at]?.push(...periodsOf(stay, revisions).filter(({ to }) => to > since))
  return periods
}

/** The time of a row in a list, from one revision to another, and its prices in reverse order. */
interface Stay {
  at: number
  added: number
  prices: { price: number | null; since: number; ended: number | null }[]
}

/** What is known of revisions. */
interface Revisions {
  momentOf: (revision: number) => number
  voided: Set<number>
}

function periodsOf({ added, prices }: Stay, { momentOf, voided }: Revisions): Period[] {
  prices.sort((a, b) => (a.ended ?? Infinity) - (b.ended ?? Infinity))
  // A change of another dimension begins no period.
  const merged = prices.filter(
    ({ price }, index) => index === 0 || price !== prices[index - 1]?.price,
  )
  return merged.flatMap(({ price, since }, index) => {
    const revision = Math.max(since, added)
    const next = merged[index + 1]
    const ended = next ? next.since : (prices.at(-1)?.ended ?? null)
    if (price === null || voided.has(revision)) return []
    return { price, from: momentOf(revision), to: ended === null ? Infinity : momentOf(ended) }
  })
}

async function findRevisions(trx: Trx, list: PriceList, until: number): Promise<Revisions> {
  const { rows } = await sql<{ revision: number; at: number; voided: boolean }>`
    select revision, extract(epoch from at) * 1000 as at, voided from list_revisions
    where account_id = ${list.account_id} and price_list_id = ${list.id} and (revision >= ${until} or voided)`.execute(
    trx,
  )
  const moments = new Map(rows.map(({ revision, at }) => [revision, Number(at)]))
  // What holds at the beginning may have been set before.
  const first = moments.get(until) ?? list.oldest_at?.getTime() ?? 0
  return {
    momentOf: (revision) => moments.get(revision) ?? first,
    voided: new Set(rows.filter(({ voided }) => voided).map(({ revision }) => revision)),
  }
}

/** When rows with the wanted keys were in the list, and their prices after a revision. */
async function findStays(
  trx: Trx,
  list: PriceList,
  wanted: WantedRow[],
  until: number,
): Promise<Stay[]> {
  const { rows } = await sql<Record<string, string | null>>`
    with wanted as materialized (select * from ${wantedRows(wanted)}),
    present (at, dimension, month, place, id, row_id, added_version, removed_version, since, prices) as (${presentPrices(list)}),
    stays as materialized (select *, row_number() over () - 1 as stay from present),
    changes as (
      select p.stay, c.revision, c.since, c.price
      from (
        select c.revision, unnest(c.from_revisions) as since, ${changedCell}
        from list_changes c cross join (select distinct dimension from stays) as d
        where c.account_id = ${list.account_id} and c.price_list_id = ${list.id} and c.revision > ${until} and c.change = 'priced'
          and c.first_row_id <= (select max(id) from stays)
          and c.row_ids[cardinality(c.row_ids)] >= (select min(id) from stays)
      ) as c
      join stays p on p.id = c.row_id and p.dimension = c.dimension and c.revision > p.added_version
        and c.revision <= coalesce(p.removed_version, ${list.version})
    )
    select s.*, c.* from (
      select array_agg(at order by stay)::text as at, array_agg(added_version order by stay)::text as added,
        array_agg(removed_version order by stay)::text as removed, array_agg(since order by stay)::text as since,
        array_agg(prices[dimension] order by stay)::text as price
      from stays
    ) as s cross join (
      select array_agg(stay)::text as stays, array_agg(revision)::text as revisions, array_agg(since)::text as sinces,
        array_agg(price)::text as prices
      from changes
    ) as c`.execute(trx)
  const read = (column: string) => readNumbers(rows[0]?.[column] ?? null)
  return staysOf(read)
}

function staysOf(read: (column: string) => (number | null)[]): Stay[] {
  const [at, added, removed, since, price] = ['at', 'added', 'removed', 'since', 'price'].map(read)
  const stays = (at ?? []).map((index, stay) => ({
    at: index as number,
    added: added?.[stay] as number,
    prices: [
      {
        price: price?.[stay] ?? null,
        since: since?.[stay] as number,
        ended: removed?.[stay] ?? null,
      },
    ],
  }))
  const [ofStay, revisions, sinces, prices] = ['stays', 'revisions', 'sinces', 'prices'].map(read)
  for (const [index, stay] of (ofStay ?? []).entries())
    stays[stay as number]?.prices.push({
      price: prices?.[index] ?? null,
      since: sinces?.[index] as number,
      ended: revisions?.[index] as number,
    })
  return stays
}
