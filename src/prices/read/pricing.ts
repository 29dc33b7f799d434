import { type RawBuilder, sql } from 'kysely'
import { type Columns, findColumns } from '../../catalog/columns.ts'
import type { Context, Schemas } from '../../contract/operation.ts'
import type { Trx } from '../../database/pool.ts'
import { findPriceList, type PriceList, rejectUnpublished } from '../../price-lists/queries.ts'
import { compilePromotions, type PromotionRules } from '../../promotions/promoted-prices.ts'
import { findValidPromotions } from '../../promotions/queries.ts'
import { findNamedList } from '../payload.ts'

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
    settingsVersion,
    list,
    columns,
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

/** What a read works with beside the rows: a published list, the account's columns, the promotions of a day. */
export interface Pricing {
  /** Of the account when this was read; columns and promotions are as they were as long as it is the same. */
  settingsVersion: number
  list: PriceList
  columns: Columns
  promotions: PromotionRules
}

/** What the pricings of one process take of its memory, about. */
const bytesMax = 100 * 1024 * 1024

/** Measured: a promotion with a filter of 20,000 codes takes 3 MB, one with none 0.6 kB. */
const bytesOf = { pricing: 20_000, promotion: 600, text: 150 }

/** Pricings that were read a moment ago: reading and compiling them again would take longer than reading a price. */
export class KnownPricings {
  readonly #byKey = new Map<string, Pricing>()
  #size = 0

  find(key: string): Pricing | undefined {
    return this.#byKey.get(key)
  }

  add(key: string, pricing: Pricing): void {
    this.forget(key)
    const size = sizeOf(pricing)
    if (this.#size + size > bytesMax) this.#clear()
    this.#byKey.set(key, pricing)
    this.#size += size
  }

  forget(key: string): void {
    const known = this.#byKey.get(key)
    if (!known) return
    this.#byKey.delete(key)
    this.#size -= sizeOf(known)
  }

  #clear(): void {
    this.#byKey.clear()
    this.#size = 0
  }
}

function sizeOf({ list, columns, promotions }: Pricing): number {
  const allowed = columns.all.map(({ allowed_values }) => allowed_values?.list.length ?? 0)
  const filtered = Object.values(list.product_filters ?? {}).map((values) => values.length)
  const texts = [...allowed, ...filtered].reduce((sum, count) => sum + count, promotions.texts)
  return bytesOf.pricing + bytesOf.promotion * promotions.names.size + bytesOf.text * texts
}

/** The settings of the account have changed since a pricing was loaded, or its list is gone or published no more. */
export class PricingChanged extends Error {}

/** What tells whether a pricing holds; null: the list is not there; 0: it is not published. */
export interface Versions {
  settings: number
  list: number | null
}

/** The columns `settings` and `list` of a statement, which so tells of the pricing what it tells of the rows. */
export function versionColumns({
  account_id,
  id,
}: Pick<PriceList, 'account_id' | 'id'>): RawBuilder<Versions> {
  return sql`
    (select settings_version from accounts where id = ${account_id}) as settings,
    (select version from price_lists where account_id = ${account_id} and id = ${id}) as list`
}

/** Throws PricingChanged unless a pricing still holds. */
export function rejectChanged({ settingsVersion }: Pricing, { settings, list }: Versions): void {
  if (!list || settings !== settingsVersion) throw new PricingChanged()
}

/** `rejectChanged` for a read whose statement does not bring the versions. Answers them. */
export async function lookForChanges(trx: Trx, pricing: Pricing): Promise<Versions> {
  const { rows } = await sql<Versions>`select ${versionColumns(pricing.list)}`.execute(trx)
  const versions = rows[0] as Versions
  rejectChanged(pricing, versions)
  return versions
}
