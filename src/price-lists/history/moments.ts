import { sql } from 'kysely'
import { Problem, type RequestError } from '../../contract/problem.ts'
import { invalidRequest } from '../../contract/row-errors.ts'
import { onlyRow } from '../../database/only-row.ts'
import type { Trx } from '../../database/pool.ts'
import { shownTimestamp } from '../../database/shown-timestamp.ts'
import { utcTimestamp } from '../../lib/formats.ts'
import { ofList, type PriceList } from '../queries.ts'

/** A revision of a list, and the moment whose promotions apply to it. */
export interface Moment {
  revision: number
  /** A timestamp in UTC. */
  at: string
}

/** Where the request names the moment, for errors. */
export type MomentPlace = Pick<RequestError, 'pointer' | 'field'>

const digits = /^\d+$/

/**
 * The moment that a request names by a revision or a timestamp; a timestamp means the newest revision not after it.
 * Throws `invalid-request` for a future moment, `price-list-not-published` for one before the first publication,
 * `history-not-kept` for one whose history is gone.
 */
export async function findMoment(
  trx: Trx,
  list: PriceList,
  asOf: number | string,
  place: MomentPlace,
): Promise<Moment> {
  if (typeof asOf === 'string' && !digits.test(asOf))
    return momentOfTimestamp(trx, list, utcTimestamp(asOf), place)
  const revision = Number(asOf)
  if (revision > list.version) {
    const message = `the newest revision of the list is ${list.version}`
    throw invalidRequest([{ ...place, code: 'range', message }])
  }
  if (revision < list.oldest_revision) throw historyNotKept(list)
  if (revision === 0) throw notPublishedThen()
  const { at } = await onlyRow<{ at: string | null }>(trx)`
    select ${shownTimestamp(sql`greatest((
      select at from list_revisions
      where ${ofList(list)} and revision = ${revision}
    ), ${list.oldest_at}::timestamptz)`)} as at`
  return { revision, at: at ?? '' }
}

async function momentOfTimestamp(
  trx: Trx,
  list: PriceList,
  at: string,
  place: MomentPlace,
): Promise<Moment> {
  const { isAhead, isBefore, revision, utc } = await onlyRow<{
    isAhead: boolean
    isBefore: boolean | null
    revision: number | null
    utc: string
  }>(trx)`
    select ${shownTimestamp(sql`${at}::timestamptz`)} as utc, ${at}::timestamptz > clock_timestamp() as "isAhead",
      ${at}::timestamptz < ${list.oldest_at}::timestamptz as "isBefore", (
        select revision from list_revisions
        where ${ofList(list)} and at <= ${at}::timestamptz
        order by at desc, revision desc limit 1
      ) as revision`
  if (isAhead) throw invalidRequest([{ ...place, code: 'range', message: 'must not be ahead' }])
  if (isBefore) throw historyNotKept(list)
  const known = revision ?? list.oldest_revision
  if (known === 0) throw notPublishedThen()
  // In UTC, whatever the offset: its day is that of the promotions.
  return { revision: known, at: utc }
}

const notPublishedThen = () =>
  new Problem('price-list-not-published', 'The price list was not published at that moment.')

/** The `history-not-kept` problem, with the oldest moment that can be read. */
export function historyNotKept({ oldest_at }: PriceList): Problem {
  const oldest = new Date(oldest_at ?? 0).toISOString()
  return new Problem('history-not-kept', `The history of the list begins at ${oldest}.`, { oldest })
}
