import { sql } from 'kysely'
import { findColumns } from '../catalog/columns.ts'
import type { Context, Schemas } from '../contract/operation.ts'
import type { Trx } from '../database/pool.ts'
import { today } from '../price-lists/calendar.ts'
import { findPriceList, rejectUnpublished } from '../price-lists/queries.ts'
import { compilePromotions } from '../promotions/promoted-prices.ts'
import { findValidPromotions } from '../promotions/queries.ts'
import { KnownPricings, type Pricing } from './known-pricings.ts'
import { findNamedList } from './payload.ts'

type Input = Schemas['GetPricesInput']

const knownByService = new WeakMap<Context, KnownPricings>()

/** The pricings that a running service keeps. */
export function knownPricings(context: Context): KnownPricings {
  const known = knownByService.get(context) ?? new KnownPricings()
  knownByService.set(context, known)
  return known
}

/** Reads of equal keys work with the same pricing. */
export function pricingKey(account: number, body: Input): string {
  const { price_list_name, price_list_id, promotion_date = today() } = body
  return JSON.stringify([account, price_list_name, price_list_id, promotion_date])
}

/** The pricing of a read; throws what is wrong with the list that it names. */
export async function loadPricing(trx: Trx, account: number, body: Input): Promise<Pricing> {
  // Sent together: one round trip. The version is read first: if settings change meanwhile, they are read again by the
  // next read and not kept under the version that they have from now on.
  const [{ settingsVersion }, list, columns, promotions] = await Promise.all([
    findVersions(trx, account, null),
    findNamedList(body, (by) => findPriceList(trx, account, by)),
    findColumns(trx, account),
    findValidPromotions(trx, account, {
      priceListName: body.price_list_name ?? null,
      priceListId: body.price_list_id ?? null,
      date: body.promotion_date ?? today(),
    }),
  ])
  rejectUnpublished(list)
  return { settingsVersion, list, columns, promotions: compilePromotions(promotions, columns) }
}

/** Whether a pricing that was kept still holds: its list is there, the account's settings have not changed. */
export async function isCurrent(trx: Trx, { settingsVersion, list }: Pricing): Promise<boolean> {
  const present = await findVersions(trx, list.account_id, list.id)
  return present.listVersion !== null && present.settingsVersion === settingsVersion
}

async function findVersions(
  trx: Trx,
  account: number,
  list: number | null,
): Promise<{ settingsVersion: number; listVersion: number | null }> {
  const { rows } = await sql<{ settings: number; list: number | null }>`
    select a.settings_version as settings,
      (select version from price_lists where account_id = a.id and id = ${list}) as list
    from accounts a where a.id = ${account}`.execute(trx)
  return { settingsVersion: rows[0]?.settings ?? 0, listVersion: rows[0]?.list ?? null }
}
