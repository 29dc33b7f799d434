import { type RawBuilder, sql } from 'kysely'

/** SQL of a timestamptz as responses show it, in UTC: with milliseconds, or microseconds if there are any. */
export function shownTimestamp(moment: RawBuilder<unknown>): RawBuilder<string> {
  return sql<string>`to_char(${moment}, case when date_trunc('milliseconds', ${moment}) = ${moment}
    then 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"' else 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"' end)`
}
