import { type RawBuilder, sql } from 'kysely'
import { extensionKey } from '../../catalog/row-key.ts'
import { withinReadTime } from '../../contract/read-cost.ts'
import { arrayLiteral } from '../../database/array-literal.ts'
import { onlyRow } from '../../database/only-row.ts'
import type { Trx } from '../../database/pool.ts'
import { monthPlace } from '../../price-lists/calendar.ts'
import { findSlices, formerPrices } from '../../price-lists/history/price-walk.ts'
import { ofList, type PriceList } from '../../price-lists/queries.ts'
import type { WantedRow } from './wanted-rows.ts'

/** Which part of a history to read. */
export interface HistoryRange {
  /** Moments with an offset; entries that only touch them are left out. */
  from?: string | undefined
  to?: string | undefined
  /** Leaves out prices that a later revision set. */
  untilRevision?: number | undefined
}

/** Advice for a history that takes too long. */
export const shorterHistory = 'Send fewer rows, or a later moment to begin with.'

/** The most entries that are read for each wanted row: the newest. */
export const entriesMax = 1000

/**
 * Reads the price history of each wanted row, as JSON, oldest entry first: an entry for each price that was in force
 * while the row was in the list. Walks each row back to the revision that set the price at `from`. Throws `too-costly`.
 */
export async function findHistories(
  trx: Trx,
  list: PriceList,
  wanted: WantedRow[],
  { from, to, untilRevision = list.version }: HistoryRange,
): Promise<{ entries: string; count: number }[]> {
  if (wanted.length === 0) return []
  const until = await revisionAt(trx, list, from)
  // The price in force at `from` may be older.
  const slices = await findSlices(trx, list, list.oldest_revision)
  const oldestSetter = list.oldest_revision + 1
  const statement = sql<{ at: number; entries: string; count: number }>`
    with recursive wanted as materialized (${wantedPrices(list, wanted)}),
    ${priceChain(list, { until, oldestSetter, slices })}, priced as (
      select at, id, added_version, removed_version, greatest(since, added_version) as revision, prices[place] as price
      from chain join wanted using (walk) where ${isOfStay}
    ), changed as (
      select at, id, added_version, removed_version, revision, price
      from (select *, lag(price) over of_row as former, lag(revision) over of_row as before from priced
        window of_row as (partition by at, id, added_version order by revision)) as priced
      where before is null or price is distinct from former
    ), bounded as (
      select at, price, revision, coalesce(
          lead(revision) over (partition by at, id, added_version order by revision), removed_version
        ) as ended
      from changed
    ), dated as (
      select b.at, b.price, b.revision, v.kind, v.origin, v.plan_id, coalesce(v.at, ${list.oldest_at}::timestamptz) as began, e.at as ended,
        row_number() over (partition by b.at order by b.revision desc) as place
      from bounded b
      left join list_revisions v on ${ofList(list, 'v')} and v.revision = b.revision
        and v.at >= coalesce(${list.oldest_at}::timestamptz, v.at)
      left join list_revisions e on ${ofList(list, 'e')} and e.revision = b.ended
      where b.revision <= ${untilRevision} and ${isWithin(from, to)}
    )
    select at, count(*) as count, json_agg(json_strip_nulls(json_build_object(
        'price', coalesce(price, 0), 'revision', revision, 'kind', kind, 'actor', origin -> 'actor', 'note', origin ->> 'note',
        'plan_id', plan_id
      ))::jsonb || jsonb_build_object('from', ${utc(sql`began`)}, 'to', ${utc(sql`ended`)}) order by place desc)::text as entries
    from dated where place <= ${entriesMax}
    group by at`
  const { rows } = await withinReadTime(shorterHistory, () => statement.execute(trx))
  const byRow = new Map(rows.map((row) => [row.at, row]))
  return wanted.map((_, at) => {
    return byRow.get(at) ?? { entries: '[]', count: 0 }
  })
}

