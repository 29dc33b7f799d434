import { type RawBuilder, sql } from 'kysely'
import { type Columns, findColumns } from '../../catalog/columns.ts'
import type { Context, Schemas } from '../../contract/operation.ts'
import { onlyRow } from '../../database/only-row.ts'
import type { Trx } from '../../database/pool.ts'
import { stateOf } from '../../price-lists/calendar.ts'
import { findMoment, type Moment } from '../../price-lists/history/moments.ts'
import { pastRows } from '../../price-lists/history/past-rows.ts'
import { chooseWalk, type Walk } from '../../price-lists/history/price-walk.ts'
import { revisionHeader } from '../../price-lists/history/record-revision.ts'
import { type ListRows, publishedRows } from '../../price-lists/list-rows.ts'
import {
  findPriceList,
  type ListKey,
  type PriceList,
  rejectUnpublished,
} from '../../price-lists/queries.ts'
import { compilePromotions, type PromotionRules } from '../../promotions/promoted-prices.ts'
import { findValidPromotions } from '../../promotions/queries.ts'
import { findNamedList } from '../payload.ts'

/** A read of the present, with its day fixed: midnight may pass before the response. */
type DatedInput = Schemas['GetPricesInput'] & { promotion_date: string }

const knownByService = new WeakMap<Context, KnownPricings>()

/** The pricing cache of a running service. */
export function knownPricings(context: Context): KnownPricings {
  const known = knownByService.get(context) ?? new KnownPricings()
  knownByService.set(context, known)
  return known
}

/** Reads with equal keys share a pricing. */
export function pricingKey(account: number, body: Schemas['GetPricesInput']): string {
  const { price_list_name, price_list_id, promotion_date, as_of } = body
  return JSON.stringify([account, price_list_name, price_list_id, promotion_date, as_of])
}

/** Loads the pricing of a read. Throws if its list does not exist or is not published. */
export async function loadPricing(trx: Trx, account: number, body: DatedInput): Promise<Pricing> {
  // Sent together, in one round trip. The version is read first: if settings change in between, the next read notices,
  // because the pricing is cached under the earlier version.
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
    date: body.promotion_date,
    rows: publishedRows(list),
    columns,
    promotions: await compilePromotions(promotions, columns, list.decimals),
  }
}

/**
 * Loads the pricing for a read of the past: the rows and promotions of then, the columns of today. Throws as
 * `findMoment` does, and if the list does not exist.
 */
export async function loadPastPricing(
  trx: Trx,
  account: number,
  body: Schemas['GetPricesInput'],
): Promise<Pricing> {
  const [settingsVersion, list, columns] = await Promise.all([
    findSettingsVersion(trx, account),
    findNamedList(body, (by) => findPriceList(trx, account, by)),
    findColumns(trx, account),
  ])
  const moment = await findMoment(trx, list, body.as_of ?? 0, { pointer: '/as_of', field: 'as_of' })
  const date = body.promotion_date ?? moment.at.slice(0, 10)
  const scope = { priceListName: list.name, priceListId: null, date, asOf: moment.at }
  const [promotions, walk] = await Promise.all([
    findValidPromotions(trx, account, scope),
    chooseWalk(trx, list, moment.revision),
  ])
  return {
    settingsVersion,
    list,
    date,
    moment: { ...moment, walk },
    rows: pastRows(list, moment.revision, walk),
    columns,
    promotions: await compilePromotions(promotions, columns, list.decimals),
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

/** What a read needs besides the rows: a published list, the account's columns, the promotions of a day. */
export interface Pricing {
  /** The account's settings version when the pricing was loaded. Columns and promotions change only with it. */
  settingsVersion: number
  list: PriceList
  /** The day whose promotions count. */
  date: string
  /** The moment of a read of the past, and how to walk back to it. */
  moment?: Moment & { walk: Walk }
  rows: ListRows
  columns: Columns
  promotions: PromotionRules
}

/** The headers of a read: the revision that it shows, and whether the list is valid today. */
export const shownHeaders = ({ list }: Pricing, revision: number) => ({
  ...revisionHeader(revision),
  'price-list-state': stateOf(list),
})

/** The approximate memory for the pricings of a process. */
const bytesMax = 100 * 1024 * 1024

/** Measured: a promotion with a filter of 20,000 codes takes 3 MB, one without filters 0.6 kB. */
const bytesOf = { pricing: 20_000, promotion: 600, text: 150 }

/** A cache of pricings: loading and compiling one takes longer than reading a price. */
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

/**
 * A pricing is outdated: the account's settings have changed, or the list was deleted or is not published. For a read
 * of the past, also: the list has another revision, or no longer keeps the one to read.
 */
export class PricingChanged extends Error {}

/** The current versions; `list` is null if it does not exist, 0 if it is not published. */
interface Versions {
  settings: number
  list: number | null
}

/**
 * SQL of Versions as columns of a statement, so that it sees rows and versions at the same moment. `list` is null if
 * the list no longer keeps `revision`.
 */
export function versionColumns(
  { account_id, id }: ListKey,
  revision?: number | RawBuilder<number>,
): RawBuilder<Versions> {
  const isKept = revision === undefined ? sql`` : sql`and oldest_revision <= ${revision}`
  return sql`
    (select settings_version from accounts where id = ${account_id}) as settings,
    (select version from price_lists where account_id = ${account_id} and id = ${id} ${isKept}) as list`
}

/** Returns the revision that a read shows. Throws PricingChanged if the pricing is outdated. */
export function currentRevision(pricing: Pricing, { settings, list }: Versions): number {
  const isMoved = pricing.moment !== undefined && list !== pricing.list.version
  if (!list || settings !== pricing.settingsVersion || isMoved) throw new PricingChanged()
  return pricing.moment?.revision ?? list
}

/** `currentRevision` with a statement of its own. */
export async function readCurrentRevision(trx: Trx, pricing: Pricing): Promise<number> {
  const versions = versionColumns(pricing.list, pricing.moment?.revision)
  const current = await onlyRow<Versions>(trx)`select ${versions}`
  return currentRevision(pricing, current)
}
