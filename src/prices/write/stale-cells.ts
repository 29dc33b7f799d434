import { type RawBuilder, sql } from 'kysely'
import { Problem } from '../../contract/problem.ts'
import { invalidRequest, listedMax } from '../../contract/row-errors.ts'
import { readNumbers } from '../../database/array-literal.ts'
import { onlyRow } from '../../database/only-row.ts'
import type { Trx } from '../../database/pool.ts'
import { shownTimestamp } from '../../database/shown-timestamp.ts'
import { utcTimestamp } from '../../lib/formats.ts'
import { changedCells } from '../../price-lists/history/changed-cells.ts'
import { isPublishedNow } from '../../price-lists/list-rows.ts'
import { ofList, type PriceList, rowOfList } from '../../price-lists/queries.ts'
import { type GivenCells, placeOf } from './cells.ts'

/** A call's options about stale prices. */
export interface Observation {
  observed_at?: string | undefined
  on_stale?: 'reject' | 'skip' | undefined
  /** A plan confirms prices only when it is applied. */
  plan?: 'true' | 'false' | undefined
}

const aheadMinutes = 5

/** Throws `invalid-request` if `observed_at` is more than 5 minutes ahead. */
export function rejectFutureObservation(
  { observed_at }: Observation,
  place: { pointer: string; field?: string },
): void {
  if (observed_at === undefined) return
  if (Date.parse(utcTimestamp(observed_at)) <= Date.now() + aheadMinutes * 60_000) return
  const message = `must be at most ${aheadMinutes} minutes ahead`
  throw invalidRequest([{ ...place, code: 'too_far_ahead', message }])
}

interface StaleCell {
  position: number
  line: number | null
  /** Null if it was unpriced by a revert. */
  held: number | null
  expected: number | null
  known: string | null
}

/**
 * Finds the stale cells among those given for a locked list, and returns their positions as the text of an array. With
 * `observed_at`, prices sent unchanged become confirmed. Throws `stale-rows` unless `on_stale` is `skip`.
 */
export async function findStaleCells(
  trx: Trx,
  list: PriceList,
  cells: GivenCells,
  { observed_at, on_stale, plan }: Observation,
): Promise<{ positions: string; count: number }> {
  const observedAt = observed_at === undefined ? undefined : utcTimestamp(observed_at)
  const judged = await judgedCells(trx, list, cells, observedAt)
  const isConfirming = observedAt !== undefined && plan !== 'true'
  const confirmed = isConfirming ? sql`, ${confirmedCells(list, observedAt)}` : sql``
  const { positions, count, first } = await onlyRow<{
    positions: string
    count: number
    first: StaleCell[]
  }>(trx)`
    with judged as materialized (${judged}) ${confirmed}
    select coalesce((select array_agg(position)::text from judged where is_stale), '{}') as positions,
      (select count(*) from judged where is_stale) as count,
      (select coalesce(json_agg(stale), '[]') from (
        select position, line, held, expected_price as expected,
          ${shownTimestamp(sql`known`)} as known
        from judged where is_stale order by position limit ${listedMax}
      ) as stale) as first`
  if (count > 0 && on_stale !== 'skip') throw staleRows(first, count)
  return { positions, count }
}

/** The header that tells how many cells were left out, if the call asks to. */
export const skippedRows = ({ on_stale }: Observation, skipped: number) =>
  on_stale === 'skip' ? { 'skipped-rows': String(skipped) } : {}

/** The positions of stale cells, as numbers. */
export const stalePositions = ({ positions }: { positions: string }) =>
  new Set(readNumbers(positions))

/**
 * SQL of the given cells that are in the list, with the price that it holds (`held`) and that price's last observation,
 * if it may be later than `observedAt` (`known`).
 */
async function judgedCells(
  trx: Trx,
  list: PriceList,
  { from, line }: GivenCells,
  observedAt: string | undefined,
): Promise<RawBuilder<unknown>> {
  // In a month without prices no cell is stale. Besides, Citus on PostgreSQL 15 and 16 refuses the outer join for staged rows.
  const { isCalendar, held, since, months } = heldPrice(list, sql`join`)
  // A row that was just added expects nothing.
  const read = sql`coalesce(${held}, case when ${since} > r.added_version then 0 end)`
  const given = sql`
    select f.position, ${line} as line, f.price, f.expected_price, f.expected_price <> ${read} as is_unexpected,
      r.id as row_id, f.dimension, ${isCalendar ? sql`f.date` : noDay} as date, ${held} as held, ${since} as since
    from ${from}
    join price_list_rows r on ${ofList(list, 'r')} and r.code = f.code and r.extension_key = f.extension_key
      and ${isPublishedNow(list)}
    ${months}`
  const cells =
    observedAt === undefined
      ? sql`select *, null::timestamptz as known from (${given}) as cell`
      : await observedCells(trx, list, given, observedAt)
  const isLater = observedAt === undefined ? sql`` : sql`or known > ${observedAt}::timestamptz`
  return sql`
    select *, held is distinct from price and (is_unexpected ${isLater}) is true as is_stale
    from (${cells}) as cell`
}

/** The day of a confirmed price outside calendar lists. */
export const noDay = sql`'-infinity'::date`

/**
 * SQL of the price held for cell `f` of row `r`, and of the revision that last changed it or its neighbors; `months` adds
 * the prices of a calendar list by this join.
 */
