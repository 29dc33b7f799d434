import { hash } from 'node:crypto'
import { Answer, type Schemas, transaction } from '../contract/operation.ts'
import { withoutAbsent } from '../contract/read-page.ts'
import { lastCalendarDay, stateOf } from './calendar.ts'
import { findPriceList, type PriceList } from './queries.ts'

/** Returns a price list, with the ETag of its settings. */
export const readPriceList = transaction<'readPriceList'>(async (trx, { account, params }) => {
  const list = await findPriceList(trx, account, { id: params.id })
  return new Answer(priceListOf(list), { etag: etagOf(list) })
})

/** A price list as the contract shows it. */
export function priceListOf(list: PriceList): Schemas['PriceList'] {
  const { version, published_at } = list
  return withoutAbsent({
    ...settingsOf(list),
    ...(list.is_calendar && { last_date: lastCalendarDay(list.valid_from) }),
    state: stateOf(list),
    is_published: version > 0,
    revision: version,
    published_at: published_at?.toISOString(),
  }) as Schemas['PriceList']
}

/** The ETag of a list: a hash of its settings alone, so that writes of prices do not change it. */
export function etagOf(list: PriceList): string {
  return `"${hash('sha256', JSON.stringify(settingsOf(list)), 'hex').slice(0, 32)}"`
}

/** A list without the fields that publications and writes of prices change. */
function settingsOf({
  account_id: _account,
  oldest_revision: _revision,
  oldest_at: _at,
  row_count: _rows,
  version: _version,
  published_at: _published,
  ...settings
}: PriceList) {
  return settings
}
