import { findColumns } from '../catalog/columns.ts'
import type { Context, Schemas } from '../contract/operation.ts'
import type { Trx } from '../database/pool.ts'
import { findPriceList, rejectUnpublished } from '../price-lists/queries.ts'
import { compilePromotions } from '../promotions/promoted-prices.ts'
import { findValidPromotions } from '../promotions/queries.ts'
import { KnownPricings, type Pricing } from './known-pricings.ts'
import { findNamedList } from './payload.ts'

/** What is asked for, on a day: today may be over before it is answered. */
export type DatedInput = Schemas['GetPricesInput'] & { promotion_date: string }

const knownByService = new WeakMap<Context, KnownPricings>()

/** The pricings that a running service keeps. */
export function knownPricings(context: Context): KnownPricings {
  const known = knownByService.get(context) ?? new KnownPricings()
  knownByService.set(context, known)
  return known
}

/** Reads of equal keys work with the same pricing. */
export function pricingKey(account: number, body: DatedInput): string {
  const { price_list_name, price_list_id, promotion_date } = body
  return JSON.stringify([account, price_list_name, price_list_id, promotion_date])
}

/** The pricing of a read; throws what is wrong with the list that it names. */
export async function loadPricing(trx: Trx, account: number, body: DatedInput): Promise<Pricing> {
  // Sent together: one round trip. The version is read first: if settings change meanwhile, they are read again by the
  // next read and not kept under the version that they have from now on.
  const [settingsVersion, list, columns, promotions] = await Promise.all([
    findSettingsVersion(trx, account),
    findNamedList(body, (by) => findPriceList(trx, account, by)),
    findColumns(trx, account),
    findValidPromotions(trx, account, {
      priceListName: body.price_list_name ?? null,
      priceListId: body.price_list_id ?? null,
      date: body.promotion_date,
    }),
  ])
  rejectUnpublished(list)
  return {
    ...{ settingsVersion, list, columns },
    promotions: await compilePromotions(promotions, columns),
  }
}

async function findSettingsVersion(trx: Trx, account: number): Promise<number> {
  const row = await trx
    .selectFrom('accounts')
    .select('settings_version')
    .where('id', '=', account)
    .executeTakeFirst()
  return row?.settings_version ?? 0
}
