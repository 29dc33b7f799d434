import { type RawBuilder, sql } from 'kysely'
import { Problem } from '../../contract/problem.ts'
import { invalidRequest, listedMax } from '../../contract/row-errors.ts'
import { readNumbers } from '../../database/array-literal.ts'
import type { Trx } from '../../database/pool.ts'
import { shownTimestamp, utcTimestamp } from '../../lib/formats.ts'
import { changedCells } from '../../price-lists/history/changed-cells.ts'
import { isPublishedNow } from '../../price-lists/list-rows.ts'
import { ofList } from '../../price-lists/publication.ts'
import { type PriceList, rowOfList } from '../../price-lists/queries.ts'

/** A call's options about stale prices. */
export interface Observation {
  observed_at?: string | undefined
  on_stale?: 'reject' | 'skip' | undefined
  /** A plan confirms no prices. */
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
  throw invalidRequest([{ ...place, code: 'range', message }])
}

/** Cells with their place in the payload. */
interface GivenCells {
  /** A FROM item `f`: position, code, extension_key, dimension, date, price, expected_price. */
  from: RawBuilder<unknown>
  /** SQL of a cell's line in its file; SQL null without a file. */
  line: RawBuilder<unknown>
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
  const known = sql`to_char(known at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US')`
  const { rows } = await sql<{ positions: string; count: number; first: StaleCell[] }>`
    with judged as materialized (${judged}) ${confirmed}
    select coalesce((select array_agg(position)::text from judged where is_stale), '{}') as positions,
      (select count(*) from judged where is_stale) as count,
      (select coalesce(json_agg(stale), '[]') from (
        select position, line, held, expected_price as expected, ${known} as known
        from judged where is_stale order by position limit ${listedMax}
      ) as stale) as first`.execute(trx)
  const { positions = '{}', count = 0, first = [] } = rows[0] ?? {}
  if (count > 0 && on_stale !== 'skip') throw staleRows(first, Number(count))
  return { positions, count: Number(count) }
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
  const { isCalendar, held, since, months } = heldPrice(list)
  const observed = observedAt === undefined ? undefined : await observations(trx, list, observedAt)
  // Of a price that was set before the kept history, only the latest moment that it may have been seen is known.
  const isBefore = sql`${held} is not null and ${since} <= ${list.oldest_revision}`
  const before = sql`case when ${isBefore} then ${list.oldest_at}::timestamptz end`
  const known = observed
    ? sql`greatest(changed.observed_at, ${confirmedAt(list, since)}, ${before})`
    : sql`null`
  const isLater = observed ? sql`or known > ${observedAt}::timestamptz` : sql``
  return sql`
    select *, held is distinct from price and (expected_price <> held ${isLater}) is true as is_stale
    from (
      select f.position, ${line} as line, f.price, f.expected_price, r.id as row_id, f.dimension,
        ${isCalendar ? sql`f.date` : sql`'-infinity'::date`} as date, ${held} as held, ${known}::timestamptz as known
      from ${from}
      join price_list_rows r on ${ofRows(list)} and r.code = f.code and r.extension_key = f.extension_key
        and ${isPublishedNow(list)}
      ${months} ${observed ?? sql``}
    ) as cell`
}

const ofRows = ({ account_id, id }: PriceList) =>
  sql`r.account_id = ${account_id} and r.price_list_id = ${id}`

/** SQL of the price held for cell `f` of row `r`, and of the revision that last changed it or its neighbors. */
export function heldPrice({ account_id, id, is_calendar: isCalendar }: PriceList) {
  if (!isCalendar)
    return { isCalendar, held: sql`r.prices[f.dimension]`, since: sql`r.since`, months: sql`` }
  const months = sql`
    left join calendar_months m on m.account_id = ${account_id} and m.price_list_id = ${id} and m.row_id = r.id
      and m.dimension = f.dimension and m.month = date_trunc('month', f.date)::date`
  const held = sql`m.prices[extract(day from f.date)::integer]`
  return { isCalendar, held, since: sql`m.since`, months }
}

/**
 * SQL that joins the last change of a cell since the first revision observed after `observedAt`, and its confirmation.
 */
async function observations(
  trx: Trx,
  list: PriceList,
  observedAt: string,
): Promise<RawBuilder<unknown>> {
  const { rows } = await sql<{ first: number | null }>`
    select min(revision) as first from list_revisions
    where ${ofList(list)} and coalesce(observed_at, at) > ${observedAt}::timestamptz`.execute(trx)
  const first = rows[0]?.first ?? list.version + 1
  const later = changedCells(list, { after: first - 1, until: list.version })
  const isOfCell = (item: string) => {
    const of = (column: string) => sql.ref(`${item}.${column}`)
    const day = list.is_calendar ? sql`and ${of('date')} = f.date` : sql``
    return sql`${of('row_id')} = r.id and ${of('dimension')} = f.dimension ${day}`
  }
  return sql`
    left join (
      select distinct on (cell.row_id, cell.dimension, cell.date) cell.row_id, cell.dimension, cell.date, cell.revision,
        coalesce(v.observed_at, v.at) as observed_at
      from ${later} join list_revisions v on v.account_id = ${list.account_id} and v.price_list_id = ${list.id}
        and v.revision = cell.revision
      where cell.change = 'priced' or cell.new is not null
      order by cell.row_id, cell.dimension, cell.date, cell.revision desc
    ) as changed on ${isOfCell('changed')}
    left join confirmed_prices confirmed on confirmed.account_id = ${list.account_id} and confirmed.price_list_id = ${list.id}
      and ${isOfCell('confirmed')}`
}

/** SQL of the moment of a confirmation, unless the price changed after it. */
function confirmedAt({ is_calendar, price_dimensions }: PriceList, since: RawBuilder<unknown>) {
  const hasNeighbours = is_calendar || price_dimensions.length > 1
  const changed = hasNeighbours ? sql`coalesce(changed.revision, 0)` : since
  return sql`case when confirmed.revision >= ${changed} then confirmed.observed_at end`
}

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
  const errors = first.map(({ position: row, line, held, expected, known }) => ({
    pointer: `/payload/${row}`,
    row,
    ...(line !== null && { line, pointer: `/${row}` }),
    code: 'stale' as const,
    message: staleMessage(held, expected, known),
  }))
  const rows = errorCount === 1 ? '1 row is' : `${errorCount} rows are`
  const listed = errorCount > listedMax ? `, the first ${listedMax} are listed` : ''
  const detail = `${rows} older than the prices of the list${listed}. Nothing was written; \`on_stale: skip\` leaves them out.`
  return new Problem('stale-rows', detail, { errors, errorCount })
}

function staleMessage(
  held: StaleCell['held'],
  expected: StaleCell['expected'],
  known: StaleCell['known'],
): string {
  const at = shownTimestamp(known ?? '')
  if (held === null) return `the price was reverted to none at ${at}, after observed_at`
  if (expected !== null && expected !== held) return `the price is ${held}, not ${expected}`
  return `the price ${held} was seen at ${at}, after observed_at`
}