export function heldPrice(
  { account_id, id, is_calendar: isCalendar }: PriceList,
  join = sql`left join`,
) {
  if (!isCalendar)
    return { isCalendar, held: sql`r.prices[f.dimension]`, since: sql`r.since`, months: sql`` }
  const months = sql`
    ${join} calendar_months m on m.account_id = ${account_id} and m.price_list_id = ${id} and m.row_id = r.id
      and m.dimension = f.dimension and m.month = date_trunc('month', f.date)::date`
  const held = sql`m.prices[extract(day from f.date)::integer]`
  return { isCalendar, held, since: sql`m.since`, months }
}

/**
 * SQL of the given cells with their last observation. Cells are grouped with the changes since the first that was
 * observed after `observedAt`, or followed such a confirmation, not joined: the planner cannot know how many there were.
 */
async function observedCells(
  trx: Trx,
  list: PriceList,
  given: RawBuilder<unknown>,
  observedAt: string,
): Promise<RawBuilder<unknown>> {
  const ofCell = sql`row_id = cell.row_id and dimension = cell.dimension and date = cell.date`
  // Whether a confirmed cell of several in a row has changed since then, only the changes tell.
  const confirmations = hasNeighbours(list)
    ? sql`union all
      select confirmed.revision + 1 from (${given}) as cell cross join lateral (
        select revision from confirmed_prices
        where ${ofList(list)} and ${ofCell} and observed_at > ${observedAt}::timestamptz
      ) as confirmed`
    : sql``
  const { first: found } = await onlyRow<{ first: number | null }>(trx)`
    select min(revision) as first from (
      select revision from list_revisions where ${ofList(list)} and coalesce(observed_at, at) > ${observedAt}::timestamptz
      ${confirmations}
    ) as later`
  const first = found ?? list.version + 1
  const later = changedCells(list, { after: first - 1, until: list.version })
  // Of a price that was set before the kept history, only the latest moment that it may have been seen is known.
  const isBefore = sql`held is not null and since <= ${list.oldest_revision}`
  const before = sql`case when ${isBefore} then ${list.oldest_at}::timestamptz end`
  return sql`
    select cell.*, greatest(changed.observed_at, ${confirmedAt(list)}, ${before})::timestamptz as known
    from (
      select row_id, dimension, date, max(position) as position, max(line) as line, max(price) as price,
        max(expected_price) as expected_price, bool_or(is_unexpected) as is_unexpected, max(held) as held, max(since) as since, max(revision) as revision
      from (
        select *, null::integer as revision from (${given}) as given
        union all
        select null, null, null, null, null, row_id, dimension, coalesce(date, ${noDay}), null, null, revision
        from ${later} where change = 'priced' or new is not null
      ) as cell
      group by row_id, dimension, date
    ) as cell
    left join (
      select revision, coalesce(observed_at, at) as observed_at from list_revisions where ${ofList(list)}
    ) as changed on changed.revision = cell.revision
    left join lateral (
      select observed_at, revision from confirmed_prices where ${ofList(list)} and ${ofCell}
    ) as confirmed on true
    where cell.position is not null`
}

/** SQL of the moment of a confirmation, unless the price changed after it. */
function confirmedAt(list: PriceList) {
  const changed = hasNeighbours(list) ? sql`coalesce(cell.revision, 0)` : sql`since`
  return sql`case when confirmed.revision >= ${changed} then confirmed.observed_at end`
}

/** Whether `since` may be that of another price. */
const hasNeighbours = ({ is_calendar, price_dimensions }: PriceList) =>
  is_calendar || price_dimensions.length > 1

/** SQL of the CTE that records prices sent unchanged as confirmed. */
function confirmedCells(list: PriceList, observedAt: string): RawBuilder<unknown> {
  return sql`
    noted as (
      insert into confirmed_prices as present (account_id, price_list_id, row_id, dimension, date, observed_at, revision)
      select l.account_id, l.id, row_id, dimension, date, ${observedAt}::timestamptz, ${list.version}::integer
      from ${rowOfList(list)} cross join judged where held = price and (known is null or known < ${observedAt}::timestamptz)
      on conflict (account_id, price_list_id, row_id, dimension, date) do update set
        observed_at = excluded.observed_at, revision = excluded.revision
      returning row_id
    )`
}

function staleRows(first: readonly StaleCell[], errorCount: number): Problem {
  const errors = first.map(({ held, expected, known, ...place }) => ({
    ...placeOf(place),
    code: 'stale' as const,
    message: staleMessage(held, expected, known),
  }))
  const rows =
    errorCount === 1
      ? '1 row is older than the prices of the list, or expects another price'
      : `${errorCount} rows are older than the prices of the list, or expect another price`
  const listed = errorCount > listedMax ? `, the first ${listedMax} are listed` : ''
  const detail = `${rows}${listed}. Nothing was written; \`on_stale: skip\` leaves them out.`
  return new Problem('stale-rows', detail, { errors, errorCount })
}

function staleMessage(
  held: StaleCell['held'],
  expected: StaleCell['expected'],
  known: StaleCell['known'],
): string {
  if (expected !== null && expected !== (held ?? 0))
    return `the price is ${held ?? 'not set'}, not ${expected}`
  if (held === null) return `the price was reverted to none at ${known}, after observed_at`
  return `the price ${held} was seen at ${known}, after observed_at`
}
