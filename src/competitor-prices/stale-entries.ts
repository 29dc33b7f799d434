import { type RawBuilder, sql } from 'kysely'
import { Problem } from '../contract/problem.ts'
import { listedMax } from '../contract/row-errors.ts'
import type { InsertRows } from '../database/input-rows.ts'
import type { Trx } from '../database/pool.ts'
import { shownTimestamp } from '../database/shown-timestamp.ts'

/** A finished upsert. */
export interface Upserted {
  account: number
  input: InsertRows
  /** The default for `latest_update`. */
  calledAt: RawBuilder<unknown>
}

/** `latest_update` of a sent entry and of the newer stored one. */
export interface Moments {
  sent: string
  stored: string
  /** The number of stale entries. */
  total: number
}

/**
 * The first `max` stale entries, with the columns `place` of the input and sorted by them. The upsert has locked every
 * entry that it compared, even those that it did not write, so the result is consistent with it.
 */
export async function findStale<Place>(
  trx: Trx,
  { account, input, calledAt }: Upserted,
  place: readonly (keyof Place & string)[],
  max: number,
): Promise<(Place & Moments)[]> {
  const columns = sql.join(place.map((name) => sql`input.${sql.ref(name)}`))
  const moment = sql`coalesce(input.latest_update, ${calledAt})`
  const { rows } = await sql<Place & Moments>`
    select ${columns}, ${shownTimestamp(moment)} as sent, ${shownTimestamp(sql`present.latest_update`)} as stored,
      count(*) over () as total
    from ${input.from} join competitor_prices as present
      on present.account_id = ${account} and present.hash = decode(input.hash, 'hex')
    where present.latest_update > ${moment}
    order by ${columns} limit ${max}`.execute(trx)
  return rows
}

/** Throws `stale-rows` if there are stale entries, with the first in payload order and the number of all. */
export function rejectStale(
  stale: readonly (Moments & { position: number; line?: number })[],
  errorCount: number,
): void {
  if (errorCount === 0) return
  const errors = stale.slice(0, listedMax).map(({ position: row, line, sent, stored }) => ({
    pointer: `/${row}`,
    row,
    ...(line !== undefined && { line }),
    code: 'stale' as const,
    message: `latest_update ${sent} is older than the stored one, ${stored}`,
  }))
  const entries = errorCount === 1 ? '1 entry is' : `${errorCount} entries are`
  const listed = errorCount > listedMax ? `, the first ${listedMax} are listed` : ''
  const detail = `${entries} older than the stored one${listed}. Nothing was written.`
  throw new Problem('stale-rows', detail, { errors, errorCount })
}