const utc = (moment: RawBuilder<unknown>) =>
  sql`to_char(${moment}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/** SQL that is true for an entry in force at some moment between the two. */
function isWithin(from: string | undefined, to: string | undefined): RawBuilder<boolean> {
  const ends = from === undefined ? sql`true` : sql`(e.at is null or e.at > ${from}::timestamptz)`
  const begins =
    to === undefined
      ? sql`true`
      : sql`coalesce(v.at, ${sql.lit('-infinity')}::timestamptz) < ${to}::timestamptz`
  return sql<boolean>`${ends} and ${begins}`
}

/** The newest revision that is not after a moment, or the oldest that is kept. */
export async function revisionAt(
  trx: Trx,
  list: PriceList,
  at: string | undefined,
): Promise<number> {
  if (at === undefined) return list.oldest_revision
  const { revision } = await onlyRow<{ revision: number | null }>(trx)`
    select max(revision) as revision from list_revisions
    where ${ofList(list)} and at <= ${at}::timestamptz`
  return Math.max(revision ?? 0, list.oldest_revision)
}

/**
 * SQL of the wanted prices: the index of each (`at`), the place of its price in `prices`, and the `walk` that finds it.
 * Prices that are stored together, those of a row or of a month of a calendar row, share a walk, which has all their `places`.
 */
export function wantedPrices({ is_calendar }: PriceList, wanted: WantedRow[]): RawBuilder<unknown> {
  const days = wanted.map(({ date }) => (date === undefined ? null : monthPlace(date)))
  const columns = [
    sql`${arrayLiteral(wanted.map(({ code }) => code))}::text[]`,
    sql`${arrayLiteral(wanted.map(({ extensions }) => extensionKey(extensions)))}::text[]`,
    sql`${arrayLiteral(wanted.map(({ dimension }) => dimension))}::integer[]`,
    sql`${arrayLiteral(days.map((day) => day?.month ?? null))}::date[]`,
    sql`${arrayLiteral(days.map((day, at) => day?.place ?? wanted[at]?.dimension ?? null))}::integer[]`,
  ]
  const storedTogether = is_calendar ? sql`dimension, month` : sql`month`
  // Only one price of each walk has the places: if all had them, a row wanted 10,000 times would take 400 MB.
  return sql`
    select at, code, extension_key, dimension, month, place, walk, case when at = walk then places end as places
    from (
      select *, min(at) over walk as walk, array_agg(place) over walk as places
      from (
        select code, extension_key, dimension, month, place, at - 1 as at
        from unnest(${sql.join(columns)}) with ordinality as input (code, extension_key, dimension, month, place, at)
      ) as input
      window walk as (partition by code collate "C", extension_key collate "C", ${storedTogether})
    ) as walked`
}

/** The columns of `presentPrices` and `priceChain`. */
export const chainColumns = sql`walk, dimension, month, places, id, row_id, added_version, removed_version, since, prices`

/**
 * SQL that is true for a price of `chain` that was set before its row left. The months of a row that left and came back
 * are stored once: the walk back from the present ones passes prices that were set later.
 */
export const isOfStay = sql`(removed_version is null or since < removed_version)`

/** How far back a chain goes. */
interface ChainEnd {
  /** The revision whose prices are the last ones needed. */
  until: number
  /** With this, the chain goes on to the revision that set each price in force at `until`, but not beyond this one. */
  oldestSetter?: number | undefined
  slices: number
}

/** SQL of the recursive CTE `chain`: the prices of the walks of `wanted`, back to the end. */
export function priceChain(
  list: PriceList,
  { until, oldestSetter = until + 1, slices }: ChainEnd,
): RawBuilder<unknown> {
  const isOneSameBefore = sql`exists (
    select from unnest(chain.places) as place where former.prices[place] is not distinct from chain.prices[place]
  )`
  const former = formerPrices(list, sql`chain`, { revision: sql`chain.since`, slices })
  return sql`chain (${chainColumns}) as (
      ${presentPrices(list)}
      union all
      select chain.walk, chain.dimension, chain.month, chain.places, chain.id, chain.row_id, chain.added_version,
        chain.removed_version, former.since, former.prices
      from chain cross join ${former}
      where chain.since > chain.added_version and chain.since >= ${Math.min(until + 1, oldestSetter)}
        and (chain.since > ${until} or ${isOneSameBefore})
    )`
}

/** SQL of the last prices of rows with the wanted keys, present or removed, and the revision that set them. */
export function presentPrices({
  account_id,
  id,
  is_calendar,
  version,
  oldest_revision,
}: PriceList): RawBuilder<unknown> {
  const ofKey = sql`account_id = ${account_id} and price_list_id = ${id} and code = w.code and extension_key = w.extension_key`
  const prices = is_calendar ? sql`coalesce(m.since, 0), m.prices` : sql`r.since, r.prices`
  const months = is_calendar
    ? sql`left join calendar_months m on m.account_id = ${account_id} and m.price_list_id = ${id} and m.row_id = r.id
        and m.dimension = w.dimension and m.month = w.month`
    : sql``
  return sql`
    select w.walk, w.dimension, w.month, w.places, r.id, r.id, r.added_version, r.removed_version, ${prices}
    from (select * from wanted where at = walk) as w cross join lateral (
      select id, added_version, removed_version, since, prices from price_list_rows where ${ofKey} and added_version <= ${version}
      union all
      select row_id, added_version, removed_version, since, prices from removed_rows where ${ofKey} and removed_version > ${oldest_revision}
    ) as r (id, added_version, removed_version, since, prices)
    ${months}`
}
