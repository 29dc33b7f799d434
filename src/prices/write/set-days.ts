import { type RawBuilder, sql } from 'kysely'
import { onlyRow } from '../../database/only-row.ts'
import { analyzeLoaded } from '../../database/planner.ts'
import type { Trx } from '../../database/pool.ts'
import { daysInMonth } from '../../price-lists/calendar.ts'
import { insertMonthChanges } from '../../price-lists/history/log-changes.ts'
import { nextRevision } from '../../price-lists/history/record-revision.ts'
import { noPrices, ofList, type PriceList, rowOfList } from '../../price-lists/queries.ts'
import type { Written } from './set-prices.ts'

/**
 * Writes months, and logs their former prices in the history. `input` is a FROM item of that name with their row_id,
 * dimension and month; `merged` makes the new prices by day from it and the stored month `m`.
 */
export async function mergeMonths(
  trx: Trx,
  list: PriceList,
  { input, merged }: Record<'input' | 'merged', RawBuilder<unknown>>,
): Promise<Written> {
  const revision = nextRevision(list)
  const changed = sql`(select * from found where new is distinct from old) as changed`
  const { months, priced } = await onlyRow<{ months: number; priced: number }>(trx)`
    with found as materialized (
      select input.row_id, input.dimension, input.month, coalesce(m.since, 0) as since,
        coalesce(m.prices, ${noPrices(daysInMonth)}) as old, ${merged} as new
      from ${input} left join (
        select row_id, dimension, month, since, prices from calendar_months
        where ${ofList(list)}
      ) as m using (row_id, dimension, month)
    ), ${writeMonths(list)}, logged as (${insertMonthChanges(list, { revision, change: 'priced', rows: changed })})
    select count(*) as months, coalesce(sum((
      select count(*) from unnest(old, new) as day (was, is_now) where was is distinct from is_now
    )), 0) as priced from found`
  await analyzeLoaded(trx, { table: 'calendar_months', owner: list.id, rows: months })
  // The guardrail check reads the changed days, and counts their rows itself.
  return { priced, changed: 0, mayViolate: true }
}

/** SQL of the CTE `written`, which stores the changed months of `found` (row_id, dimension, month, old, new). */
export const writeMonths = (list: PriceList): RawBuilder<unknown> => sql`
  written as (
    insert into calendar_months as present (account_id, price_list_id, row_id, dimension, month, prices, since)
    select l.account_id, l.id, row_id, dimension, month, new, ${nextRevision(list)}::integer
    from ${rowOfList(list)} cross join found where new is distinct from old
    order by row_id, dimension, month
    on conflict (account_id, price_list_id, row_id, dimension, month) do update set
      prices = excluded.prices, since = excluded.since
    returning row_id
  )`

/**
 * SQL for `mergeMonths` of the prices by day in `input.prices`, null for days that keep theirs. Day by day: an unnest of
 * both arrays would take twice as long.
 */
export const givenDays: RawBuilder<unknown> = sql`array[${sql.join(
  Array.from({ length: daysInMonth }, (_, day) => {
    const place = sql.raw(`[${day + 1}]`)
    return sql`coalesce(input.prices${place}, m.prices${place})`
  }),
)}]`
